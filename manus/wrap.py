"""Breaking a text between words while it is still coming."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import combining

from rich.cells import cell_len as cells

_CODE = re.compile(r" {4}|\t|\s*\|")
"""How a line begins that means something as it stands: code, or the row of a table."""
_FENCE = re.compile(r"\s*(```+|~~~+)")
_BEGINNING = re.compile(r"(\s*)((?:[-*+>]|\d{1,3}[.)])\s+)?")
"""What the lines after the first are indented by: its own margin, and the mark of a list."""


def wrapped(text: str, width: int) -> str:
    """The text with its prose broken between words, where a line is longer than the width in cells.

    Code, tables and words that are longer than a line (addresses, paths) stay as they are, so that
    they can be copied; the terminal breaks them.
    """
    return "\n".join(_lines(text, width))


def _lines(text: str, width: int) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        is_prose = not (fence or mark or _CODE.match(line)) and cells(line) > width
        yield _wrapped_line(line, width) if is_prose else line


def _wrapped_line(line: str, width: int) -> str:
    beginning = _BEGINNING.match(line)
    first = beginning[0] if beginning else ""
    if cells(first) > width // 2:
        return line
    wrap = WordWrap(width, " " * cells(first), keep_words=True)
    broken = wrap.feed(line[len(first) :]) + wrap.end()
    return first + broken[cells(first) :]


class WordWrap:
    """Takes a text piece by piece and gives it back in lines of a width, each with an indent.

    A word is held back until its end is known. Characters of two cells (Chinese, Japanese, Korean)
    are words of their own, since such text has no spaces; a word too long for a line is broken,
    unless it is to be kept whole.
    """

    def __init__(self, width: int, indent: str = "  ", *, keep_words: bool = False) -> None:
        self._room = max(width - len(indent), 8)
        self._keep_words = keep_words
        self._indent = indent
        self._column = 0
        self._at_start = True
        self._gap = ""
        self._word = ""
        self._is_wide = False
        """What is held back is one wide sign, which ends with the next character."""

    def feed(self, text: str) -> str:
        """What can be shown after this piece."""
        return "".join(self._next(character) for character in text)

    def end(self) -> str:
        """The word that was held back."""
        return self._flush()

    def _next(self, character: str) -> str:
        if character == "\n":
            shown = self._flush() + "\n"
            self._column, self._gap, self._at_start = 0, "", True
            return shown
        if character.isspace():
            shown = self._flush()
            self._gap += " "
            return shown
        if self._word and combining(character):
            self._word += character  # a part of the sign before it
            return ""
        is_wide = cells(character) == 2
        too_long = not self._keep_words and cells(self._word + character) > self._room
        shown = self._flush() if is_wide or self._is_wide or too_long else ""
        self._word += character
        self._is_wide = is_wide
        return shown

    def _flush(self) -> str:
        if not self._word:
            return ""
        word, self._word, self._is_wide = self._word, "", False
        gap, self._gap = self._gap, ""
        if self._at_start:
            lead = self._indent + gap
            self._column = len(gap)
        elif self._column + len(gap) + cells(word) > self._room:
            lead = "\n" + self._indent
            self._column = 0
        else:
            lead = gap
            self._column += len(gap)
        self._at_start = False
        self._column += cells(word)
        return lead + word
