"""The graph of the profile `browser`."""

from __future__ import annotations

from manus.graph.agent import build_agent

browser = build_agent("browser")
