"""The benchmarks' agent, as `langgraph dev` loads it."""

from benchmarks.agent_loop import PROFILE
from manus.graph import build_agent

graph = build_agent(PROFILE)
