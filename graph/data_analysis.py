"""The graph of the profile `data_analysis`."""

from __future__ import annotations

from manus.graph.agent import build_agent

data_analysis = build_agent("data_analysis")
