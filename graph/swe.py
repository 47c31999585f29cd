"""The graph of the profile `swe`."""

from __future__ import annotations

from manus.graph.agent import build_agent

swe = build_agent("swe")
