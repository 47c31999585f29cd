"""Open files without following symbolic links in any part of the path (TOCTOU protection).

Paths are already resolved: `Workspace` has followed their links and checked that they are inside.
But a program of the model could replace a folder with a link a moment later. So each folder of the
path is opened relative to its parent, and only as a folder; a swap results in an `OSError`. This
works on every system; `openat2` would need this as a fallback for old kernels. All functions are
blocking.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, Protocol

from manus.config.files import write_atomically

_FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # never blocks
_PRIVATE = 0o700


class PathObserver(Protocol):
    """Receives the paths of files, relative to a folder, before they change."""

    def note(self, path: str, /) -> None:
        """Note a path."""


_observed: ContextVar[tuple[Path, PathObserver] | None] = ContextVar("observed", default=None)


@contextmanager
def observe_writes(folder: Path, observer: PathObserver) -> Iterator[None]:
    """Report to the observer what this module writes in a folder for the length of the block."""
    token = _observed.set((folder, observer))
    try:
        yield
    finally:
        _observed.reset(token)


def _note_write(path: Path) -> None:
    observed = _observed.get()
    if observed is not None and path.is_relative_to(observed[0]):
        observed[1].note(str(path.relative_to(observed[0])))


@contextmanager
def enter(folder: Path, make: int | None = None) -> Iterator[int]:
    """Open a folder and yield its descriptor for `dir_fd`; create missing folders with mode `make`.

    Raises:
        OSError: the folder does not exist, or a part of the path is not a folder.
    """
    at = os.open(folder.anchor, _FOLDER_FLAGS)
    try:
        for name in folder.parts[1:]:
            child = _open_child(at, name, make)
            os.close(at)
            at = child
        yield at
    finally:
        os.close(at)


def _open_child(at: int, name: str, make: int | None) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=at)
    except FileNotFoundError:
        if make is None:
            raise
    with contextlib.suppress(FileExistsError):  # created concurrently
        os.mkdir(name, make, dir_fd=at)
    return os.open(name, _FOLDER_FLAGS, dir_fd=at)


def open_at(path: Path, flags: int = os.O_RDONLY, mode: int = 0, make: int | None = None) -> int:
    """Open a file like `os.open`; create missing folders with mode `make`.

    Raises:
        OSError: the file cannot be opened, or is a link.
    """
    if flags & (os.O_WRONLY | os.O_RDWR):
        _note_write(path)
    with enter(path.parent, make) as at:
        return os.open(path.name, flags | _OPEN_FLAGS, mode, dir_fd=at)


def look_at(path: Path) -> os.stat_result | None:
    """Return the status of a file or folder; None if it does not exist or is a link.

    Raises:
        OSError: its folder cannot be searched.
    """
    try:
        with enter(path.parent) as at:
            status = os.stat(path.name, dir_fd=at, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if stat.S_ISLNK(status.st_mode) else status


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder."""
    status = look_at(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def list_names(folder: Path) -> list[str]:
    """Return the sorted names of the entries of a folder.

    Raises:
        OSError: the folder cannot be read.
    """
    with enter(folder) as at:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    try:
        with os.scandir(descriptor) as scan:
            return sorted(entry.name for entry in scan)
    finally:
        os.close(descriptor)


def list_sizes(folder: Path) -> dict[str, int]:
    """Return the size of each file in a folder; empty if the folder cannot be read."""
    sizes = {}
    with contextlib.suppress(OSError), enter(folder) as at, os.scandir(f"/proc/self/fd/{at}") as scan:
        for entry in scan:
            with contextlib.suppress(FileNotFoundError):
                sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
    return sizes


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    return os.fdopen(_require_regular(open_at(path)), "rb")


def open_record(path: Path) -> BinaryIO:
    """Open a record for reading and appending, unbuffered; create it if it is missing.

    A record is a regular file that only its owner can read.

    Raises:
        OSError: the file cannot be opened, is not a regular file, or has another owner.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    descriptor = _require_regular(open_at(path, flags, 0o600, _PRIVATE))
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "It has another owner")
    if status.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab+", buffering=0)


def _require_regular(descriptor: int) -> int:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "It is not a regular file")


def write_file(path: Path, data: bytes, mode: int | None = None, *, folders: int = 0o777) -> None:
    """Write a file atomically; create missing folders with mode `folders`.

    Raises:
        OSError: the file cannot be written; nothing has changed.
    """
    _note_write(path)
    with enter(path.parent, folders) as at:
        write_atomically(Path(path.name), data, mode, at)


def write_private(path: Path, data: bytes) -> None:
    """Write a file atomically that only its owner can read."""
    write_file(path, data, 0o600, folders=_PRIVATE)


def make_accessible(path: Path) -> None:
    """Give the owner of a file or folder all permissions; links are not followed.

    Raises:
        OSError: it does not exist, is a link, or has another owner.
    """
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    with enter(path.parent) as at:
        descriptor = os.open(path.name, flags, dir_fd=at)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode) | _PRIVATE
        os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101 - of the open file
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, if it exists.

    Raises:
        OSError: the file cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError), enter(path.parent) as at:
        os.unlink(path.name, dir_fd=at)
