"""Write files atomically, and find the folders for the program's own data."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import logging
import os
import re
import select
import stat
import tempfile
from pathlib import Path
from typing import Any

log = logging.getLogger("manus")

_MAX_LINKS = 40
_NO_READER = "It is not a regular file, and no program reads from it"
_WRITE_TIMEOUT = 10.0
"""Seconds to wait for a pipe that accepts no data, where a program must not wait forever."""


def make_private_folder(folder: Path) -> None:
    """Create a folder, and its parents, with mode 0700. Blocking.

    Existing folders are not changed.

    Raises:
        OSError: the folder cannot be created.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create an empty file with mode 0600 if it does not exist. Blocking.

    Raises:
        OSError: the file cannot be created.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def data_folder() -> Path:
    """Return the folder of the threads, and of the key for their records."""
    from platformdirs import user_data_path

    return _or_temporary(Path(os.path.realpath(user_data_path("manus", appauthor=False))), "data")


def state_folder() -> Path:
    """Return the folder of the records of runs, and of the user's earlier answers."""
    from platformdirs import user_state_path

    return _or_temporary(Path(os.path.realpath(user_state_path("manus", appauthor=False))), "state")


def _or_temporary(folder: Path, name: str) -> Path:
    """Return the folder, or a private temporary one if it cannot be created.

    A first run thus works in a read-only home, as in many containers. An existing folder is always
    used, since it may contain threads.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    is_read_only = nearest.is_dir() and not os.access(nearest, os.W_OK | os.X_OK)
    if nearest == folder or not is_read_only:
        return folder
    return _temporary_folder(nearest) / name


@functools.cache
def _temporary_folder(home: Path) -> Path:
    """Return a private temporary folder that replaces a read-only home. Blocking."""
    temporary = Path(os.path.realpath(tempfile.gettempdir()))
    folder = temporary / f"manus-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    is_private = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 == 0
    if not is_private or status.st_uid != os.getuid():  # another user may have created it
        folder = Path(tempfile.mkdtemp(prefix="manus-"))
    log.warning(
        "%s is read-only: threads and records are kept in %s, which is temporary. Set "
        "XDG_DATA_HOME and XDG_STATE_HOME to keep them elsewhere.",
        home,
        folder,
    )
    return folder


def read_record(name: str) -> dict[str, Any]:
    """Return a record of the user's earlier answers; empty if there is none. Blocking."""
    try:
        record = json.loads(_record_path(name).read_text("utf-8"))
    except (OSError, ValueError):  # missing or damaged: the user is asked again
        return {}
    return record if isinstance(record, dict) else {}


def write_record(name: str, record: dict[str, Any]) -> None:
    """Store a record of the user's answers in the state folder. Blocking.

    Raises:
        OSError: the file cannot be written.
    """
    path = _record_path(name)
    make_private_folder(path.parent)
    write_atomically(path, json.dumps(record, indent=1).encode(), 0o600)


def _record_path(name: str) -> Path:
    return state_folder() / f"{name}.json"


def write_atomically(
    path: Path,
    data: bytes,
    mode: int | None = None,
    at: int | None = None,
    *,
    keep_mode: bool = True,
) -> None:
    """Replace a file atomically: even after a crash, it has either the old or the new content.

    An existing file keeps its owner, and its mode with `keep_mode`; a new file gets `mode`, or the
    default of the umask. Nobody else can read the content before the mode is set.

    Only a regular file is replaced. A symbolic link stays, and its target is replaced. A pipe, a
    device and a link to a descriptor such as `/dev/stdout` are written to directly.

    With `at`, the descriptor of a folder, `path` is a name in it, no link is followed, and a pipe
    is written to only if a program reads from it. Blocking.

    Raises:
        OSError: the file cannot be written; nothing has changed.
    """
    if at is None:
        descriptor = own_descriptor(path)
        if descriptor is not None:
            _write_all(os.dup(descriptor), data)
            return
    old_status = _read_status(path, at)
    if old_status is not None and is_stream(old_status):
        _write_to_stream(path, data, at)
        return
    if at is None:
        path = Path(os.path.realpath(path))
    temporary_path = path.with_name(f"{_name_prefix(path.name)}{os.urandom(4).hex()}.tmp")
    first_mode = 0o666 if old_status is None and mode is None else 0o600
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary_path, flags, first_mode, dir_fd=at)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            _set_owner_and_mode(descriptor, old_status, mode, keep_mode=keep_mode)
        os.replace(temporary_path, path, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary_path, dir_fd=at)
        raise


def is_temporary(name: str, target: str) -> bool:
    """Return whether a file is what a killed `write_atomically` to `target` left behind."""
    prefix = _name_prefix(target)
    return name.startswith(prefix) and bool(re.fullmatch(r"[0-9a-f]{8}\.tmp", name[len(prefix) :]))


def _name_prefix(target: str) -> str:
    return f".{target[:100]}."


def _set_owner_and_mode(
    descriptor: int, old_status: os.stat_result | None, mode: int | None, *, keep_mode: bool
) -> None:
    """Give a new file the owner and, with `keep_mode`, the mode of the file that it replaces."""
    if old_status is not None:
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.fchown(descriptor, old_status.st_uid, old_status.st_gid)
        if keep_mode:
            mode = stat.S_IMODE(old_status.st_mode)
    if mode is not None:
        os.fchmod(descriptor, mode)  # after chown, which removes set-id bits


def is_regular(path: Path) -> bool:
    """Return whether a path leads to a regular file that `write_atomically` would replace."""
    return path.is_file() and own_descriptor(path) is None


def is_stream(status: os.stat_result) -> bool:
    """Return whether a file is a pipe, a socket or a device: written to, never replaced."""
    return not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def own_descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that a path such as `/dev/stdout` names, or None.

    Opening such a path again would start at the beginning of the file that it is redirected to.
    """
    folders = (Path(os.path.realpath("/proc/self/fd")), Path("/dev/fd"))
    for _ in range(_MAX_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if path.parent in folders and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _read_status(path: Path, at: int | None) -> os.stat_result | None:
    """Return the status of a file; None if there is none, or if it is a link in the folder `at`."""
    try:
        status = os.stat(path, dir_fd=at, follow_symlinks=at is None)
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(status.st_mode) else status


def _write_to_stream(path: Path, data: bytes, at: int | None) -> None:
    """Write to a pipe or device without replacing it."""
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
    _write_all(descriptor, data, timeout=_WRITE_TIMEOUT)


def _write_all(descriptor: int, data: bytes, *, timeout: float | None = None) -> None:
    """Write all data, and close the descriptor.

    Raises:
        TimeoutError: no data was accepted for `timeout` seconds.
    """
    rest = memoryview(data)
    writable = select.poll()
    writable.register(descriptor, select.POLLOUT)
    try:
        while rest:
            if not writable.poll(None if timeout is None else timeout * 1000):
                raise TimeoutError(errno.ETIMEDOUT, _NO_READER)
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
