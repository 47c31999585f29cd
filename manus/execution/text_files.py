"""Files of the workspace, read whole and replaced whole, and their bytes as text and back.

Encoding, byte order mark and line ends are kept. All of it is blocking.
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
"""Size of the largest file that is read, in bytes."""
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OLD = (
    *("cp1252", "cp1251", "cp1250", "cp1253", "cp1256", "koi8_r", "latin_1"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""What files that are no Unicode are written in, the commonest first."""


def read_file(path: Path, shown: str) -> bytes:
    """The bytes of a regular file that exists.

    Raises:
        ToolError: it is a folder, or too large.
        OSError: it cannot be read, or is a pipe, socket or device.
    """
    try:
        file = open_file(path)
    except IsADirectoryError:
        raise ToolError(f"{shown} is a folder; give the path of a file.") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise ToolError(
                f"{shown} has {size:,} bytes and only files of up to {MAX_BYTES:,} can be "
                "opened here; use commands such as `head`, `sed -n` and `grep` on it."
            )
        return file.read(MAX_BYTES)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash, meets the old or the new one, never a part.

    The folders it needs are made. Mode and owner stay those of the file that is replaced.

    Raises:
        ToolError: it is write-protected, or a file stands where a folder is needed.
        OSError: it cannot be written.
    """
    try:
        with enter(path.parent, make=0o777) as at:
            about = look_at(path)  # root may write to all, and is told of the mode as anybody is
            writable = about is None or (
                about.st_mode & 0o222 and os.access(path.name, os.W_OK, dir_fd=at)
            )
            if not writable:
                raise ToolError(
                    f"{path.name} is write-protected; change its mode first (`chmod u+w`)."
                )
            write_atomically(Path(path.name), data, at=at)
    except NotADirectoryError:
        folder = path.parent.name
        raise ToolError(
            f"{folder} cannot be a folder: a file stands in its way; choose another path."
        ) from None


def image_type(data: bytes) -> str | None:
    """The media type of a picture that models can be shown: png, jpeg, gif or webp; else None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), None)


class TextFile(NamedTuple):
    """The text of a file, and how its bytes are made of it."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark it begins with, if it has one."""
    line_end: str = "\n"
    """What stands for a line feed of the text: CRLF where every line of the file ends so."""

    def encoded(self, text: str) -> bytes:
        """Another text in the same form.

        Raises:
            UnicodeEncodeError: the encoding has no place for one of its characters.
        """
        return self.mark + text.replace("\n", self.line_end).encode(self.encoding)

    def typed(self, text: str) -> str:
        """What a model writes of it: lines of its text end with a line feed."""
        return text.replace(self.line_end, "\n")

    def form(self) -> str:
        """The encoding in words; empty for plain UTF-8."""
        if self.mark:
            return f"{self.encoding.upper()} with a byte order mark"
        return "" if self.encoding == "utf-8" else self.encoding


def as_text(shown: str, data: bytes) -> TextFile:
    """The text of a file.

    Raises:
        ToolError: it is binary; says what it is and how large.
    """
    mime = image_type(data)
    # a PDF may look like text at its beginning
    file = None if mime or data.startswith(b"%PDF-") else _decoded(data)
    if file is None:
        kind = mime or mimetypes.guess_type(shown)[0] or "unknown type"
        raise ToolError(
            f"{shown} is a binary file ({kind}, {len(data):,} bytes), "
            "which cannot be shown or edited as text; use a program that knows its format."
        )
    return file


def _decoded(data: bytes) -> TextFile | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _exactly(data, encoding, mark)
    if b"\0" in data:
        return None
    return _exactly(data, "utf-8") or _guessed(data)


def _guessed(data: bytes) -> TextFile | None:
    from charset_normalizer import from_bytes  # most files need none

    best = from_bytes(data, cp_isolation=list(_OLD)).best()
    if best is None:
        return None
    # several may read the same text from it; the first of ours has the commonest letters
    return _exactly(data, min(best.could_be_from_charset, key=_OLD.index))


def _exactly(data: bytes, encoding: str, mark: bytes = b"") -> TextFile | None:
    """The text, if it leads back to the same bytes."""
    try:
        text = data.removeprefix(mark).decode(encoding)
        line_end = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
        file = TextFile(text.replace(line_end, "\n"), encoding, mark, line_end)
        return file if "\0" not in file.text and file.encoded(file.text) == data else None
    except UnicodeError:
        return None
