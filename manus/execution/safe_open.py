"""Files opened so that no link is followed on the way: what is met is what the path says.

A path is real when it comes here: `Workspace` has followed its links and found it inside. A program
of the model's can put a link in place of a folder a moment later. So each folder on the way is
opened from the one above it, as nothing but a folder, and a swap ends in an `OSError`. This works
on every system; `openat2` would need it beside itself where the kernel has none. All of it is
blocking.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from manus.config.files import write_atomically

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LAST = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # nobody is waited for
_PRIVATE = 0o700


@contextmanager
def enter(folder: Path, make: int | None = None) -> Iterator[int]:
    """A folder's descriptor, to be used as `dir_fd`; with `make`, missing ones get that mode.

    Raises:
        OSError: it is not there, or something on the way is no folder.
    """
    at = os.open(folder.anchor, _FOLDER)
    try:
        for name in folder.parts[1:]:
            below = _below(at, name, make)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _below(at: int, name: str, make: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except FileNotFoundError:
        if make is None:
            raise
    with contextlib.suppress(FileExistsError):  # somebody else was quicker
        os.mkdir(name, make, dir_fd=at)
    return os.open(name, _FOLDER, dir_fd=at)


def open_at(path: Path, flags: int = os.O_RDONLY, mode: int = 0, make: int | None = None) -> int:
    """As `os.open`; with `make`, missing folders get that mode.

    Raises:
        OSError: it cannot be opened, or is a link.
    """
    with enter(path.parent, make) as at:
        return os.open(path.name, flags | _LAST, mode, dir_fd=at)


def look_at(path: Path) -> os.stat_result | None:
    """What is known of a file or folder; None if it is not there, or is a link.

    Raises:
        OSError: its folder cannot be searched.
    """
    try:
        with enter(path.parent) as at:
            about = os.stat(path.name, dir_fd=at, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if stat.S_ISLNK(about.st_mode) else about


def is_folder(path: Path) -> bool:
    """Whether there is a folder of that path."""
    about = look_at(path)
    return about is not None and stat.S_ISDIR(about.st_mode)


def open_file(path: Path) -> BinaryIO:
    """A regular file, to be read.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    return os.fdopen(_regular(open_at(path)), "rb")


def open_own(path: Path) -> BinaryIO:
    """A record, made if it is missing: a regular file of one's own that only oneself can read.

    It is unbuffered, to be read and appended to.

    Raises:
        OSError: it cannot be opened, is something else, or belongs to somebody else.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    descriptor = _regular(open_at(path, flags, 0o600, _PRIVATE))
    about = os.fstat(descriptor)
    if about.st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "It belongs to somebody else")
    if about.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab+", buffering=0)


def _regular(descriptor: int) -> int:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "It is no regular file")


def write_file(path: Path, data: bytes, mode: int | None = None, *, folders: int = 0o777) -> None:
    """`write_atomically`, with the folders it needs, which get that mode.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    with enter(path.parent, folders) as at:
        write_atomically(Path(path.name), data, mode, at)


def write_private(path: Path, data: bytes) -> None:
    """As `write_file`, for what only its user may read."""
    write_file(path, data, 0o600, folders=_PRIVATE)


def remove(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        OSError: it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError), enter(path.parent) as at:
        os.unlink(path.name, dir_fd=at)
