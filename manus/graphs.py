"""The graphs by the names that the command line knows them by."""

from __future__ import annotations

from typing import Any


def build(kind: str, profile: str, saver: Any = None) -> Any:
    """The compiled graph of a kind (`agent` or `flow`), with the saver attached.

    Raises:
        SettingsError: there is no such profile.
    """
    from manus import build_agent, build_flow

    if kind == "agent":
        return build_agent(profile, checkpointer=saver)
    from manus.graph.profiles import all_executors

    return build_flow(all_executors(profile), checkpointer=saver)
