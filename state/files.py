"""The one way to write a file: whole, or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path
from typing import Any


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

    return Path(os.path.realpath(user_data_path("manus", appauthor=False)))


def state_folder() -> Path:
    """Where records of runs are kept, and what a person has said earlier."""
    from platformdirs import user_state_path

    return Path(os.path.realpath(user_state_path("manus", appauthor=False)))


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
    path: Path, data: bytes, mode: int | None = None, at: int | None = None
) -> None:
    """Replace a file so that a reader, or a crash, meets the old or the new one, never a part.

    A file that is there keeps its mode and owner; a new one gets `mode`, or what the umask leaves.
    What is written can be read by nobody else before its mode is set. With `at`, the descriptor of
    a folder, `path` is a name in it, and no link is followed. Blocking.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    before = _replaced(path, at)
    fresh = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}.tmp")
    first = 0o600 if before is not None or mode is not None else 0o666
    descriptor = os.open(
        fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, first, dir_fd=at
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if before is not None:
                _take_after(descriptor, before)
            elif mode is not None:
                os.fchmod(descriptor, mode)
        os.replace(fresh, path, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=at)
        raise


def _replaced(path: Path, at: int | None) -> os.stat_result | None:
    """The file that is there, if there is one."""
    try:
        about = os.stat(path, dir_fd=at, follow_symlinks=at is None)
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(about.st_mode) else about


def _take_after(descriptor: int, before: os.stat_result) -> None:
    with contextlib.suppress(PermissionError):  # only root may give a file away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))  # after chown, which takes set-id bits away
