"""Restore the files of a workspace to an earlier snapshot, without overwriting anyone's work.

A thread owns only the changes that its own calls made. A file is restored if it is still as the
thread's last call left it; otherwise somebody else has changed it since, and it is kept and listed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from manus.config.files import is_temporary, write_atomically
from manus.threads.snapshots.objects import Author, SnapshotStore
from manus.workspace.safe_open import enter, is_folder, look_at, open_file, open_record
from manus.workspace.tree import (
    FOLDER_MODE,
    USUAL_FOLDER,
    Entry,
    PathChange,
    Tree,
    blob_id,
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
    created: set[str] = field(default_factory=set)
    """Folders that calls have created, which do not stay."""
    kept: list[str] = field(default_factory=list)
    """Files that somebody else has changed since, which are not restored."""
    in_doubt: list[str] = field(default_factory=list)
    """Files whose changes have an unknown author, also not restored."""
    unrecorded: dict[str, str] = field(default_factory=dict)
    """What calls have changed although it was not recorded, with the reason."""
    expected: Mapping[str, Entry] = field(default_factory=dict)
    """The entries before the restore; what differs from them by then is somebody's work."""

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
    """Whether the author of the last change is unknown."""

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
    plan = RestorePlan(folders=_list_folders(original), expected=current.entries)
    for path, touched in sorted(_find_touched(store, start, end, original, plan).items()):
        now = current.entries.get(path)
        if now == touched.first:
            continue
        if current.is_skipped(path):
            plan.unrecorded[path] = f"what it is now is not recorded: {current.skipped.get(path)}"
        elif theirs or touched.may_restore(now):
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
    return RestorePlan(dict(tree.entries), _list_folders(tree))


def _find_touched(
    store: SnapshotStore, start: str, end: str, before: Tree, plan: RestorePlan
) -> dict[str, _Touched]:
    """Return the paths that calls of the thread changed between two snapshots.

    Those that were not recorded are added to the plan.
    """
    touched: dict[str, _Touched] = {}
    for snapshot in store.chain(start, end):
        after = store.read_tree(snapshot.id)
        plan.unrecorded |= after.unrecorded
        if snapshot.author != "outside":
            plan.created |= _list_folders(after) - _list_folders(before) - plan.folders
        for change in _compare(before, after, snapshot.author):
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


def _compare(before: Tree, after: Tree, author: Author) -> Iterator[PathChange]:
    """Yield the differences; one that a call made a file unrecordable is the file's removal."""
    yield from compare(before, after)
    if author == "agent":
        for path in after.skipped:
            if (entry := before.entries.get(path)) is not None:
                yield PathChange(path, entry, None)


