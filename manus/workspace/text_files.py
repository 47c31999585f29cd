"""Read and replace whole files of the workspace. All functions are blocking."""

from __future__ import annotations

import contextlib
import mimetypes
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from manus.config.files import write_atomically
from manus.workspace.safe_open import enter, list_names, look_at, open_file
from manus.workspace.text_encoding import TextFile, decode
from manus.state.errors import ToolError

MAX_BYTES = 32 * 2**20
"""Maximum size of a file, in bytes."""
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_MAX_NEIGHBOURS = 50
_MAX_NEIGHBOUR_BYTES = 2**16
"""Limits of the files of a folder that are read to find the encoding of one of them."""


def read_file(path: Path, label: str) -> bytes:
    """Read a regular file.

    Raises:
        ToolError: the path is a folder, or the file is too large.
        OSError: the file cannot be read, or is a pipe, socket or device.
    """
    try:
        file = open_file(path)
    except IsADirectoryError:
        raise ToolError(f"{label} is a folder; give the path of a file.") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise ToolError(
                f"{label} has {size:,} bytes, more than the limit of {MAX_BYTES:,}; use commands "
                "such as `head`, `sed -n` and `grep`."
            )
        return file.read(MAX_BYTES)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically; create missing folders. Mode and owner are preserved.

    Raises:
        ToolError: the file is write-protected, or a part of its path is a file.
        OSError: the file cannot be written.
    """
    try:
        with enter(path.parent, make=0o777) as at:
            status = look_at(path)  # applies to root too, who could write anyway
            writable = status is None or (
                status.st_mode & 0o222 and os.access(path.name, os.W_OK, dir_fd=at)
            )
            if not writable:
                raise ToolError(
                    f"{path.name} is write-protected; change its mode first (`chmod u+w`)."
                )
            write_atomically(Path(path.name), data, at=at)
    except NotADirectoryError:
        folder = path.parent.name
        raise ToolError(
            f"Cannot create the folder {folder}: it is a file; choose another path."
        ) from None


def image_type(data: bytes) -> str | None:
    """Return the media type of an image that models accept (PNG, JPEG, GIF, WebP), or None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), None)


def as_text(label: str, data: bytes, path: Path | None = None) -> TextFile:
    """Decode the text of a file; other files in the folder of its `path` help to do so.

    Raises:
        ToolError: the file is binary; the message gives its type and size.
    """
    mime = image_type(data)
    neighbours = partial(_read_neighbours, path) if path else tuple
    # the beginning of a PDF may look like text
    file = None if mime or data.startswith(b"%PDF-") else decode(data, neighbours)
    if file is None:
        kind = mime or mimetypes.guess_type(label)[0] or "unknown type"
        raise ToolError(
            f"{label} is a binary file ({kind}, {len(data):,} bytes), "
            "which cannot be shown or edited as text; use a program that supports its format."
        )
    return file


def _read_neighbours(path: Path) -> Iterator[bytes]:
    """Yield the beginnings of other files in the folder, which end with a whole line."""
    with contextlib.suppress(OSError):
        for name in list_names(path.parent)[:_MAX_NEIGHBOURS]:
            with contextlib.suppress(OSError), open_file(path.parent / name) as file:
                data = file.read(_MAX_NEIGHBOUR_BYTES)
                yield data[: data.rfind(b"\n") + 1] if name != path.name else b""
