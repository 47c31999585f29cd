"""Record the workspace's files as snapshots: before and after calls that may change something."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from manus.execution.safe_open import enter, open_file, write_private
from manus.execution.snapshots.listing import (
    MAX_FILE_BYTES,
    MAX_FILES,
    Listing,
    Status,
    TooManyFilesError,
    list_workspace,
)
from manus.execution.snapshots.objects import Author, SnapshotStore
from manus.execution.snapshots.tree import FOLDER_MODE, Entry, Tree, blob_id
from manus.state.errors import StorageError

log = logging.getLogger("manus")

_CACHE_FILE = "files.json"
_LARGEST_SHARE = 0.1
"""Share of a run's time that listing the workspace may take before it backs off."""
_FREE_SECONDS = 2.0
"""Seconds of listing that a run may use before its share counts."""

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
    """The object ids of files by status, so that an unchanged file is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[Status, str]] = {}

    def load(self) -> None:
        """Read the cache of an earlier run; start anew if there is none."""
        with contextlib.suppress(OSError, ValueError, TypeError), open_file(self._path) as file:
            content = json.load(file)
            self._known = {path: (Status(*s), name) for path, (s, name) in content.items()}

    def save(self) -> None:
        """Write the cache, which only saves time."""
        with contextlib.suppress(OSError):
            write_private(self._path, json.dumps(self._known).encode())

    def find(self, path: str, status: Status) -> str:
        """Return the object id of a file with this status; empty if it has to be read."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == status else ""

    def update(self, listing: Listing, entries: dict[str, Entry]) -> None:
        """Remember the files that can no longer change without a different status."""
        self._known = {
            path: (status, entries[path].object)
            for path, status in listing.files.items()
            if path in entries and status.changed_at < listing.settled_before
        }


@dataclass(slots=True)
class _Last:
    """The newest snapshot that this recorder has made or read, with its tree."""

    id: str
    tree: Tree


class Recorder:
    """Records the files of one workspace for the threads of one process.

    It never raises: what cannot be recorded is reported once through `notify`, and the thread goes
    on without snapshots.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.notify: Callable[[str], None] = log.warning
        """Reports why files are not recorded; each reason once."""
        self._folder = folder
        self._cache = FileCache(folder / _CACHE_FILE)
        self._store: SnapshotStore | None = None
        self._is_open = False
        self._last: _Last | None = None
        self._reported: set[str] = set()
        self._lock = asyncio.Lock()
        self._opened_at = time.monotonic()
        self._seconds = 0.0
        """Time spent in listings, without the first."""
        self._has_changed = False

    async def take(self, ref: str, parent: str, author: Author, label: str) -> str:
        """Record the workspace; return the id of the snapshot, `parent` if nothing differs.

        Args:
            ref: of the thread.
            parent: the thread's previous snapshot; empty for none.
            author: who made the changes since.
            label: a short text about them.
        """
        async with self._lock:
            if self._is_too_slow():
                return parent
            return await asyncio.to_thread(self._take, ref, parent, author, label)

    async def close(self) -> None:
        """Keep what later runs need."""
        async with self._lock:
            await asyncio.to_thread(self._close)

    def _is_too_slow(self) -> bool:
        share = (time.monotonic() - self._opened_at) * _LARGEST_SHARE
        is_slow = self._seconds > max(share, _FREE_SECONDS)
        if is_slow:
            self._report(TOO_SLOW)
        return is_slow

    def _take(self, ref: str, parent: str, author: Author, label: str) -> str:
        is_first = not self._is_open
        started_at = time.monotonic()
        try:
            store = self._open()
            if store is None:
                return parent
            return self._record(store, ref, parent, author, label)
        except TooManyFilesError:
            self._report(TOO_MANY_FILES)
            self._store = None
        except (StorageError, OSError) as error:
            self._report(f"The workspace's files cannot be recorded, so not be rewound: {error}")
        finally:
            if not is_first:
                self._seconds += time.monotonic() - started_at
        return parent

    def _open(self) -> SnapshotStore | None:
        if not self._is_open:
            self._is_open = True
            self._store = SnapshotStore.open(self._folder)
            if self._store is None:
                self._report(NO_GIT)
            else:
                self._cache.load()
        return self._store

    def _record(
        self, store: SnapshotStore, ref: str, parent: str, author: Author, label: str
    ) -> str:
        old = self._read_parent(store, parent)
        listing = list_workspace(self.root)
        tree = Tree(_folder_entries(listing), dict(listing.skipped))
        unread = []
        for path, status in listing.files.items():
            if identifier := self._cache.find(path, status):
                tree.entries[path] = _make_entry(status, identifier)
            else:
                unread.append(path)
        if not unread and parent and tree == old:
            return parent
        contents = self._contents(old, tree, listing, unread)
        first = next(contents, None)
        if first is None and parent and tree == old:
            self._cache.update(listing, tree.entries)
            return parent
        changes = contents if first is None else _chain_first(first, contents)
        snapshot = store.commit(ref, parent, author, label, tree, changes)
        self._cache.update(listing, tree.entries)
        self._last = _Last(snapshot, tree)
        self._has_changed = True
        return snapshot

    def _read_parent(self, store: SnapshotStore, parent: str) -> Tree:
        if not parent:
            return Tree()
        if self._last is None or self._last.id != parent:
            self._last = _Last(parent, store.read_tree(parent))
        return self._last.tree

    def _contents(
        self, old: Tree, tree: Tree, listing: Listing, unread: Iterable[str]
    ) -> Iterator[tuple[str, Entry | None, bytes]]:
        """Yield the paths that differ from the old tree: removed ones first, then contents.

        It reads the files without a known id, and completes the new tree.
        """
        for path, entry in old.entries.items():
            if entry.kind != "folder" and path not in listing.files:
                yield path, None, b""
        unread_paths = set(unread)
        for path, status in listing.files.items():
            previous = old.entries.get(path)
            if path not in unread_paths and _is_same_in_git(tree.entries[path], previous):
                continue
            content = _read(self.root / path, status)
            if content is None:
                tree.entries.pop(path, None)
                if previous is not None and previous.kind != "folder":
                    yield path, None, b""
                if os.path.lexists(self.root / path):
                    tree.skipped[path] = "unreadable"
                continue
            present = _make_entry(status, blob_id(content))
            tree.entries[path] = present
            if not _is_same_in_git(present, previous):
                yield path, present, content

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self.notify(reason)

    def _close(self) -> None:
        if self._store is not None and self._has_changed:
            self._has_changed = False
            self._cache.save()
            with contextlib.suppress(StorageError):
                self._store.collect_garbage()


def _chain_first(
    first: tuple[str, Entry | None, bytes], others: Iterator[tuple[str, Entry | None, bytes]]
) -> Iterator[tuple[str, Entry | None, bytes]]:
    yield first
    yield from others


def _is_same_in_git(entry: Entry | None, previous: Entry | None) -> bool:
    """Return whether a git tree represents two entries alike; permissions are in the manifest."""
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
