"""The graphs, compiled: `from manus import build_agent, build_flow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manus.graph.agent import build_agent

if TYPE_CHECKING:
    from manus.graph.flow import build_flow

__all__ = ["build_agent", "build_flow"]


def __getattr__(name: str) -> Any:
    """Import `build_flow` on first use, because most runs need only the agent graph."""
    if name != "build_flow":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from manus.graph.flow import build_flow

    return build_flow
