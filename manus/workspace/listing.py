"""List the files of a workspace with their status, without reading them.

Folders are opened relative to their parent and links are not followed, so that a program that
replaces a folder by a link cannot lead the listing out of the workspace (TOCTOU).
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
import weakref
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from manus.workspace.folder_watch import FolderWatch
from manus.workspace.safe_open import enter
from manus.workspace.tree import path_and_parents
from manus.workspace.workspace import PRIVATE

MAX_FILES = 50_000
"""Maximum number of files and folders in a workspace that is recorded as a whole."""
MAX_FILE_BYTES = 64 * 2**20
"""Maximum size of a file that is recorded."""
REGENERATED = frozenset(
    {
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
        *(".next", ".parcel-cache", ".turbo"),
    }
)
"""Caches that programs recreate by themselves, so that nobody misses them."""
CACHES = REGENERATED | {
    *("node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", ".gradle", ".npm"),
    *(".pnpm-store", ".terraform"),
}
"""Folders that programs can recreate, and that are often larger than everything else."""
CACHE = "a cache"
_MAX_DEPTH = 200
REPOSITORY = ".git"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TICK = 20_000_000
"""Nanoseconds, longer than a tick of the clock of file timestamps. A file that has changed within
this time can change again without a different status."""


class TooManyFilesError(Exception):
    """The workspace has more than `MAX_FILES` entries."""


class Status(NamedTuple):
    """The status of a file or link; if it is equal, the content is assumed to be equal."""

    mode: int
    size: int
    changed_at: int
    """`st_ctime_ns`, which programs cannot set."""
    modified_at: int
    inode: int

    @classmethod
    def of(cls, result: os.stat_result) -> Status:
        """Convert the result of `stat`."""
        times = (result.st_ctime_ns, result.st_mtime_ns)
        # faster than the generated constructor, which is a function in Python
        return tuple.__new__(cls, (result.st_mode, result.st_size, *times, result.st_ino))


@dataclass(slots=True)
class Listing:
    """The entries of a workspace; paths are relative to its root, undecodable bytes escaped."""

    files: dict[str, Status] = field(default_factory=dict)
    """Files and links."""
    folders: dict[str, int] = field(default_factory=dict)
    """Permissions of each folder, without the root."""
    occupied: set[str] = field(default_factory=set)
    """Folders that are not empty."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What is not recorded, with the reason."""
    excluded: set[str] = field(default_factory=lambda: {PRIVATE})
    """Our own folders."""
    repositories: set[str] = field(default_factory=set)
    """Entries named `.git`, which are not listed, and folders with the layout of a git directory,
    which are."""
    settled_before: int = 0
    """Time in nanoseconds; a file that changed later may have changed again since."""
    watch: FolderWatch | None = None
    """Watches each folder while it is listed."""


_newest: weakref.WeakKeyDictionary[FolderWatch, tuple[int, Listing]] = weakref.WeakKeyDictionary()
"""The newest listing by the watch of its folders, with the count of changes before it."""


def list_workspace(
    root: Path,
    own_folder: Path,
    watch: FolderWatch,
    limit: float | None = None,
    *,
    is_fresh: bool = False,
) -> Listing:
    """List a workspace, except for repositories' `.git`, caches and our own folders. Blocking.

    If the kernel reports no change since the newest listing, that one is returned.

    Args:
        root: the workspace.
        own_folder: a folder that is not listed.
        watch: begins to watch each folder before it is listed.
        limit: the maximum number of files and folders [default: `MAX_FILES`].
        is_fresh: list it anyway, since a program can change a mapped file without a report.

    Raises:
        TooManyFilesError: the workspace has too many entries.
        OSError: the root cannot be read.
    """
    limit = MAX_FILES if limit is None else limit
    changes = watch.count()
    listing = Listing(settled_before=time.time_ns() - _TICK, watch=watch)
    if own_folder.is_relative_to(root):
        listing.excluded.add(str(own_folder.relative_to(root)))
    listed_at, newest = _newest.get(watch, (-1, listing))
    if listed_at == changes and newest.excluded == listing.excluded and not is_fresh:
        if len(newest.files) + len(newest.folders) > limit:
            raise TooManyFilesError
        return newest
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _list_folder(descriptor, "", listing, limit)
    finally:
        os.close(descriptor)
    listing.watch = None
    _newest[watch] = (changes, listing)
    return listing


