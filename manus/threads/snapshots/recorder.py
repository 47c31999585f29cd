"""Record the workspace's files as snapshots before and after calls that may change something."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from manus.state.errors import StorageError
from manus.threads.snapshots.file_cache import FileCache, make_entry
from manus.threads.snapshots.objects import Author, SnapshotStore
from manus.workspace.folder_watch import watch_folder
from manus.workspace.listing import (
    MAX_FILE_BYTES,
    MAX_FILES,
    REGENERATED,
    Listing,
    Status,
    TooManyFilesError,
    list_paths,
    list_workspace,
)
from manus.workspace.safe_open import enter, open_file
from manus.workspace.tree import (
    FOLDER_MODE,
    USUAL_FOLDER,
    Entry,
    Tree,
    blob_id,
    compare,
    list_changed_files,
    path_and_parents,
)

log = logging.getLogger("manus")

_CACHE_FILE = "files.json"
NO_GIT = (
    "Git is not installed, so only the editor's changes can be undone; install git to be able to "
    "rewind files."
)
TOO_MANY_FILES = (
    f"The workspace has more than {MAX_FILES:,} files, so only the editor's changes can be undone; "
    "choose a smaller workspace to be able to rewind files."
)


@dataclass(slots=True)
class _Last:
    """The newest snapshot that this recorder has created or read, with its tree."""

    id: str
    tree: Tree
    changes: int | None = None
    """The count of the watch before the whole workspace was last listed; None if it was not."""


class Writes(Protocol):
    """What is known about the authors of changes since the last snapshot."""

    @property
    def paths(self) -> Collection[str] | None:
        """Return the paths that the thread may have changed; None if it may be any path."""
        ...

    def find_author(self, path: str) -> Author:
        """Return the author of the change of a path."""
        ...


class SnapshotRecorder:
    """The recorder of one workspace's files for the threads of one process.

    It never raises: a failure is reported once through `notify`, and the thread continues without
    snapshots.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        """Create a recorder for a workspace; the snapshots are in a folder outside it."""
        self.root = root
        self.notify: Callable[[str], None] = log.warning
        """Reports why files are not recorded, each reason once."""
        self.folder = folder
        self._watch = watch_folder(root)
        self._cache = FileCache(folder / _CACHE_FILE)
        self._store: SnapshotStore | None = None
        self._is_open = False
        self._last: _Last | None = None
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        self._has_changed = False
        self._last_read: tuple[str, Tree] = ("", Tree())

    def take(
        self,
        ref: str,
        parent: str,
        writes: Writes,
        label: str,
        paths: Collection[str] | None = None,
    ) -> str | None:
        """Record the workspace; return the id of the snapshot. Blocking.

        The id is `parent` if nothing has changed, and None if nothing can be recorded.

        Args:
            ref: the ref of the thread.
            parent: the thread's previous snapshot; empty if there is none.
            writes: the changes since then whose author is known.
            label: a short text about the changes.
            paths: all paths that may have changed; by default the whole workspace is listed.
        """
        with self._lock:
            store = self._open()
            if store is None:
                return None
            try:
                return self._record(store, ref, parent, writes, label, paths)
            except TooManyFilesError:
                self._report(TOO_MANY_FILES)
                self._store = None
            except (StorageError, OSError) as error:
                self._report(f"Cannot record the workspace's files: {error}")
            return None

    def head(self, ref: str) -> str:
        """Return the newest snapshot of a thread; empty if there is none. Blocking."""
        with self._lock:
            store = self._open()
            return store.head(ref) if store is not None else ""

    def is_current(self, snapshot: str) -> bool:
        """Return whether nothing has changed in the workspace since a snapshot was taken of it."""
        last = self._last
        return last is not None and (last.id, last.changes) == (snapshot, self._watch.count())

    def find_unrecorded(self, writes: Writes) -> list[str]:
        """Return what is logged as changed since the newest snapshot, and is not recorded."""
        last = self._last
        return list(_find_unrecorded(last.tree, writes.paths or ())) if last is not None else []

    def changes_by_agent(self, start: str, end: str) -> list[str]:
        """Return the files that calls of the thread changed after `start` up to `end`. Blocking.

        Empty if a snapshot is damaged, or was not recorded on this machine.
        """
        with self._lock:
            store = self._open()
            try:
                return self._list_changes(store, start, end) if store is not None else []
            except StorageError as error:
                log.info("%s", error)
                return []

    def deletions_by_agent(self, start: str, end: str) -> list[str]:
        """Return the files of snapshot `start` that the thread's calls deleted up to `end`.

        Blocking. A file that was moved is not deleted. Empty as for `changes_by_agent`.
        """
        changed = self.changes_by_agent(start, end)
        with self._lock:
            store = self._open()
            if store is None or not changed:
                return []
            before, after = (store.read_tree(snapshot).entries for snapshot in (start, end))
        new = {entry.object for path, entry in after.items() if path not in before}
        gone = [path for path in changed if path in before and path not in after]
        return [path for path in gone if before[path].object not in new]

    def _list_changes(self, store: SnapshotStore, start: str, end: str) -> list[str]:
        paths: dict[str, None] = {}
        for snapshot in store.chain(start, end):
            if snapshot.author in ("agent", "unknown") and snapshot.parent:
                last_id, last_tree = self._last_read  # of the step before, in a list of steps
                is_parent = last_id == snapshot.parent
                before = last_tree if is_parent else store.read_tree(snapshot.parent)
                tree = store.read_tree(snapshot.id)
                self._last_read = (snapshot.id, tree)
                changes = compare(before, tree)
                paths.update(dict.fromkeys(list_changed_files(changes)))
                paths.update(dict.fromkeys(f"{path} (not recorded)" for path in tree.unrecorded))
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
        writes: Writes,
        label: str,
        paths: Collection[str] | None,
    ) -> str:
        first_author: Author = "outside"
        try:
            current = self._read_parent(store, parent)
        except StorageError as error:
            log.warning("%s The workspace is recorded again.", error)
            parent = ""
            current = Tree()
            first_author = "unknown"
        if paths is not None and parent:
            changes = self._last.changes if self._last is not None else None
            listing, tree = self._list_some(current, paths)
        else:
            changes = self._watch.count()
            listing, tree = self._list_all()
        is_known = listing.files.keys() <= tree.entries.keys()
        if parent and tree == current and is_known and not (writes.paths and current.skipped):
            self._last = _Last(parent, current, changes)
            return parent
        changed = _find_changed(current, tree, listing)
        groups = {first_author: changed}
        if parent:
            groups = _group(changed, tree, writes)
        unrecorded = _find_unrecorded(current, writes.paths or ())
        if unrecorded:
            groups.setdefault("agent", [])
        if tree.skipped != current.skipped:
            groups.setdefault("outside", [])
        for author, changed in groups.items():
            new = Tree(dict(current.entries), tree.skipped)
            contents = self._apply(changed, new, tree, listing)
            first = next(contents, None)  # the first difference, if there is one
            new.unrecorded = unrecorded if author == "agent" else {}
            if first is None and parent and new == current and not new.unrecorded:
                continue
            differences = itertools.chain([first] if first is not None else [], contents)
            parent = store.commit(ref, parent, author, label, new, differences)
            current = new
            self._has_changed = True
        self._cache.update(listing, current.entries)
        self._last = _Last(parent, current, changes)
        return parent

    def _list_all(self) -> tuple[Listing, Tree]:
        """Return the listing of the workspace, and its tree as far as it is cached."""
        listing = list_workspace(self.root, self.folder, self._watch)
        tree = Tree(_folder_entries(listing), dict(listing.skipped))
        tree.entries.update(self._cache.find_all(listing.files))
        return listing, tree

    def _list_some(self, old: Tree, paths: Collection[str]) -> tuple[Listing, Tree]:
        """Return the listing of some paths, and a tree in which the others are unchanged."""
        listing = list_paths(self.root, paths)
        entries = dict(old.entries)
        skipped = dict(old.skipped)
        for path in paths:
            for listed in path_and_parents(path.rstrip("/")):
                entries.pop(listed, None)
                skipped.pop(listed, None)
        tree = Tree(entries | _folder_entries(listing), skipped | listing.skipped)
        return listing, tree

    def _read_parent(self, store: SnapshotStore, parent: str) -> Tree:
        if not parent:
            return Tree()
        if self._last is None or self._last.id != parent:
            tree = store.read_tree(parent)
            if self._last is None:  # a damaged store gets the files that are still there again
                missing = store.find_missing(entry.object for entry in tree.entries.values())
                for path in [p for p, entry in tree.entries.items() if entry.object in missing]:
                    del tree.entries[path]
            self._last = _Last(parent, tree)
        return self._last.tree

    def _apply(
        self, paths: Iterable[str], new: Tree, tree: Tree, listing: Listing
    ) -> Iterator[tuple[str, Entry | None, bytes]]:
        """Change the entries of `new` to those of a listing, and yield the contents that differ.

        This reads the files that are not cached, and completes the tree of the listing.
        """
        for path in paths:
            previous = new.entries.pop(path, None)
            if (status := listing.files.get(path)) is not None:
                entry = tree.entries.get(path)
                content = None
                if not _is_same_in_git(entry, previous):
                    content = _read(self.root / path, status)
                    if content is None and os.path.lexists(self.root / path):
                        tree.skipped[path] = "unreadable"
                    entry = None if content is None else make_entry(status, blob_id(content))
                if entry is not None:
                    tree.entries[path] = new.entries[path] = entry
                    if content is not None and not _is_same_in_git(entry, previous):
                        yield path, entry, content
                    continue
            elif path in tree.entries:
                new.entries[path] = tree.entries[path]
            is_replaced = path in listing.folders and _contains(new, path)
            if previous is not None and previous.kind != "folder" and not is_replaced:
                yield path, None, b""

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self.notify(reason)


