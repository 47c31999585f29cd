"""The graphs by the names that the command line knows them by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from state.errors import UsageError


def kinds() -> list[str]:
    """Which graphs there are. Imports none of them."""
    folder = Path(__file__).resolve().parent.parent / "graph"
    return [kind for kind in ("agent", "flow") if (folder / f"{kind}.py").exists()]


def build(kind: str, profile: str, saver: Any = None) -> Any:
    """The compiled graph of a kind, with the saver attached.

    Raises:
        SettingsError: there is no such profile.
        UsageError: there is no such graph.
    """
    import graph

    builder = getattr(graph, f"build_{kind}", None)
    if builder is None:
        raise UsageError(f"There is no graph `{kind}`; known are: {', '.join(kinds())}.")
    if kind == "agent":
        return builder(profile, checkpointer=saver)
    from graph.profiles import all_executors

    return builder(all_executors(profile), checkpointer=saver)
