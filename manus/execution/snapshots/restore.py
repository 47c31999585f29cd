"""Restore the files of a workspace to an earlier snapshot, without overwriting anyone's work.

A thread owns only the changes that its own calls made. A file is restored if it is still as the
thread's last call left it; otherwise somebody else has changed it since, and it is kept and listed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from manus.config.files import write_atomically
from manus.execution.safe_open import enter, is_folder, look_at
from manus.execution.snapshots.objects import SnapshotStore
from manus.execution.snapshots.tree import (
    FOLDER_MODE,
    USUAL_FOLDER,
    Entry,
    Tree,
    compare,
    path_and_parents,
)


@dataclass(slots=True)
class RestorePlan:
    """What a restore will do, by relative path."""

    targets: dict[str, Entry | None] = field(default_factory=dict)
    """The entries to restore; None to remove one."""
    folders: set[str] = field(default_factory=set)
    """All folders of the snapshot, which stay even if they become empty."""
    kept: list[str] = field(default_factory=list)
    """Files that somebody else has changed since, which are not restored."""
    in_doubt: list[str] = field(default_factory=list)
    """Files that either an interrupted call or somebody else has changed, also not restored."""

    @property
    def removed(self) -> list[str]:
        """Return the paths that will be removed."""
        return [path for path, entry in self.targets.items() if entry is None]


@dataclass(slots=True)
class _Touched:
    """A path that calls of the thread changed."""

    first: Entry | None
    """The entry before the first call that changed it."""
    last: Entry | None
    """The entry after the last call that changed it."""
    is_shared: bool = False
    """Whether somebody else changed it between two calls."""
    is_in_doubt: bool = False
    """Whether either an interrupted call or somebody else changed it."""

    def may_restore(self, now: Entry | None) -> bool:
        """Return whether a restore would not overwrite anyone else's work."""
        if self.is_in_doubt:
            return now is None and self.last is None  # the restore recreates a deleted file
        return now == self.last and not self.is_shared


def plan_restore(
    store: SnapshotStore, start: str, end: str, current: Tree, *, theirs: bool = False
) -> RestorePlan:
    """Plan to undo the changes that a thread's calls made after a snapshot. Blocking.

    Args:
        store: the snapshots.
        start: the snapshot to restore.
        end: the thread's newest snapshot.
        current: the workspace as it is.
        theirs: also restore files that somebody else has changed after the thread's calls.
    """
    original = store.read_tree(start)
    plan = RestorePlan(folders=_list_folders(original))
    for path, touched in sorted(_find_touched(store, start, end, original).items()):
        now = current.entries.get(path)
        if current.is_skipped(path) or now == touched.first:
            continue
        if theirs or touched.may_restore(now):
            # a folder that contains something has no entry in a tree
            was_folder = touched.first is None and path in plan.folders
            plan.targets[path] = USUAL_FOLDER if was_folder else touched.first
        elif touched.is_in_doubt:
            plan.in_doubt.append(path)
        else:
            plan.kept.append(path)
    return plan


def plan_copy(store: SnapshotStore, snapshot: str) -> RestorePlan:
    """Plan to write all files of a snapshot into an empty folder. Blocking."""
    tree = store.read_tree(snapshot)
    return RestorePlan(targets=dict(tree.entries), folders=_list_folders(tree))


def _find_touched(store: SnapshotStore, start: str, end: str, before: Tree) -> dict[str, _Touched]:
    """Return the paths that calls of the thread changed between two snapshots."""
    touched: dict[str, _Touched] = {}
    for snapshot in store.chain(start, end):
        after = store.read_tree(snapshot.id)
        for change in compare(before, after):
            known = touched.get(change.path)
            if snapshot.author == "outside":
                if known is not None and known.last != change.after:
                    known.is_shared = True
                continue
            if known is None:
                known = touched[change.path] = _Touched(change.before, change.after)
            known.last = change.after
            if snapshot.author != "agent":  # after a rewind, the state is certain again
                known.is_in_doubt = snapshot.author == "unknown"
        before = after
    return touched


