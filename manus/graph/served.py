"""Graphs that `langgraph.json` names, for servers and for programs that run them without one."""

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

for graph in (agent, flow, browser, data_analysis, planner, swe):
    graph.is_named_in_file = True