def _find_changed(old: Tree, tree: Tree, listing: Listing) -> list[str]:
    """Return the paths that may differ, removed ones first."""
    paths = [path for path, entry in old.entries.items() if tree.entries.get(path) != entry]
    paths += [path for path in tree.entries if path not in old.entries]
    unread = listing.files.keys() - tree.entries.keys()
    paths += [path for path in unread if path not in old.entries]
    return sorted(paths, key=lambda path: path in listing.files)


def _group(paths: Sequence[str], tree: Tree, writes: Writes) -> dict[Author, list[str]]:
    """Return changed paths by author; who empties or fills a folder changes its entry, too."""
    authors = {path: writes.find_author(path) for path in paths}
    parents: dict[str, Author] = {}
    for path, author in authors.items():
        if author != "outside":
            parents.update(dict.fromkeys(path_and_parents(path), author))
    groups: dict[Author, list[str]] = {}
    for path, author in authors.items():
        entry = tree.entries.get(path, USUAL_FOLDER)
        is_file = entry.kind != "folder"
        groups.setdefault(author if is_file else parents.get(path, author), []).append(path)
    return groups


def _find_unrecorded(tree: Tree, paths: Iterable[str]) -> dict[str, str]:
    """Return what is changed by these paths and not recorded in a tree, with the reason."""
    unrecorded = {}
    for path in paths:
        for parent in path_and_parents(path.rstrip("/")):
            reason = tree.skipped.get(parent)
            if reason is not None and parent.rpartition("/")[2] not in REGENERATED:
                unrecorded[parent] = reason
    return unrecorded


def _contains(tree: Tree, folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in tree.entries)


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