def list_paths(root: Path, paths: Collection[str]) -> Listing:
    """List some files, folders and links of a workspace, and the folders that contain them.

    Blocking. A path that ends with a slash includes everything below.
    """
    listing = Listing(settled_before=time.time_ns() - _TICK)
    pending = {parent for path in paths for parent in path_and_parents(path.rstrip("/"))}
    for path in sorted(pending):
        # it may not exist
        with contextlib.suppress(OSError), enter((root / path).parent) as at:
            _list_entry(path, at, listing, is_deep=f"{path}/" in paths)
    return listing


def _list_entry(path: str, at: int, listing: Listing, *, is_deep: bool) -> None:
    """List one path without its contents, unless `is_deep`; `at` is its folder."""
    *parents, name = path.split("/")
    if name == REPOSITORY or not listing.excluded.isdisjoint((path, *parents[:1])):
        return
    if any(part in CACHES or part == REPOSITORY for part in parents):
        return
    status = os.stat(name, dir_fd=at, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        _add_file(path, status, listing)
        return
    if name in CACHES:
        listing.skipped[path] = CACHE
        return
    descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=at)
    try:
        listing.folders[path] = stat.S_IMODE(status.st_mode)
        if is_deep:
            _list_folder(descriptor, f"{path}/", listing, MAX_FILES)
        else:
            with os.scandir(descriptor) as entries:
                listing.occupied.update(path for _ in entries)
    finally:
        os.close(descriptor)


def _add_file(path: str, status: os.stat_result, listing: Listing) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if status.st_nlink > 1 and listing.watch is not None:
        listing.watch.give_up()  # a change under a name outside the workspace is not reported
    if kind == stat.S_IFREG and status.st_size > MAX_FILE_BYTES:
        listing.skipped[path] = f"larger than {MAX_FILE_BYTES // 2**20} MB"
    elif kind in (stat.S_IFREG, stat.S_IFLNK):
        listing.files[path] = Status.of(status)
    else:
        listing.skipped[path] = "not a file, folder or link"


def _list_folder(descriptor: int, prefix: str, listing: Listing, limit: float) -> None:
    """List a folder. Most of a listing's time is spent in this loop."""
    files = listing.files
    is_empty = True
    if listing.watch is not None and len(listing.folders) > MAX_FILES:
        listing.watch.give_up()  # the user may have as many watches as that
    elif listing.watch is not None:
        listing.watch.add(descriptor)
    with os.scandir(descriptor) as entries:
        for entry in entries:
            is_empty = False
            path = prefix + entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    _list_subfolder(entry, descriptor, path, listing, limit)
                    continue
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it has just been deleted
                continue
            except OSError as error:
                listing.skipped[path] = error.strerror or "unreadable"
                continue
            if entry.name == REPOSITORY:
                listing.repositories.add(path)
                continue
            _add_file(path, status, listing)
            if len(files) + len(listing.folders) > limit:
                raise TooManyFilesError
    if f"{prefix}HEAD" in files and _is_git_directory(prefix, listing):
        listing.repositories.add(prefix[:-1])
    if prefix and not is_empty:
        listing.occupied.add(prefix[:-1])


def _is_git_directory(prefix: str, listing: Listing) -> bool:
    """Return whether git considers a folder with a file `HEAD` to be a repository."""
    has_data = f"{prefix}objects" in listing.folders and f"{prefix}refs" in listing.folders
    return has_data or f"{prefix}commondir" in listing.files


def _list_subfolder(
    entry: os.DirEntry[str], parent: int, path: str, listing: Listing, limit: float
) -> None:
    if path in listing.excluded:
        return
    if entry.name == REPOSITORY:
        listing.repositories.add(path)
        return
    if path.count("/") > _MAX_DEPTH:
        listing.skipped[path] = "nested too deeply"
        return
    if entry.name in CACHES:
        listing.skipped[path] = CACHE
        return
    mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
    descriptor = os.open(entry.name, _FOLDER_FLAGS, dir_fd=parent)
    listing.folders[path] = mode
    try:
        _list_folder(descriptor, f"{path}/", listing, limit)
    finally:
        os.close(descriptor)
