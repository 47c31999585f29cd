"""The stderr of the program: lines, and text that comes piece by piece."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from manus.text import Cleaner, clean, fit
from manus.wrap import WordWrap, wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PLAIN_WIDTH = 80
"""Columns of a line where there is no terminal to ask and COLUMNS is not set."""

NARROWEST = 20

# Middle tones of the 256 colours: at least 3:1 on white, black and what is between, measured. The
# eight named ones are the terminal's own, and its cyan and yellow are often unreadable on white.
CALL = "color(31)"
DONE = "color(64)"
FAILED = "color(196)"
WARNING = "color(136)"

_ERASE = "\r\x1b[2K"
"""To the beginning of the line, and nothing left on it."""


class Screen:
    """Writes for a person.

    On a terminal with colours and as wide as it is; else plain lines, without control codes. A
    reader that goes away silences it: the run is worth more than its picture.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._open = False
        self._cleaner = Cleaner()
        self._wrap: WordWrap | None = None
        self._style = ""
        self._drawn = 0
        self._is_live = False
        self.is_terminal = not quiet and self._stream.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self._console = _console(self._stream) if self.is_terminal and not plain else None

    @property
    def width(self) -> int:
        """Columns of a line."""
        return columns_of(self._stream if self.is_terminal else None)

    @property
    def height(self) -> int:
        """Rows of the terminal."""
        from shutil import get_terminal_size

        return max(get_terminal_size((PLAIN_WIDTH, 24)).lines, 8)

    @property
    def can_redraw(self) -> bool:
        """Whether lines can be written over: on a terminal that knows control codes."""
        return self._console is not None

    def redraw(self, lines: Sequence[str]) -> None:
        """Lines in place of those of the last call, if nothing has been written since."""
        self._end_piece()
        over = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        width = self.width
        text = "\n".join(fit(" ".join(clean(line).splitlines()), width) for line in lines)
        self._write(over + text, "", "\n")
        self._drawn = len(lines)

    def line(self, text: str, style: str = "") -> None:
        """One line; what does not fit is cut."""
        if not self._quiet:
            self._end_piece()
            self._write(fit(" ".join(clean(text).splitlines()), self.width), style, "\n")

    def paragraph(self, text: str, style: str = "", *, always: bool = False) -> None:
        """Text that must not be cut. `always`: even when the screen is quiet."""
        if always or not self._quiet:
            self._end_piece()
            shown = clean(text)
            self._write(wrapped(shown, self.width) if self.is_terminal else shown, style, "\n")

    def live(self, text: str) -> None:
        """A line that holds until anything else is written; only where lines can be redrawn."""
        if self.can_redraw:
            drawn = self._drawn
            self._end_piece()
            line = fit(" ".join(clean(text).splitlines()), self.width - 1)
            self._write(f"\x1b[2m{line}\x1b[22m", "", "")
            self._is_live = True
            self._drawn = drawn

    def end_live(self) -> None:
        """Erase the line that is written over."""
        if self._is_live:
            drawn = self._drawn
            self._write("", "", "")
            self._drawn = drawn

    def prompt(self, text: str) -> None:
        """Words before a line that the person types; even when the screen is quiet."""
        self._end_piece()
        self._write(clean(text), "", "")

    def piece(self, text: str, style: str = "") -> None:
        """A piece of a text that goes on; only on a terminal."""
        come = self._cleaner.feed(text) if self.is_terminal else ""
        if not self._open:
            come = come.lstrip()
        if not come:
            return
        if self._wrap is None:
            self._wrap = WordWrap(self.width)
        self._style, self._open = style, True
        self._write(self._wrap.feed(come), style, "")

    def end_text(self) -> bool:
        """End a text that came in pieces; whether there was one."""
        was_open = self._open
        self.end_live()
        self._end_piece()
        self._cleaner = Cleaner()
        return was_open

    def _end_piece(self) -> None:
        if self._open and self._wrap is not None:
            self._write(self._wrap.end(), self._style, "\n")
            self._open, self._wrap = False, None

    def _write(self, text: str, style: str, end: str) -> None:
        self._drawn = 0
        try:
            if self._is_live:
                self._is_live = False
                self._stream.write(_ERASE)
            if style and text and self._console is not None:
                self._console.print(_styled(text, style), end=end, soft_wrap=True)
            else:
                self._stream.write(text + end)
            self._stream.flush()
        except OSError:
            self._quiet, self.is_terminal = True, False
            discard(self._stream)


def columns_of(stream: TextIO | None) -> int:
    """Columns of a line: what COLUMNS says, else the terminal, else 80; at least 20."""
    columns = os.environ.get("COLUMNS", "")
    wanted = int(columns) if columns.isdigit() else 0
    if not wanted and stream is not None:
        with contextlib.suppress(OSError):
            wanted = os.get_terminal_size(stream.fileno()).columns
    return max(wanted, NARROWEST) if wanted else PLAIN_WIDTH


def discard(stream: TextIO) -> None:
    """Let what is left in a stream whose reader has gone, and what will come, lead nowhere.

    Else Python tries once more when it ends, complains, and changes the exit code.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def unwritable(error: OSError) -> str:
    """What is said where stdout takes no more."""
    return (
        f"stdout cannot be written to ({error.strerror}), so not all was printed; what a run found "
        "is kept: `manus threads` lists the threads, `manus show THREAD` tells it again."
    )


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, force_terminal=True, highlight=False)


def _styled(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style)
