"""Reading JSON whose quotes or signs are typographic: `{“path”： ‘a’}`, as CJK keyboards write it.

Such a quote stands for a straight one where a text begins or ends, and is a letter like any other
inside a text: which of the two it is has to be beyond doubt. A text that began with a typographic
quote ends at the first one that may end it; it holds no other quote behind which a text could end.
In a text between straight quotes they mean themselves.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, NoReturn

from manus.models.json_numbers import finite, whole

_DOUBLE, _SINGLE = '"“”„‟«»＂', "'‘’‚‛‹›＇"
_ENDS = {
    '"': '"',
    "'": "'",
    "＂": "＂",
    "＇": "＇",
    **dict.fromkeys("“”„‟", "“”‟"),
    **dict.fromkeys("‘’‚‛", "‘’‛"),
    **dict(zip("«»‹›", "»«›‹", strict=True)),
}
"""Where a text that began with a quote ends."""
_STRAIGHT = "\"'"
_WIDE = dict(zip("｛｝［］：，", "{}[]:,", strict=True))
_BEFORE_SIGN = re.compile(r"\s*[{}\[\]:,｛｝［］：，]")
_PLAIN = re.compile(rf"[^\\{_DOUBLE}{_SINGLE}]*")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_WORD = re.compile(r"[A-Za-z]+|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(r'\\(?:["\\nrtbf]|u[0-9a-fA-F]{4})')
_ESCAPES = re.compile(rf"(?:{_ESCAPE.pattern})+|\\'")
_FRENCH = "«»‹›"
"""Quotes that stand apart from what they enclose, where a typesetter puts them."""
_ASCII_SPACE = " \t\r\n"

TYPOGRAPHIC = frozenset(_DOUBLE + _SINGLE) - set(_STRAIGHT) | _WIDE.keys()
"""Signs that stand for others where JSON has signs."""


class NoReadingError(ValueError):
    """The text is no JSON with typographic signs, or could mean more than one thing."""


def typographic(text: str) -> Any:
    """The value of such a text.

    Raises:
        NoReadingError: it is cut off, is ordinary JSON, or could mean more than one thing.
        RecursionError: it is nested too deeply.
    """
    reader = _Reader(text)
    value = reader.value()
    reader.end()
    if not isinstance(value, dict | list):
        raise NoReadingError(text)
    return value


class _Reader:
    """Reads one value from the beginning of a text to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found = False
        """Whether a sign was met that ordinary JSON has not."""
        self._pairs: dict[str, str] = {}
        """The typographic quotes around texts, by their family: one pair of each."""
        self._held: set[str] = set()
        """Families of the typographic quotes behind which a straight text could have ended."""

    def end(self) -> None:
        """See that nothing follows, and that all was beyond doubt."""
        self._skip()
        if self._at < len(self._text) or not self._found or self._held & self._pairs.keys():
            self._fail()

    def value(self) -> Any:
        sign = self._next()
        if sign == "{":
            return self._object()
        if sign == "[":
            return self._list()
        if sign in _ENDS:
            return self._string()
        word = _WORD.match(self._text, self._at)
        if word is None:
            self._fail()
        self._at = word.end()
        return _WORDS[word[0]] if word[0] in _WORDS else self._number(word[0])

    def _number(self, digits: str) -> Any:
        return json.loads(digits, parse_int=whole, parse_float=finite)

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._take("{")
        while self._next() != "}":
            if found:
                self._take(",")
            name = self._string() if self._next() in _ENDS else self._fail()
            self._take(":")
            if name in found:
                self._fail()
            found[name] = self.value()
        self._take("}")
        return found

    def _list(self) -> list[Any]:
        found: list[Any] = []
        self._take("[")
        while self._next() != "]":
            if found:
                self._take(",")
            found.append(self.value())
        self._take("]")
        return found

    def _string(self) -> str:
        quote = self._text[self._at]
        ends, family = _ENDS[quote], _DOUBLE if quote in _DOUBLE else _SINGLE
        self._at += 1
        begin = self._at
        while (sign := self._plain()) not in ends:
            if sign == "\\":
                self._escape(quote)
                continue
            self._at += 1
            if sign in family:
                self._inside(sign, quote, family)
        said = self._text[begin : self._at]
        self._at += 1
        if quote not in _STRAIGHT:
            self._found = True
            self._check_pair(quote + sign, family, said)
        return _ESCAPES.sub(_meaning, said)

    def _plain(self) -> str:
        """The next sign of a text that may mean more than itself."""
        plain = _PLAIN.match(self._text, self._at)
        self._at = plain.end() if plain is not None else self._at
        return self._sign()

    def _check_pair(self, pair: str, family: str, said: str) -> None:
        """Whoever writes typographic quotes writes the same ones; another is one of a text."""
        if self._pairs.setdefault(family, pair) != pair:
            self._fail()
        if pair[0] in _FRENCH and said != said.strip():
            self._fail()  # whether the spaces belong to it, nobody knows

    def _inside(self, sign: str, quote: str, family: str) -> None:
        """A quote in a text that does not end it; if it could, there is another reading."""
        if _BEFORE_SIGN.match(self._text, self._at) is None:
            return
        if quote in _STRAIGHT and sign not in _STRAIGHT:
            self._held.add(family)
        else:
            self._fail()

    def _escape(self, quote: str) -> None:
        """One that means the same whoever reads it; before another quote it could mean two."""
        escape = _ESCAPE.match(self._text, self._at)
        if escape is not None:
            self._at = escape.end()
        elif quote == "'" and self._text.startswith("\\'", self._at):
            self._at += 2
        else:
            self._fail()

    def _next(self) -> str:
        """The sign that comes next, as JSON has it; spaces before it are skipped."""
        self._skip()
        sign = self._sign()
        return _WIDE.get(sign, sign)

    def _take(self, sign: str) -> None:
        if self._next() != sign:
            self._fail()
        self._found = self._found or self._text[self._at] != sign
        self._at += 1

    def _skip(self) -> None:
        while self._at < len(self._text) and _is_space(self._text[self._at]):
            self._found = self._found or self._text[self._at] not in _ASCII_SPACE
            self._at += 1

    def _sign(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else self._fail()

    def _fail(self) -> NoReturn:
        raise NoReadingError(self._text)


def _is_space(sign: str) -> bool:
    return sign in _ASCII_SPACE or unicodedata.category(sign) == "Zs" or sign in "\ufeff\u200b"


def _meaning(escapes: re.Match[str]) -> str:
    """What escapes mean; together, since two of them can be one character."""
    return "'" if escapes[0] == "\\'" else str(json.loads(f'"{escapes[0]}"'))
