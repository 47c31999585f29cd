"""Reduce the output of a program to the lines that a terminal would show in the end.

Control sequences have the grammar of ECMA-48. Those that move the cursor by lines or columns, or
erase a line, are carried out; all others are dropped (a cleared screen may be the whole log).
"""

from __future__ import annotations

import re

_DROPPED = re.compile(
    r"""
    \x1b (?! \[ \d* [A-DGK] ) (?:
        \[ [0-?]* [ -/]* [@-~]                              # color, mode
        | [\]PX^_] [^\x07\x1b]* (?: \x07 | \x1b\\ )        # link, title, device string
        | [ -/]* [0-~]                                      # character set
    )
    | [\a\x0e\x0f]
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(r"\x1b\[(\d*)([A-DGK])|([\b\r])|([^\x1b\b\r]+|\x1b)")
_MOVEMENT = re.compile(r"[\x1b\b\r]")
_WIDTH = 200
"""Maximum column of the cursor beyond the end of a line."""


def render(text: str) -> str:
    """Return the text that is visible after the output, one line per line of the terminal."""
    text = _DROPPED.sub("", text.replace("\r\n", "\n"))
    if not _MOVEMENT.search(text):
        return text
    screen = _Lines()
    for number, final, control, characters in _TOKEN.findall(text):
        if characters:
            screen.write(characters)
        else:
            screen.move(control or final, min(int(number), _WIDTH) if number else None)
    return "\n".join(map("".join, screen.lines))


class _Lines:
    """Lines of characters, and the cursor."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = [[]]
        self._row = 0
        self._column = 0

    def write(self, text: str) -> None:
        """Write lines of characters over those at the cursor."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._row += 1
                self._column = 0
            if self._row == len(self.lines):
                self.lines.append([])
            line = self.lines[self._row]
            line.extend(" " * (self._column - len(line)))
            line[self._column : self._column + len(part)] = part
            self._column += len(part)

    def move(self, final: str, number: int | None) -> None:
        """Move the cursor, or erase, by the final character of a sequence and its number."""
        distance = number or 1
        line = self.lines[self._row]
        match final:
            case "A":
                self._row = max(self._row - distance, 0)
            case "B":
                self._row = min(self._row + distance, len(self.lines) - 1)
            case "C":
                self._column = min(self._column + distance, max(len(line), _WIDTH))
            case "\b" | "D":
                self._column = max(self._column - distance, 0)
            case "\r" | "G":
                self._column = distance - 1
            case _:  # K: erase the end (0), the beginning (1) or all (2) of the line
                end = len(line) if number != 1 else min(self._column + 1, len(line))
                line[0 if number else self._column : end] = " " * end if number == 1 else ""
