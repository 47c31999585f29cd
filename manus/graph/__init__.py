"""The graphs, compiled: `from manus import build_agent, build_flow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manus.graph.agent import build_agent
from manus.state.errors import UsageError

if TYPE_CHECKING:
    from manus.graph.flow import build_flow

__all__ = ["build_agent", "build_flow", "build_graph"]


def __getattr__(name: str) -> Any:
    """Import `build_flow` on first use, because most runs need only the agent graph."""
    if name != "build_flow":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from manus.graph.flow import build_flow

    return build_flow


def build_graph(
    kind: str, profile: str, saver: Any = None, *, response_format: dict[str, Any] | None = None
) -> Any:
    """Compile the graph of a kind (`agent` or `flow`), with the saver as its checkpointer.

    Raises:
        SettingsError: the profile does not exist.
        UsageError: a flow has no response format.
    """
    if kind == "agent":
        return build_agent(profile, checkpointer=saver, response_format=response_format)
    if response_format is not None:
        raise UsageError("A flow has no --output-schema; use `manus run`.")
    from manus.graph.flow import build_flow
    from manus.graph.profiles import all_executors, all_profiles

    return build_flow(all_executors(profile, all_profiles()), checkpointer=saver)
