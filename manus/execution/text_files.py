"""Read and replace whole files of the workspace, and decode and encode their text.

Encoding, byte order mark and line endings are preserved. All functions are blocking.
"""

from __future__ import annotations

import codecs
import mimetypes
import os
from pathlib import Path
from typing import NamedTuple

from manus.config.files import write_atomically
from manus.execution.safe_open import enter, look_at, open_file
from manus.state.errors import ToolError

MAX_BYTES = 32 * 2**20
"""Maximum size of a file, in bytes."""
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LEGACY_ENCODINGS = (
    *("cp1252", "cp1251", "cp1250", "cp1253", "cp1256", "koi8_r", "latin_1"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""Encodings of files that are not in Unicode, the most common first."""


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


class TextFile(NamedTuple):
    """The text of a file, and how it is encoded."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark, if the file has one."""
    line_end: str = "\n"
    """CRLF if every line of the file ends with it, otherwise a line feed."""

    def encoded(self, text: str) -> bytes:
        """Encode another text in the same way.

        Raises:
            UnicodeEncodeError: the encoding lacks one of its characters.
        """
        return self.mark + text.replace("\n", self.line_end).encode(self.encoding)

    def typed(self, text: str) -> str:
        """Convert a text from the model to the line endings of this file."""
        return text.replace(self.line_end, "\n")

    def form(self) -> str:
        """Describe the encoding; empty for plain UTF-8."""
        if self.mark:
            return f"{self.encoding.upper()} with a byte order mark"
        return "" if self.encoding == "utf-8" else self.encoding


def as_text(label: str, data: bytes) -> TextFile:
    """Decode the text of a file.

    Raises:
        ToolError: the file is binary; the message gives its type and size.
    """
    mime = image_type(data)
    # the beginning of a PDF may look like text
    file = None if mime or data.startswith(b"%PDF-") else _decode(data)
    if file is None:
        kind = mime or mimetypes.guess_type(label)[0] or "unknown type"
        raise ToolError(
            f"{label} is a binary file ({kind}, {len(data):,} bytes), "
            "which cannot be shown or edited as text; use a program that supports its format."
        )
    return file


def _decode(data: bytes) -> TextFile | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_exactly(data, encoding, mark)
    if b"\0" in data:
        return None
    return _decode_exactly(data, "utf-8") or _guess_encoding(data)


def _guess_encoding(data: bytes) -> TextFile | None:
    from charset_normalizer import from_bytes  # imported late: most files are UTF-8

    best = from_bytes(data, cp_isolation=list(_LEGACY_ENCODINGS)).best()
    if best is None:
        return None
    # several may decode to the same text; use the most common one
    return _decode_exactly(data, min(best.could_be_from_charset, key=_LEGACY_ENCODINGS.index))


def _decode_exactly(data: bytes, encoding: str, mark: bytes = b"") -> TextFile | None:
    """Decode bytes; return None unless the text encodes back to the same bytes."""
    try:
        text = data.removeprefix(mark).decode(encoding)
        line_end = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
        file = TextFile(text.replace(line_end, "\n"), encoding, mark, line_end)
        return file if "\0" not in file.text and file.encoded(file.text) == data else None
    except UnicodeError:
        return None
