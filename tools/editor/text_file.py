"""Bytes as text and back, without losing one: encoding, byte order mark and line ends are kept."""

from __future__ import annotations

import codecs
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_OLD = (
    *("cp1252", "cp1251", "cp1250", "cp1253", "cp1256", "koi8_r", "latin_1"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""What files that are no Unicode are written in, the commonest first."""


class TextFile(NamedTuple):
    """The text of a file, and how its bytes are made of it."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark it begins with, if it has one."""

    def encoded(self, text: str) -> bytes:
        """Another text in the same form.

        Raises:
            UnicodeEncodeError: the encoding has no place for one of its characters.
        """
        return self.mark + text.encode(self.encoding)

    def form(self) -> str:
        """The encoding in words; empty for plain UTF-8."""
        if self.mark:
            return f"{self.encoding.upper()} with a byte order mark"
        return "" if self.encoding == "utf-8" else self.encoding


def decode(data: bytes) -> TextFile | None:
    """The text that the bytes are, or None if they are no text."""
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
        file = TextFile(data.removeprefix(mark).decode(encoding), encoding, mark)
        return file if "\0" not in file.text and file.encoded(file.text) == data else None
    except UnicodeError:
        return None
