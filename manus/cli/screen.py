"""The stderr of the program: lines, and below them what is redrawn while a run works."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from manus.prompts.formatting import clean, fit, flat

PLAIN_WIDTH = 80
"""Columns of a line where there is no terminal to ask and COLUMNS is not set."""
LOG_WIDTH = 400
"""Columns of a line of a log, so that it is whole unless it is a program."""
_TAIL = 6
"""Lines that are shown of a text while it is written."""
_KEPT = 2_000
"""Characters of it that can be among them."""

# Middle tones of the 256 colours: at least 3:1 on white, black and what is between, measured. The
# eight named ones are the terminal's own, and its cyan and yellow are often unreadable on white.
CALL = "color(31)"
DONE = "color(64)"
FAILED = "color(196)"
WARNING = "color(136)"

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MARKS = {"[✓]": DONE, "[→]": CALL, "[!]": FAILED}
"""Colours of a plan's steps, by what stands in their lines."""

Lines = Callable[[], Sequence[str]]
"""Without control characters."""


def console_of(stream: TextIO, *, plain: bool = False) -> Console:
    """What writes to a stream, as wide as its terminal, else 80 columns or COLUMNS."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() else None if stream.isatty() else PLAIN_WIDTH
    colours: Any = None if plain else "auto"
    options: Any = {"highlight": False, "markup": False, "emoji": False, "color_system": colours}
    return Console(file=stream, width=width, **options)


def print_whole(console: Console, shown: RenderableType) -> None:
    """Print text broken between words; as it stands where a word, such as a path, is too long."""
    words = shown.plain.split() if isinstance(shown, Text) else ()
    console.print(shown, soft_wrap=any(len(word) > console.width for word in words))


class Screen:
    """Writes for a person.

    On a terminal with colours and as wide as it is; else plain lines, without control codes. A
    reader that goes away silences it: the run is worth more than its picture.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self.is_terminal = not quiet and self._stream.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self.can_redraw = self.is_terminal and not plain
        """Whether lines can be written over: on a terminal that knows control codes."""
        self.console = console_of(self._stream, plain=not self.can_redraw)
        self._live: Live | None = None
        self._pinned: Lines | None = None
        self._below: Callable[[], list[Text]] | None = None
        """The text that is being written, or what is waited for."""

    def line(self, text: str, style: str = "") -> None:
        """One line; what does not fit is cut."""
        if not self._quiet:
            whole = not self.is_terminal and "COLUMNS" not in os.environ
            width = LOG_WIDTH if whole else self.console.width
            self._print(_one_line(" ".join(clean(text).splitlines()), style, width))

    def paragraph(
        self, text: str, style: str = "", *, indent: int = 0, always: bool = False
    ) -> None:
        """Text that must not be cut. `always`: even when the screen is quiet."""
        if always or not self._quiet:
            if not self.is_terminal:
                text = textwrap.indent(text, " " * indent)
                indent = 0
            shown = Text(clean(text).expandtabs(), style)
            self._print(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Say so while the program is loaded; nothing is redrawn, since Ctrl-C ends it at once."""
        if self.can_redraw:
            self._guarded(lambda: print("  starting …", end="", file=self._stream, flush=True))
        try:
            yield
        finally:
            if self.can_redraw:
                self._guarded(lambda: print("\r\x1b[K", end="", file=self._stream, flush=True))

    def pin(self, lines: Lines) -> None:
        """Have these lines below all others, asked for and drawn anew until `release`."""
        if self.can_redraw:
            self._pinned = lines
            self._begin_live()

    def live(self, head: str, text: str = "") -> None:
        """Have the end of a text that is being written at the bottom, until `end_live`."""
        if self.can_redraw:
            self._below = partial(self._written, " ".join(clean(head).splitlines()), text[-_KEPT:])
            self._begin_live()

    def busy(self, words: str, printed: str = "", *, since: float | None = None) -> None:
        """Say at the bottom what is waited for, and how long, until `end_live`."""
        if self.can_redraw:
            self._below = partial(self._waiting, words, printed, since or time.monotonic())
            self._begin_live()

    def end_live(self) -> None:
        """Erase the text that was being written, and what was waited for."""
        self._below = None
        if self._live is not None and self._pinned is None:
            self.release()

    def release(self) -> None:
        """Leave the pinned lines as they are and redraw nothing any more."""
        live = self._live
        self._live = None
        if live is not None:
            self._below = None
            live.transient = self._pinned is None
            self._guarded(live.stop)
        self._pinned = None

    def _begin_live(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self.console,
                get_renderable=self._picture,
                refresh_per_second=10,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._guarded(self._live.start)

    def _picture(self) -> RenderableType:
        lines = self._pinned() if self._pinned is not None else ()
        shown = [_one_line(line, _style_of(line), self.console.width) for line in lines]
        return Group(*shown, *(self._below() if self._below is not None else ()))

    def _written(self, head: str, text: str) -> list[Text]:
        """The end of a text: what fits beside its head, or a few lines where it has none."""
        if not head:
            broken = Text("  " + clean(text).strip()).wrap(self.console, self.console.width - 1)
            return [Text(line.plain, "dim", no_wrap=True) for line in broken[-_TAIL:]]
        room = max(self.console.width - len(head) - 2, 1)
        end = flat(text)
        cut = end if cell_len(end) <= room else f"…{chop_cells(end[::-1], room)[0][::-1]}"
        return [_one_line(head + cut, "dim", self.console.width - 1)]

    def _waiting(self, words: str, printed: str, since: float) -> list[Text]:
        """A line that turns, with its seconds, below the last lines of what was printed."""
        ends = [line.rstrip() for line in clean(printed).splitlines() if line.strip()][-_TAIL:]
        seconds = time.monotonic() - since
        turn = _FRAMES[int(seconds * 10) % len(_FRAMES)]
        took = f" {seconds:.0f} s"
        head = fit(f"  {turn} {flat(words)}", self.console.width - len(took) - 1)
        tail = [_one_line(f"    {line}", "dim", self.console.width - 1) for line in ends]
        return [*tail, _one_line(head + took, CALL, self.console.width)]

    def _print(self, shown: RenderableType) -> None:
        if self.is_terminal:
            self._guarded(lambda: print_whole(self.console, shown))
        else:  # rich would end the program where a reader has gone
            self._guarded(lambda: print(shown, file=self._stream, flush=True))

    def _guarded(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError:
            self._quiet = True
            self.is_terminal = False
            self.can_redraw = False
            discard(self._stream)


def _one_line(text: str, style: str, width: int) -> Text:
    line = Text(text, style, no_wrap=True, end="")
    line.truncate(width, overflow="ellipsis")
    line.end = "\n"
    return line


def _style_of(line: str) -> str:
    return next((style for mark, style in _MARKS.items() if mark in line[:8]), "")


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
