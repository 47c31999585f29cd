"""Files of the workspace, read whole and replaced whole. All of it is blocking."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from manus.state.errors import ToolError
from manus.state.files import write_atomically

MAX_BYTES = 32 * 2**20
"""Size of the largest file that is read, in bytes."""


def read_file(path: Path, shown: str) -> bytes:
    """The bytes of a regular file that exists.

    Raises:
        ToolError: it is something else, or too large.
        OSError: it cannot be read.
    """
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise ToolError(f"{shown} is a folder; give the path of a file.")
    if not stat.S_ISREG(about.st_mode):
        # opening a pipe would wait for somebody to write into it
        raise ToolError(f"{shown} is no regular file but a pipe, socket or device.")
    if about.st_size > MAX_BYTES:
        raise ToolError(
            f"{shown} has {about.st_size:,} bytes and only files of up to {MAX_BYTES:,} can be "
            "opened here; use commands such as `head`, `sed -n` and `grep` on it."
        )
    return path.read_bytes()


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file so that a reader, or a crash, meets the old or the new one, never a part.

    Mode and owner stay those of the file that is replaced; `mode` is for one that is gone.

    Raises:
        ToolError: it is write-protected.
        OSError: it cannot be written.
    """
    if path.exists() and not os.access(path, os.W_OK):
        raise ToolError(f"{path.name} is write-protected; change its mode first (`chmod u+w`).")
    write_atomically(path, data, mode)


def make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were made, the outermost first.

    Raises:
        ToolError: a file stands where a folder is needed.
        OSError: one cannot be made.
    """
    above = (folder, *folder.parents)
    missing = [f for f in above if not f.exists()]
    if not (lowest := above[len(missing)]).is_dir():
        raise ToolError(
            f"{lowest.name} is a file, so nothing can lie below it; choose another path."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return list(reversed(missing))


def remove_folders(folders: list[Path]) -> None:
    """Remove folders that are empty, the innermost first; one that is in use stays."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()
