"""Breaking a text between words while it is still coming."""

from __future__ import annotations

from rich.cells import cell_len as cells


class WordWrap:
    """Takes a text piece by piece and gives it back in lines of a width, each with an indent.

    A word is held back until its end is known. Characters of two cells (Chinese, Japanese, Korean)
    are words of their own, since such text has no spaces; a word too long for a line is broken.
    """

    def __init__(self, width: int, indent: str = "  ") -> None:
        self._room = max(width - len(indent), 8)
        self._indent = indent
        self._column = 0
        self._at_start = True
        self._gap = ""
        self._word = ""

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
        shown = ""
        if cells(character) == 2 or cells(self._word + character) > self._room:
            shown = self._flush()
        self._word += character
        return shown + (self._flush() if cells(character) == 2 else "")

    def _flush(self) -> str:
        if not self._word:
            return ""
        word, self._word = self._word, ""
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
