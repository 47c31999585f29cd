"""Record the workspace's files as snapshots before and after calls that may change something."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from manus.execution.safe_open import enter, open_file, write_private
from manus.execution.snapshots.listing import (
    MAX_FILE_BYTES,
    MAX_FILES,
    Listing,
    Status,
    TooManyFilesError,
    list_paths,
    list_workspace,
)
from manus.execution.snapshots.objects import Author, SnapshotStore
from manus.execution.snapshots.tree import (
    FOLDER_MODE,
    USUAL_FOLDER,
    Entry,
    Tree,
    blob_id,
    compare,
    list_changed_files,
    path_and_parents,
)
from manus.state.errors import StorageError

log = logging.getLogger("manus")

_CACHE_FILE = "files.json"
_LARGEST_SHARE = 0.1
"""Share of a run's time that listing the workspace may take before it backs off."""
_FREE_SECONDS = 2.0
"""Seconds that a run may spend on listings before their share of its time is limited."""

NO_GIT = (
    "Git is not installed, so only the editor's changes can be undone; install git to be able to "
    "rewind files."
)
TOO_MANY_FILES = (
    f"The workspace has more than {MAX_FILES:,} files, so only the editor's changes can be undone; "
    "choose a smaller workspace to be able to rewind files."
)
TOO_SLOW = (
    "Recording the workspace's files takes more than a tenth of this run's time, so some steps are "
    "not recorded; a rewind to one of them restores the files of the next recorded step."
)