class Contents(Protocol):
    """The source from which a restore reads the contents of files."""

    def read_objects(self, identifiers: Iterable[str], /) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of objects, except those that are missing or damaged."""
        ...


class Restoration:
    """The execution of a plan, which is continued after an interruption.

    Each path is logged before it changes. A path that is neither as planned nor as before is
    somebody's work since, and is kept; so is a logged path, unless the interruption may have
    prevented its change.
    """

    def __init__(
        self, root: Path, store: Contents, plan: RestorePlan, progress: Path | None = None
    ) -> None:
        """Create the restoration of a folder; `progress` is the file that logs it. Blocking."""
        self._root = root
        self._store = store
        self._plan = plan
        self._progress = progress
        self._targets = dict(plan.targets)
        self._finished = _read_progress(progress) if progress is not None else []
        self._last = self._finished.pop() if self._finished else None
        self.changed: list[str] = list(self._finished)
        """Paths that are now as planned."""
        self.kept: list[str] = []
        """Paths that somebody has changed in the meantime."""
        self.failed: dict[str, str] = dict(plan.unrecorded)
        """Paths that could not be restored, with the reason."""
        self.occupied: list[str] = []
        """Folders that stay because they contain unrecorded files, such as a `.git`."""

    def run(self) -> None:
        """Remove entries, then create files, then set the permissions of folders. Blocking.

        Removals come first, because a file may take the place of a folder.
        """
        folders: dict[str, int] = {}
        files: dict[str, Entry] = {}
        if self._last is not None:
            self._remove_temporary_files(self._root / self._last)
        for path in dict.fromkeys(self._finished):
            self._plan.targets.pop(path, None)
        for path, entry in self._plan.targets.items():
            if entry is None:
                continue
            if entry.kind == "folder":
                folders[path] = entry.mode
            else:
                files[path] = entry
        expected = self._plan.expected
        replaced = [p for p in folders if p in expected and expected[p].kind != "folder"]
        self._remove([*self._plan.removed, *replaced])
        for path in folders:
            with contextlib.suppress(OSError):  # reported when its permissions are set
                self._make_folder(self._root / path)
        self._write_files(files)
        for path in reversed(folders):  # inner folders first
            self._attempt(path, partial(self._set_folder, self._root / path, folders[path]))

    def list_written(self) -> list[str]:
        """Return the logged paths that nobody has changed since. Blocking."""
        written = []
        for path in _read_progress(self._progress) if self._progress is not None else ():
            target = self._targets.get(path)
            if (target is not None and target.kind == "folder") or target == _read_entry(
                self._root / path
            ):
                written.append(path)
        return written

    def _attempt(self, path: str, change: Callable[[], None]) -> None:
        """Change a path, unless somebody else has changed it; record whether that succeeds."""
        try:
            if self._progress is not None:
                if not self._is_as_expected(path):
                    self.kept.append(path)
                    return
                with open_record(self._progress) as file:
                    file.write(os.fsencode(path) + b"\0")
            change()
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                self.occupied.append(path)
            else:
                self.failed[path] = error.strerror or "it cannot be written"
        else:
            self.changed.append(path)

    def _is_as_expected(self, path: str) -> bool:
        """Return whether a path is as before the restore, or already as planned."""
        now = _read_entry(self._root / path)
        expected = self._plan.expected.get(path)
        if now is None and expected is not None:
            return expected.kind == "folder"  # somebody has removed the file
        # folders are only removed if they are empty
        is_folder = now is None or now.kind == "folder"
        return is_folder or now in (expected, self._plan.targets[path])

    def _remove_temporary_files(self, path: Path) -> None:
        """Remove the temporary file of an interrupted write."""
        with contextlib.suppress(OSError), enter(path.parent) as at:
            for name in os.listdir(f"/proc/self/fd/{at}"):  # noqa: PTH208 - no link is followed
                if is_temporary(name, path.name):
                    os.unlink(name, dir_fd=at)

    def _remove(self, paths: Sequence[str]) -> None:
        """Remove entries, then the folders that become empty and that calls have created."""
        emptied: set[str] = set()
        for path in reversed(paths):  # the content of a folder before the folder
            self._attempt(path, partial(_remove_entry, self._root / path))
            emptied.update(list(path_and_parents(path))[1:])
        for folder in sorted(emptied & self._plan.created, reverse=True):
            try:
                _remove_entry(self._root / folder)
            except OSError:
                self.occupied.append(folder)

    def _write_files(self, files: Mapping[str, Entry]) -> None:
        paths_by_object: dict[str, list[str]] = {}
        for path, entry in files.items():
            paths_by_object.setdefault(entry.object, []).append(path)
        for identifier, content in self._store.read_objects(paths_by_object):
            for path in paths_by_object.pop(identifier):
                self._attempt(path, partial(self._write, self._root / path, files[path], content))
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
            os.mkdir(path.name, dir_fd=at)
        _set_permissions(path, FOLDER_MODE)

    def _set_folder(self, path: Path, mode: int) -> None:
        self._make_folder(path)
        _set_permissions(path, mode)


def _read_progress(file: Path) -> list[str]:
    """Return the paths that a restoration has logged; the last one may not be changed yet."""
    try:
        with open_file(file) as reader:
            return os.fsdecode(reader.read()).split("\0")[:-1]
    except OSError:
        return []


def _read_entry(path: Path) -> Entry | None:
    """Return the entry of a file, link or folder as it is now; None if it does not exist."""
    try:
        with enter(path.parent) as at:
            status = os.stat(path.name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return Entry("link", 0, blob_id(os.fsencode(os.readlink(path.name, dir_fd=at))))
        if stat.S_ISDIR(status.st_mode):
            return Entry("folder", stat.S_IMODE(status.st_mode))
        with open_file(path) as file:
            return Entry("file", stat.S_IMODE(status.st_mode), blob_id(file.read()))
    except OSError:
        return None


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
