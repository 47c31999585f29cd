"""Graphs that `langgraph.json` names, for the LangGraph server."""

from __future__ import annotations

from manus.graph.agent import build_agent
from manus.graph.flow import build_flow
from manus.graph.profiles import all_executors

agent = build_agent()
flow = build_flow(all_executors())
browser = build_agent("browser")
data_analysis = build_agent("data_analysis")
planner = build_agent("planner")
swe = build_agent("swe")
