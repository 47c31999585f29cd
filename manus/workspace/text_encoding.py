"""Decide how the bytes of a text are encoded, and encode other text in the same way.

The evidence, the strongest first: a byte order mark, the pattern of NUL bytes, valid UTF-8, a
declaration in the first two lines, the statistics of the bytes. If these fit several encodings, the
one of the neighbouring files is taken, or the locale's.
"""

from __future__ import annotations

import codecs
import locale
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LEGACY_ENCODINGS = (
    *("cp1252", "cp1251", "cp1250", "cp1253", "cp1256", "koi8_r", "latin_1"),
    *("shift_jis", "cp932", "euc_jp", "gbk", "gb18030", "big5", "euc_kr", "cp949"),
)
"""Encodings of files that are not in Unicode, a subset before its superset."""
_DECLARATION = re.compile(
    rb"(?:.*\n)?[ \t\f]*(?:#.*?coding[:=]|<\?xml[^>]*encoding=)[ \t\"']*([-\w.]+)"
)
"""The encoding that a program (PEP 263) or an XML document names for itself."""
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_MIN_DIFFERENCE = 0.05
_EVIDENCE = 15
"""An encoding no longer fits if its share of unlikely characters is larger than the best one's by
`_MIN_DIFFERENCE`, or by `_EVIDENCE` characters: of few characters the share says little."""


class TextFile(NamedTuple):
    """The text of a file, and how it is encoded."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark, if the file has one."""
    line_end: str = "\n"
    """See `find_line_end`."""
    fitting: tuple[str, ...] = ()
    """The encodings that fit, if `encoding` is a guess; otherwise empty. Of several that decode
    the bytes to the same text only the first is listed."""

    def encoded(self, text: str) -> bytes:
        """Encode another text in the same way.

        Raises:
            UnicodeEncodeError: the encoding lacks one of its characters.
        """
        return self.mark + text.replace("\n", self.line_end).encode(self.encoding)

    def typed(self, text: str) -> str:
        """Convert a text from the model to the line endings of this file."""
        text = text.removeprefix("\ufeff") if self.mark else text
        return text.replace(self.line_end, "\n")

    def is_ambiguous(self, text: str) -> bool:
        """Return whether the encodings that fit would write the new words of a text differently."""
        words = set(_NON_ASCII.findall(text)) - set(_NON_ASCII.findall(self.text))
        new = "\n".join(words)
        forms = {_encode(new, encoding) for encoding in self.fitting} - {None}
        is_certain = len(self.fitting) <= 1 or forms == {_encode(new, self.encoding)}
        return bool(words) and not is_certain

    def form(self) -> str:
        """Describe the encoding; empty for plain UTF-8."""
        if self.mark:
            return f"{self.encoding.upper()} with a byte order mark"
        if self.fitting:
            return f"probably {self.encoding}, a guess"
        return "" if self.encoding == "utf-8" else self.encoding

    def facts(self) -> list[str]:
        """Describe the encoding and the line endings, as far as they are unusual."""
        crlf = "lines end with CRLF" if self.line_end == "\r\n" else ""
        return [fact for fact in (self.form(), crlf) if fact]


def decode(data: bytes, neighbours: Callable[[], Iterable[bytes]] = tuple) -> TextFile | None:
    """Decode a text, or return None if the bytes are none.

    `neighbours` returns the contents of files that are likely to have the same encoding; it is
    called only if the bytes themselves do not decide.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_exactly(data, encoding, mark)
    encodings = ["utf-8"]
    if declaration := _DECLARATION.match(data):
        encodings.append(declaration[1].decode("ascii", "replace"))
    if data.isascii():
        encodings.reverse()  # the declaration holds for what is added, too
    if b"\0" in data:
        encodings = ["utf-16-le", "utf-16-be"]
    for encoding in encodings:
        file = _decode_exactly(data, encoding)
        if file is not None and (b"\0" not in data or _is_readable(file.text)):
            return file
    return None if b"\0" in data else _guess(data, neighbours)


def find_line_end(text: str) -> str:
    """Return CRLF if every line ends with it, otherwise a line feed."""
    return "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"


def _is_readable(text: str) -> bool:
    """Return whether a text is printable, and most of its characters have a high byte of zero."""
    is_printable = all(character.isprintable() or character in "\t\n\r\f" for character in text)
    return is_printable and 2 * sum(character < "\u0100" for character in text) > len(text)


def _guess(data: bytes, neighbours: Callable[[], Iterable[bytes]]) -> TextFile | None:
    fitting = _find_fitting(data)
    if len(fitting) > 1:
        others = filter(None, map(decode, neighbours()))
        certain = {other.encoding for other in others if len(other.fitting) == 1}
        likely = [*certain] if len(certain) == 1 else []
        likely.append(codecs.lookup(locale.getencoding()).name)
        fitting = [name for name in likely if name in fitting][:1] or fitting
    file = _decode_exactly(data, fitting[0]) if fitting else None
    return file and file._replace(fitting=tuple(fitting))


def _find_fitting(data: bytes) -> list[str]:
    """Return the encodings that fit bytes which are not UTF-8, the most plausible first."""
    from charset_normalizer import from_bytes  # imported late: most files are UTF-8

    matches = list(from_bytes(data, cp_isolation=list(_LEGACY_ENCODINGS)))
    best = matches[0].chaos if matches else 0.0
    size = max(len(data.translate(None, bytes(range(128)))), 1)
    limit = best + max(_MIN_DIFFERENCE, _EVIDENCE / size)
    return [
        min(match.could_be_from_charset, key=_LEGACY_ENCODINGS.index)
        for match in matches
        if match.chaos <= limit
    ]


def _encode(text: str, encoding: str) -> bytes | None:
    try:
        return text.encode(encoding)
    except UnicodeError:
        return None


def _decode_exactly(data: bytes, encoding: str, mark: bytes = b"") -> TextFile | None:
    """Decode bytes; return None unless the text encodes back to the same bytes."""
    try:
        text = data.removeprefix(mark).decode(encoding)
        line_end = find_line_end(text)
        file = TextFile(text.replace(line_end, "\n"), encoding, mark, line_end)
        return file if "\0" not in file.text and file.encoded(file.text) == data else None
    except (UnicodeError, LookupError):
        return None