class Contents(Protocol):
    """The source from which a restore reads the contents of files."""

    def read_objects(self, identifiers: Iterable[str], /) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of objects, except those that are missing or damaged."""
        ...


class Restoration:
    """The execution of a plan, which may be repeated after an interruption."""

    def __init__(self, root: Path, store: Contents, plan: RestorePlan) -> None:
        self._root = root
        self._store = store
        self._plan = plan
        self.changed: list[str] = []
        """Paths that are now as planned."""
        self.failed: dict[str, str] = {}
        """Paths that could not be restored, with the reason."""
        self.occupied: list[str] = []
        """Folders that stay because they contain unrecorded files, such as a `.git`."""

    def run(self) -> None:
        """Remove entries, then create files, then set the permissions of folders. Blocking.

        Removals come first, because a file may take the place of a folder.
        """
        folders: dict[str, int] = {}
        files: dict[str, Entry] = {}
        for path, entry in self._plan.targets.items():
            if entry is None:
                continue
            if entry.kind == "folder":
                folders[path] = entry.mode
            else:
                files[path] = entry
        self._remove(self._plan.removed)
        for path in folders:
            with self._attempt(path):
                self._make_folder(self._root / path)
        self._write_files(files)
        for path in reversed(folders):  # inner folders first
            with self._attempt(path):
                _set_permissions(self._root / path, folders[path])

    def _remove(self, paths: Sequence[str]) -> None:
        """Remove entries, then the folders that become empty and did not exist before."""
        emptied: set[str] = set()
        for path in reversed(paths):  # the content of a folder before the folder
            with self._attempt(path):
                _remove_entry(self._root / path)
            emptied.update(list(path_and_parents(path))[1:])
        for folder in sorted(emptied - self._plan.folders, reverse=True):
            with contextlib.suppress(OSError):  # it contains something else
                _remove_entry(self._root / folder)

    def _write_files(self, files: Mapping[str, Entry]) -> None:
        paths_by_object: dict[str, list[str]] = {}
        for path, entry in files.items():
            paths_by_object.setdefault(entry.object, []).append(path)
        for identifier, content in self._store.read_objects(paths_by_object):
            for path in paths_by_object.pop(identifier):
                with self._attempt(path):
                    self._write(self._root / path, files[path], content)
        for paths in paths_by_object.values():
            for path in paths:
                self.failed[path] = "its content is missing from the snapshots, or damaged"

    def _write(self, path: Path, entry: Entry, content: bytes) -> None:
        self._make_folder(path.parent)
        if entry.kind == "link" or look_at(path) is None or is_folder(path):
            _remove_entry(path)  # a link, or an empty folder that was created in its place
        with enter(path.parent) as at:
            if entry.kind == "link":
                os.symlink(content, path.name, dir_fd=at)
            else:
                name = Path(path.name)
                write_atomically(name, content, entry.mode, at, keep_mode=False)

    def _make_folder(self, path: Path) -> None:
        """Create a folder and its missing parents, with the usual permissions."""
        if path == self._root or is_folder(path):
            return
        self._make_folder(path.parent)
        with enter(path.parent) as at:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=at)  # a file or link that was created in its place
            os.mkdir(path.name, dir_fd=at)
        _set_permissions(path, FOLDER_MODE)

    @contextmanager
    def _attempt(self, path: str) -> Iterator[None]:
        """Record whether the restore of a path succeeds."""
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                self.occupied.append(path)
            else:
                self.failed[path] = error.strerror or "it cannot be written"
        else:
            self.changed.append(path)


def _remove_entry(path: Path) -> None:
    """Remove a file, a link or an empty folder, if it exists."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), enter(path.parent) as at:
        status = os.stat(path.name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            os.rmdir(path.name, dir_fd=at)
        else:
            os.unlink(path.name, dir_fd=at)


def _set_permissions(folder: Path, mode: int) -> None:
    """Set the permissions of a folder, but not those of the target of a link in its place."""
    with enter(folder.parent) as at:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder.name, flags, dir_fd=at)
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _list_folders(tree: Tree) -> set[str]:
    """Return all folders of a tree."""
    folders: set[str] = set()
    for path, entry in tree.entries.items():
        parents = list(path_and_parents(path))
        folders.update(parents if entry.kind == "folder" else parents[1:])
    return folders
