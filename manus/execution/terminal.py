"""Reduce the output of a program to the lines that a terminal would show in the end.

Control sequences have the grammar of ECMA-48. Those that move the cursor or erase are carried out,
on lines without a limit of width and height; all others are dropped.
"""

from __future__ import annotations

import re

_DROPPED = re.compile(
    r"""
    \x1b (?! \[ [\d;]* [A-HJKf] ) (?:
        \[ [0-?]* [ -/]* [@-~]                              # color, mode
        | [\]PX^_] [^\x07\x1b]* (?: \x07 | \x1b\\ )        # link, title, device string
        | [ -/]* [0-~]                                      # character set
    )
    | [\a\x0e\x0f]
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(r"\x1b\[(\d*);?(\d*)[\d;]*([A-HJKf])|([\b\r])|([^\x1b\b\r]+|\x1b)")
_MOVEMENT = re.compile(r"[\x1b\b\r]")
_WIDTH = 200
"""Maximum column of the cursor beyond the end of a line."""


def render(text: str) -> str:
    """Return the text that is visible after the output, one line per line of the terminal."""
    text = _DROPPED.sub("", text.replace("\r\n", "\n"))
    if not _MOVEMENT.search(text):
        return text
    screen = _Screen()
    for first, second, final, control, characters in _TOKEN.findall(text):
        if characters:
            screen.write(characters)
        else:
            numbers = [min(int(number), _WIDTH) for number in (first, second) if number]
            screen.move(control or final, *numbers)
    return "\n".join(map("".join, screen.lines))


class _Screen:
    """Lines of characters, and the cursor."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = [[]]
        self._top = 0
        """The line that is the first of the screen for absolute positions."""
        self._row = 0
        self._column = 0

    def write(self, text: str) -> None:
        """Write lines of characters over those at the cursor."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._go_to(self._row + 1, 0)
            line = self.lines[self._row]
            line.extend(" " * (self._column - len(line)))
            line[self._column : self._column + len(part)] = part
            self._column += len(part)

    def move(self, final: str, first: int | None = None, second: int = 1) -> None:
        """Move the cursor, or erase, by the final character of a sequence and its numbers."""
        distance = first or 1
        match final:
            case "E":
                self._go_to(self._row + distance, 0)
            case "A" | "F":
                self._go_to(self._row - distance, self._column if final == "A" else 0)
            case "B":
                self._row = min(self._row + distance, len(self.lines) - 1)
            case "\b" | "D":
                self._column = max(self._column - distance, 0)
            case "C":
                edge = max(len(self.lines[self._row]), _WIDTH)
                self._column = min(self._column + distance, edge)
            case "\r" | "G":
                self._column = distance - 1
            case "H" | "f":
                self._go_to(self._top + distance - 1, second - 1)
            case "K":
                self._erase_line(first or 0)
            case "J" if first == 2:
                self._start_page()
            case "J" if not first:
                self._erase_line(0)
                del self.lines[self._row + 1 :]

    def _go_to(self, row: int, column: int) -> None:
        """Move the cursor, at most to the line after the last: empty lines say nothing."""
        self._row = min(max(row, self._top), len(self.lines))
        self._column = column
        if self._row == len(self.lines):
            self.lines.append([])

    def _erase_line(self, part: int) -> None:
        """Erase the end (0), the beginning (1) or all (2) of the line."""
        line = self.lines[self._row]
        begin = self._column if part == 0 else 0
        end = len(line) if part != 1 else min(self._column + 1, len(line))
        line[begin:end] = " " * (end - begin) if part == 1 else ""

    def _start_page(self) -> None:
        """Continue below the cleared screen, whose text may be all that there is of a log."""
        if any(self.lines[self._top :]):
            self._top = len(self.lines)
            self._go_to(self._top, 0)
