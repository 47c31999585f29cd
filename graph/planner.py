"""The graph of the profile `planner`."""

from __future__ import annotations

from manus.graph.agent import build_agent

planner = build_agent("planner")
