"""The graphs by the names that the command line knows them by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manus.state.errors import UsageError


def kinds() -> list[str]:
    """Which graphs there are. Imports none of them."""
    folder = Path(__file__).parent / "graph"
    return [kind for kind in ("agent", "flow") if (folder / f"{kind}.py").exists()]


def build(kind: str, profile: str, saver: Any = None) -> Any:
    """The compiled graph of a kind, with the saver attached.

    Raises:
        SettingsError: there is no such profile.
        UsageError: there is no such graph.
    """
    if kind not in kinds():
        raise UsageError(f"There is no graph `{kind}`; known are: {', '.join(kinds())}.")
    from manus import build_agent, build_flow

    if kind == "agent":
        return build_agent(profile, checkpointer=saver)
    from manus.graph.profiles import all_executors

    return build_flow(all_executors(profile), checkpointer=saver)
