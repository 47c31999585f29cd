"""The graphs of the other profiles, for the LangGraph server."""

from __future__ import annotations

from manus.graph.agent import build_agent

browser = build_agent("browser")
data_analysis = build_agent("data_analysis")
planner = build_agent("planner")
swe = build_agent("swe")
