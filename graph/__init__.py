"""The graphs, compiled: `from graph import build_agent, build_flow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import langsmith as _langsmith  # noqa: F401  # names none of its own types: see `defer`

from state.built_later import built_when_used
from state.collector import paused_collector
from state.deferred import defer

# Of these LangGraph and we need a small module each, not the clients and models of all the rest.
defer("langsmith.types", "langgraph_sdk", "langchain_openai", "langchain_openai.chat_models")
# Two thirds of openai are the types of endpoints that are not asked.
defer("openai.types", "openai.types.responses", "openai.types.graders")

with paused_collector():
    # LangChain names one class of LangSmith's, which has all its models defined: no run uses them.
    with built_when_used():
        import langsmith.run_trees as _run_trees  # noqa: F401
    from graph.agent import build_agent

if TYPE_CHECKING:
    from graph.flow import build_flow

__all__ = ["build_agent", "build_flow"]


def __getattr__(name: str) -> Any:
    """`build_flow`, imported when it is first asked for: most runs are of the agent alone."""
    if name != "build_flow":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from graph.flow import build_flow

    return build_flow
