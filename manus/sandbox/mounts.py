"""The mounts of paths in a workspace that differ from the workspace's own mount."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Mount(NamedTuple):
    """A path that is mounted onto itself, so that it can be neither moved nor replaced."""

    path: Path
    is_writable: bool


def sort_mounts(mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts in the order of mounting, one for each path: read-only ones win.

    Blocking. Links are left out, since a mount would cover their target; so is what lies in a
    folder that is read-only as a whole.
    """
    kinds: dict[Path, bool] = {}
    for path, is_writable in mounts:
        kinds[path] = kinds.get(path, True) and is_writable
    closed: set[Path] = set()
    ordered: list[Mount] = []
    for path, is_writable in sorted(kinds.items(), key=lambda each: len(each[0].parts)):
        if path.is_symlink() or not path.exists() or not closed.isdisjoint(path.parents):
            continue
        ordered.append(Mount(path, is_writable))
        if not is_writable:
            closed.add(path)
    return ordered
