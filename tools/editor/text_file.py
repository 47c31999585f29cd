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
# One byte a character, each with a place of its own: what was read is written back as it was.
_OLD = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
_CONTROL = bytes(set(range(32)) - set(b"\b\t\n\f\r\x1b")) + b"\x7f"
_MOST_CONTROL = 0.03
"""Share of control characters above which bytes that are no UTF-8 are no text either."""


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
        name = _OLD.get(self.encoding, self.encoding.upper())
        if self.mark:
            return f"{name} with a byte order mark"
        return "" if self.encoding == "utf-8" else name


def decode(data: bytes) -> TextFile | None:
    """The text that the bytes are, or None if they are no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding)
    if b"\0" in data:
        return None
    try:
        return TextFile(data.decode())
    except UnicodeDecodeError:
        return _old(data)


def _marked(data: bytes, mark: bytes, encoding: str) -> TextFile | None:
    try:
        text = data.removeprefix(mark).decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else TextFile(text, encoding, mark)


def _old(data: bytes) -> TextFile | None:
    controls = len(data) - len(data.translate(None, _CONTROL))
    if controls > len(data) * _MOST_CONTROL:
        return None
    try:
        return TextFile(data.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:
        return TextFile(data.decode("latin-1"), "latin-1")
