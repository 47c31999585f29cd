"""Pictures of the browser at the steps of a thread: files beside its archive, each once."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path

from manus.config.files import make_private_folder, write_atomically

_FOLDER = "pictures"
_NAME = re.compile(r"[\w-][\w.-]*/[0-9a-f]{32}\.jpg")


def picture_folder(archive: Path) -> Path:
    """Return the folder with the pictures of the thread that has this archive."""
    return archive.parent.parent / _FOLDER / archive.stem


def keep_picture(archive: Path, data: bytes) -> str:
    """Store a picture and return its name in the records of the workspace; empty on failure.

    Blocking. A run does not fail because a picture of it cannot be stored.
    """
    folder = picture_folder(archive)
    file = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.jpg"
    with contextlib.suppress(OSError):
        if not file.exists():
            make_private_folder(folder)
            write_atomically(file, data, 0o600)
        return f"{folder.name}/{file.name}"
    return ""


def read_picture(records: Path, name: str) -> bytes | None:
    """Return a stored picture; None if it does not exist. Blocking."""
    if not _NAME.fullmatch(name):
        return None
    with contextlib.suppress(OSError):
        return (records / _FOLDER / name).read_bytes()
    return None
