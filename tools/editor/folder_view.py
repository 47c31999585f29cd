"""A folder two levels deep, and names that are near to one that is not there. All is blocking."""

from __future__ import annotations

import difflib
import heapq
import os
from collections.abc import Iterator
from pathlib import Path

_DEPTH = 2
_EACH = 100
"""Entries shown of one folder."""
_SEARCHED = 5_000
"""Entries looked at in search of a name."""


def folder_view(folder: Path, shown: str, room: int) -> str:
    """The entries of a folder, two levels deep, one path a line; hidden ones are left out.

    Raises:
        OSError: the folder cannot be read.
    """
    prefix = "" if shown == "." else f"{shown}/"
    name = "The workspace" if shown == "." else shown
    lines = list(_entries(folder, prefix, _DEPTH))
    if not lines:
        return f"{name} has no entries (hidden ones are not shown)."
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            kept.append(f"[{len(lines) - len(kept)} more lines are not shown; view a folder below]")
            break
        kept.append(line)
    title = f"{name}, {_DEPTH} levels deep (hidden entries are not shown):"
    return "\n".join([title, *kept])


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as found:
        visible = [entry for entry in found if not entry.name.startswith(".")]
    for entry in heapq.nsmallest(_EACH, visible, key=lambda entry: entry.name):
        name = f"{prefix}{entry.name}"
        if entry.is_symlink():
            yield f"{name} -> {os.readlink(entry.path)}"  # noqa: PTH115 - the link's own words
        elif not entry.is_dir():
            yield name
        else:
            yield f"{name}/"
            if depth > 1:
                yield from _below(Path(entry.path), f"{name}/", depth - 1)
    if len(visible) > _EACH:
        yield f"[{len(visible) - _EACH:,} more entries in {prefix or './'}]"


def _below(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    try:
        yield from _entries(folder, prefix, depth)
    except OSError as error:
        yield f"{prefix} [cannot be read: {error.strerror}]"


def near_names(root: Path, path: Path) -> list[str]:
    """Files of the workspace that may have been meant by a path that is not there."""
    wanted = str(path.relative_to(root))
    found = [name for name in _files(root) if name != wanted]  # itself: a link that leads nowhere
    same = [name for name in found if name.rpartition("/")[2] == path.name]
    return same[:3] or difflib.get_close_matches(wanted, found, n=3, cutoff=0.7)


def _files(root: Path) -> Iterator[str]:
    left = _SEARCHED
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        left -= len(folders) + len(files)
        base = Path(folder).relative_to(root)
        yield from (str(base / name) for name in sorted(files) if not name.startswith("."))
        if left < 0:
            return
