"""The one way to write a file: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import logging
import os
import select
import stat
import tempfile
from pathlib import Path
from typing import Any

log = logging.getLogger("manus")

_MOST_LINKS = 40
_NO_READER = "It is no regular file, and no program reads from it"
_STALLED_SECONDS = 10.0
"""For which a pipe that takes no data is waited for, where a program must not wait for ever."""


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it, that only its user can look into. Blocking.

    One that is there is left as it is.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Make an empty file that only its user can read, if there is none. Blocking.

    Raises:
        OSError: it cannot be made.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def data_folder() -> Path:
    """Where threads are kept, and the key of their records."""
    from platformdirs import user_data_path

    return _or_temporary(Path(os.path.realpath(user_data_path("manus", appauthor=False))), "data")


def state_folder() -> Path:
    """Where records of runs are kept, and what a person has said earlier."""
    from platformdirs import user_state_path

    return _or_temporary(Path(os.path.realpath(user_state_path("manus", appauthor=False))), "state")


def _or_temporary(folder: Path, name: str) -> Path:
    """Return the folder, or a temporary one of the user's where it can never be made.

    So a first run works with a home that is read-only, as in many containers. A folder that exists
    is not passed over, since threads may be in it.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    is_in_the_way = not nearest.is_dir()
    if nearest == folder or is_in_the_way or os.access(nearest, os.W_OK | os.X_OK):
        return folder
    return _temporary_folder(nearest) / name


@functools.cache
def _temporary_folder(home: Path) -> Path:
    """Return the private folder of this user that stands in for a home. Blocking."""
    temporary = Path(os.path.realpath(tempfile.gettempdir()))
    folder = temporary / f"manus-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    is_private = stat.S_ISDIR(about.st_mode) and about.st_mode & 0o077 == 0
    if not is_private or about.st_uid != os.getuid():  # somebody else was there first
        folder = Path(tempfile.mkdtemp(prefix="manus-"))
    log.warning(
        "%s is read-only: threads and records are kept in %s, which is temporary. Set "
        "XDG_DATA_HOME and XDG_STATE_HOME to keep them elsewhere.",
        *(home, folder),
    )
    return folder


def read_record(name: str) -> dict[str, Any]:
    """What a person has said earlier, kept in their state folder; empty if nothing. Blocking."""
    try:
        said = json.loads(_record(name).read_text("utf-8"))
    except (OSError, ValueError):  # there is none, or it is damaged: people are asked again
        return {}
    return said if isinstance(said, dict) else {}


def write_record(name: str, said: dict[str, Any]) -> None:
    """Keep it. Blocking.

    Raises:
        OSError: it cannot be written.
    """
    file = _record(name)
    make_private_folder(file.parent)
    write_atomically(file, json.dumps(said, indent=1).encode(), 0o600)


def _record(name: str) -> Path:
    return state_folder() / f"{name}.json"


def write_atomically(
    path: Path,
    data: bytes,
    mode: int | None = None,
    at: int | None = None,
    *,
    keep_mode: bool = True,
) -> None:
    """Replace a file so that a reader, or a crash, meets the old or the new one, never a part.

    A file that is there keeps its owner, and its mode with `keep_mode`; a new one gets `mode`, or
    what the umask leaves. What is written can be read by nobody else before its mode is set.

    Only a regular file is replaced. A symbolic link stays, and the file that it leads to is
    replaced. A pipe, a device and a link to a descriptor such as `/dev/stdout` are written to.

    With `at`, the descriptor of a folder, `path` is a name in it, no link is followed, and a pipe
    is written to only if a program reads from it. Blocking.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    if at is None:
        descriptor = own_descriptor(path)
        if descriptor is not None:
            _write_all(os.dup(descriptor), data)
            return
    before = _replaced(path, at)
    if before is not None and is_stream(before):
        _write_through(path, data, at)
        return
    if at is None:
        path = Path(os.path.realpath(path))
    fresh = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}.tmp")
    first = 0o600 if before is not None or mode is not None else 0o666
    descriptor = os.open(
        fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, first, dir_fd=at
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if before is not None:
                _take_owner(descriptor, before)
            if before is not None and keep_mode:
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))  # chown takes set-id bits away
            elif mode is not None:
                os.fchmod(descriptor, mode)
        os.replace(fresh, path, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=at)
        raise


def is_regular(path: Path) -> bool:
    """Return whether a path leads to a regular file that `write_atomically` would replace."""
    return path.is_file() and own_descriptor(path) is None


def is_stream(about: os.stat_result) -> bool:
    """Return whether this is a pipe, a socket or a device: written to, never replaced."""
    return not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode))


def own_descriptor(path: Path) -> int | None:
    """Return the number of the open file of this process that a path names, such as `/dev/stdout`.

    Opening such a path again starts at the beginning of the file that a shell has redirected it to.
    """
    folders = (Path(os.path.realpath("/proc/self/fd")), Path("/dev/fd"))
    for _ in range(_MOST_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if path.parent in folders and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _replaced(path: Path, at: int | None) -> os.stat_result | None:
    """Return what is known of the file that is there, None if there is none."""
    try:
        about = os.stat(path, dir_fd=at, follow_symlinks=at is None)
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(about.st_mode) else about


def _take_owner(descriptor: int, before: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):  # only root may give a file away
        os.fchown(descriptor, before.st_uid, before.st_gid)


def _write_through(path: Path, data: bytes, at: int | None) -> None:
    """Write to a pipe or device as it is."""
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC
    if at is None:
        _write_all(os.open(path, flags), data)
        return
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ENXIO:  # "No such device or address" explains nothing
            raise OSError(errno.ENXIO, _NO_READER) from None
        raise
    _write_all(descriptor, data, patience=_STALLED_SECONDS)


def _write_all(descriptor: int, data: bytes, *, patience: float | None = None) -> None:
    """Write everything, and close the descriptor.

    Raises:
        TimeoutError: nothing was taken for `patience` seconds.
    """
    rest = memoryview(data)
    writable = select.poll()
    writable.register(descriptor, select.POLLOUT)
    try:
        while rest:
            if not writable.poll(None if patience is None else patience * 1000):
                raise TimeoutError(errno.ETIMEDOUT, _NO_READER)
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
