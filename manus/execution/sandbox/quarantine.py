"""Find protected names that programs in a sandbox have created, and move them to quarantine."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from manus.execution.protected_names import PRIVATE, is_protected

NOT_SEARCHED = frozenset({PRIVATE, "node_modules", "site-packages", "__pycache__"})
"""Folders that are not searched: package managers fill them, and users do not open them."""
_MAX_FOLDERS = 20_000
_SETTLED_NS = 20_000_000
"""A folder that changed less than this before it was read may change again with the same timestamp,
because the clock of file timestamps has a resolution of a few milliseconds."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """The relevant content of a folder."""

    changed_ns: int
    subfolders: tuple[str, ...]
    protected: tuple[str, ...]
    is_repository: bool
    """Whether it has the layout of a git directory, whatever its name."""


class ProtectedNames:
    """The protected names in a workspace; a repeated search costs one `lstat` per folder.

    A folder is read again when its change time differs, which programs cannot set.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders: dict[str, _Folder] = {}
        self.bare_repositories: frozenset[str] = frozenset()
        """Git directories without the name `.git`, as of the last `find`."""

    def find(self) -> frozenset[str]:
        """Return all protected names, relative to the workspace; a folder represents its content.

        Blocking. Folders beyond the first 20,000 are not searched.
        """
        names: set[str] = set()
        waiting = [""]
        searched: dict[str, _Folder] = {}
        while waiting and len(searched) < _MAX_FOLDERS:
            path = waiting.pop()
            folder = self._read_folder(path)
            if folder is None:
                continue
            searched[path] = folder
            names.update(folder.protected)
            waiting.extend(folder.subfolders)
        self._folders = searched
        self.bare_repositories = frozenset(
            path for path in searched if searched[path].is_repository
        )
        return frozenset(names)

    def _read_folder(self, path: str) -> _Folder | None:
        """Return the content of a folder; None if it cannot be read."""
        full = f"{self._root}/{path}" if path else self._root
        try:
            changed_ns = os.lstat(full).st_ctime_ns
            cached = self._folders.get(path)
            if cached is not None and cached.changed_ns == changed_ns:
                return cached
            is_settled = time.time_ns() - changed_ns > _SETTLED_NS
            with os.scandir(full) as entries:
                listing = list(entries)
        except OSError:
            return None
        subfolders, protected = _sort_entries(path, listing)
        is_repository = _is_git_directory({entry.name for entry in listing})
        return _Folder(changed_ns if is_settled else 0, subfolders, protected, is_repository)


def _is_git_directory(names: set[str]) -> bool:
    """Return whether git considers a folder with these entries to be a repository."""
    return "HEAD" in names and ({"objects", "refs"} <= names or "commondir" in names)


def _sort_entries(
    path: str, entries: Iterable[os.DirEntry[str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide the entries of a folder into folders to search and protected names."""
    subfolders: list[str] = []
    protected: list[str] = []
    for entry in entries:
        name = f"{path}/{entry.name}" if path else entry.name
        if is_protected(name):
            protected.append(name)
        elif entry.name not in NOT_SEARCHED and entry.is_dir(follow_symlinks=False):
            subfolders.append(name)
    return tuple(subfolders), tuple(protected)


def quarantine_names(root: Path, names: Iterable[str], quarantine: Path) -> dict[str, Path]:
    """Move entries of a workspace to a new folder in `quarantine`. Blocking.

    Returns:
        The new path of each. Those that cannot be moved, such as across file systems, are omitted.
    """
    moved: dict[str, Path] = {}
    for name in sorted(names):
        target = quarantine / f"{int(time.time())}-{secrets.token_hex(3)}" / name
        with contextlib.suppress(OSError):
            target.parent.mkdir(mode=0o700, parents=True)
            (root / name).rename(target)
            moved[name] = target
    return moved
