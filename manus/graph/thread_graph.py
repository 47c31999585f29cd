"""Compile the graph of a thread."""

from __future__ import annotations

from typing import Any


def build_graph(kind: str, profile: str, saver: Any = None) -> Any:
    """Compile the graph of a kind (`agent` or `flow`), with the saver as its checkpointer.

    Raises:
        SettingsError: the profile does not exist.
    """
    if kind == "agent":
        from manus.graph.agent import build_agent

        return build_agent(profile, checkpointer=saver)
    from manus.graph.flow import build_flow
    from manus.graph.profiles import all_executors

    return build_flow(all_executors(profile), checkpointer=saver)