class FileCache:
    """The entries of files by status, so that an unchanged file is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[Status, Entry]] = {}

    def load(self) -> None:
        """Read the cache of an earlier run; start with an empty one if there is none."""
        with contextlib.suppress(OSError, ValueError, TypeError), open_file(self._path) as file:
            content = json.load(file)
            for path, (values, identifier) in content.items():
                status = Status(*values)
                self._known[path] = (status, _make_entry(status, identifier))

    def save(self) -> None:
        """Write the cache. A failure only costs time."""
        content = {path: (status, entry.object) for path, (status, entry) in self._known.items()}
        with contextlib.suppress(OSError):
            write_private(self._path, json.dumps(content).encode())

    def find_all(self, files: Mapping[str, Status]) -> dict[str, Entry]:
        """Return the entries of the files with these statuses that need not be read."""
        known = self._known
        nothing = (None, None)
        entries = {}
        for path, status in files.items():
            known_status, entry = known.get(path, nothing)
            if entry is not None and known_status == status:
                entries[path] = entry
        return entries

    def update(self, listing: Listing, entries: dict[str, Entry]) -> None:
        """Cache the files that can no longer change without a different status."""
        for path, status in listing.files.items():
            if path in entries and status.changed_at < listing.settled_before:
                self._known[path] = (status, entries[path])


@dataclass(slots=True)
class _Last:
    """The newest snapshot that this recorder has created or read, with its tree."""

    id: str
    tree: Tree


class SnapshotRecorder:
    """The recorder of one workspace's files for the threads of one process.

    It never raises: a failure is reported once through `notify`, and the thread continues without
    snapshots.
    """

    def __init__(self, root: Path, folder: Path, *, largest_share: float = _LARGEST_SHARE) -> None:
        """Create a recorder for a workspace; the snapshots are in a folder outside it.

        `largest_share`: the share of the time from now on that may be spent on listings.
        """
        self.root = root
        self._largest_share = largest_share
        self.notify: Callable[[str], None] = log.warning
        """Reports why files are not recorded, each reason once."""
        self.folder = folder
        self._cache = FileCache(folder / _CACHE_FILE)
        self._store: SnapshotStore | None = None
        self._is_open = False
        self._last: _Last | None = None
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        self._opened_at = time.monotonic()
        self._seconds = 0.0
        """Time spent on listings, except for the first one."""
        self._has_changed = False

    def take(
        self,
        ref: str,
        parent: str,
        author: Author,
        label: str,
        paths: Collection[str] | None = None,
    ) -> str:
        """Record the workspace; return the id of the snapshot. Blocking.

        The id is `parent` if nothing has changed or nothing can be recorded.

        Args:
            ref: the ref of the thread.
            parent: the thread's previous snapshot; empty if there is none.
            author: the author of the changes since then.
            label: a short text about the changes.
            paths: all files that may have changed; by default the whole workspace is listed.
        """
        with self._lock:
            is_first = not self._is_open
            store = self._open()
            if store is None:
                return parent
            started_at = time.monotonic()
            try:
                return self._record(store, ref, parent, author, label, paths)
            except TooManyFilesError:
                self._report(TOO_MANY_FILES)
                self._store = None
            except (StorageError, OSError) as error:
                self._report(f"Cannot record the workspace's files: {error}")
            finally:
                if not is_first:
                    self._seconds += time.monotonic() - started_at
            return parent

    def head(self, ref: str) -> str:
        """Return the newest snapshot of a thread; empty if there is none. Blocking."""
        with self._lock:
            store = self._open()
            return store.head(ref) if store is not None else ""

    def changes(self, before: str, after: str) -> list[str]:
        """Return the paths of the files that differ between two snapshots. Blocking.

        Empty if one of them is damaged, or was not recorded on this machine.
        """
        with self._lock:
            store = self._open()
            if store is None or before == after or not before:
                return []
            try:
                old = store.read_tree(before)
                new = store.read_tree(after)
            except StorageError as error:
                log.info("%s", error)
                return []
            return list_changed_files(compare(old, new))

    def changes_by_agent(self, start: str, end: str) -> list[str]:
        """Return the files that calls of the thread changed after `start` up to `end`. Blocking."""
        with self._lock:
            store = self._open()
            if store is None:
                return []
            paths: dict[str, None] = {}
            for snapshot in store.chain(start, end):
                if snapshot.author in ("agent", "unknown") and snapshot.parent:
                    before = store.read_tree(snapshot.parent)
                    changes = compare(before, store.read_tree(snapshot.id))
                    paths.update(dict.fromkeys(list_changed_files(changes)))
            return list(paths)

    def close(self) -> None:
        """Save the caches for later runs. Blocking."""
        with self._lock:
            if self._store is None or not self._has_changed:
                return
            self._has_changed = False
            self._cache.save()
            with contextlib.suppress(StorageError):
                self._store.collect_garbage()

    def is_too_slow(self) -> bool:
        """Return whether listings have taken so much time that a step is skipped."""
        share = (time.monotonic() - self._opened_at) * self._largest_share
        is_slow = self._seconds > max(share, _FREE_SECONDS)
        if is_slow:
            self._report(TOO_SLOW)
        return is_slow

    def _open(self) -> SnapshotStore | None:
        if not self._is_open:
            self._is_open = True
            try:
                self._store = SnapshotStore.open(self.folder)
            except (StorageError, OSError) as error:
                self._report(f"Cannot record the workspace's files: {error}")
            else:
                self._cache.load()
                if self._store is None:
                    self._report(NO_GIT)
        return self._store

    def _record(
        self,
        store: SnapshotStore,
        ref: str,
        parent: str,
        author: Author,
        label: str,
        paths: Collection[str] | None,
    ) -> str:
        old = self._read_parent(store, parent)
        if paths is not None and parent:
            listing, tree = self._list_some(old, paths)
        else:
            listing, tree = self._list_all()
        is_known = paths is None and listing.files.keys() <= tree.entries.keys()
        if parent and is_known and tree == old:
            return parent
        contents = self._contents(old, tree, listing)
        first = next(contents, None)  # the first difference, if there is one
        if first is None and parent and tree == old:
            return parent
        changes = itertools.chain([first] if first is not None else [], contents)
        snapshot = store.commit(ref, parent, author, label, tree, changes)
        self._cache.update(listing, tree.entries)
        self._last = _Last(snapshot, tree)
        self._has_changed = True
        return snapshot

    def _list_all(self) -> tuple[Listing, Tree]:
        """Return the listing of the workspace, and its tree as far as it is cached."""
        listing = list_workspace(self.root, self.folder)
        tree = Tree(_folder_entries(listing), dict(listing.skipped))
        tree.entries.update(self._cache.find_all(listing.files))
        return listing, tree

    def _list_some(self, old: Tree, paths: Collection[str]) -> tuple[Listing, Tree]:
        """Return the listing of some files, and a tree in which the others are unchanged."""
        listing = list_paths(self.root, paths)
        tree = Tree(dict(old.entries), old.skipped)
        for path in paths:
            tree.entries.pop(path, None)
            for folder in list(path_and_parents(path))[1:]:
                if tree.entries.get(folder) == USUAL_FOLDER:  # no longer empty
                    del tree.entries[folder]
        return listing, tree

    def _read_parent(self, store: SnapshotStore, parent: str) -> Tree:
        if not parent:
            return Tree()
        if self._last is None or self._last.id != parent:
            self._last = _Last(parent, store.read_tree(parent))
        return self._last.tree

    def _contents(
        self, old: Tree, tree: Tree, listing: Listing
    ) -> Iterator[tuple[str, Entry | None, bytes]]:
        """Yield the paths that differ from the old tree: removed ones first, then changed ones.

        This reads the files that are not cached, and completes the new tree.
        """
        for path, entry in old.entries.items():
            if entry.kind == "folder" or path in listing.files:
                continue
            present = tree.entries.get(path)
            if present is None or present.kind == "folder":
                yield path, None, b""
        for path, status in listing.files.items():
            previous = old.entries.get(path)
            if _is_same_in_git(tree.entries.get(path), previous):
                continue
            content = _read(self.root / path, status)
            if content is None:
                tree.entries.pop(path, None)
                if previous is not None and previous.kind != "folder":
                    yield path, None, b""
                if os.path.lexists(self.root / path):
                    tree.skipped[path] = "unreadable"
                continue
            read_entry = _make_entry(status, blob_id(content))
            tree.entries[path] = read_entry
            if not _is_same_in_git(read_entry, previous):
                yield path, read_entry, content

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self.notify(reason)


def _is_same_in_git(entry: Entry | None, previous: Entry | None) -> bool:
    """Return whether two entries are the same in a git tree; permissions are in the manifest."""
    if entry is None or previous is None or entry.kind != previous.kind:
        return False
    is_program = entry.mode & 0o100 == previous.mode & 0o100
    return entry.object == previous.object and is_program


def _folder_entries(listing: Listing) -> dict[str, Entry]:
    """Return the folders that are empty, or have unusual permissions."""
    entries = {}
    for path, mode in listing.folders.items():
        if path not in listing.occupied or mode != FOLDER_MODE:
            entries[path] = Entry("folder", mode)
    return entries


def _make_entry(status: Status, identifier: str) -> Entry:
    if stat.S_ISLNK(status.mode):
        return Entry("link", 0, identifier)
    return Entry("file", stat.S_IMODE(status.mode), identifier)


def _read(path: Path, status: Status) -> bytes | None:
    """Return the content of a file, or a link's target; None if it cannot be read."""
    try:
        if stat.S_ISLNK(status.mode):
            with enter(path.parent) as at:
                return os.fsencode(os.readlink(path.name, dir_fd=at))
        with open_file(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= MAX_FILE_BYTES else None
