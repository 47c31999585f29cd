"""Output on stderr: lines, and below them a live area that is redrawn during a run."""

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
"""Columns without a terminal and without COLUMNS."""
LOG_WIDTH = 400
"""Columns of a line in a log; only very long lines are cut."""
_TAIL = 6
"""Last lines shown of streamed text."""
_TAIL_CHARACTERS = 2_000
"""Characters that can be part of these lines."""

# Middle tones of the 256 colors, with a measured contrast of at least 3:1 on black and on white.
# The eight named colors depend on the terminal; cyan and yellow are often unreadable on white.
CALL = "color(31)"
DONE = "color(64)"
FAILED = "color(196)"
WARNING = "color(136)"

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MARKS = {"[✓]": DONE, "[→]": CALL, "[!]": FAILED}
"""Colors of plan steps, by the mark in their line."""

Lines = Callable[[], Sequence[str]]
"""Returns lines without control characters."""


def build_console(stream: TextIO, *, plain: bool = False) -> Console:
    """Build a console for a stream: as wide as COLUMNS or its terminal, otherwise 80 columns."""
    columns = os.environ.get("COLUMNS", "")
    width = None if stream.isatty() else PLAIN_WIDTH
    if columns.isdigit():
        width = int(columns)
    colors: Any = None if plain else "auto"
    options: Any = {"highlight": False, "markup": False, "emoji": False, "color_system": colors}
    return Console(file=stream, width=width, **options)


def print_whole(console: Console, content: RenderableType) -> None:
    """Print text wrapped between words; unwrapped if a word, such as a path, is too long."""
    words = content.plain.split() if isinstance(content, Text) else ()
    console.print(content, soft_wrap=any(len(word) > console.width for word in words))


class Screen:
    """Writes progress for a person.

    On a terminal it uses colors and the full width; elsewhere plain lines without control codes.
    When the reader closes the stream, output stops and the run continues.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self.is_terminal = not quiet and self._stream.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self.can_redraw = self.is_terminal and not plain
        """Whether lines can be redrawn: on a terminal with control codes."""
        self.console = build_console(self._stream, plain=not self.can_redraw)
        self._live: Live | None = None
        self._pinned: Lines | None = None
        self._below: Callable[[], list[Text]] | None = None
        """Renders the streamed text or the running work."""
        self._input_rows: Callable[[], list[Text]] | None = None
        """Renders the line in which the user types while a run works."""

    def line(self, text: str, style: str = "") -> None:
        """Print one line, cut to the width."""
        if not self._quiet:
            is_uncut = not self.is_terminal and "COLUMNS" not in os.environ
            width = LOG_WIDTH if is_uncut else self.console.width
            self._print(_one_line(" ".join(clean(text).splitlines()), style, width))

    def paragraph(
        self, text: str, style: str = "", *, indent: int = 0, always: bool = False
    ) -> None:
        """Print text without cutting it. `always`: even if the screen is quiet."""
        if always or not self._quiet:
            if not self.is_terminal:
                text = textwrap.indent(text, " " * indent)
                indent = 0
            content = Text(clean(text).expandtabs(), style)
            self._print(Padding(content, (0, 0, 0, indent), expand=False) if indent else content)

    def ring(self) -> None:
        """Ring the terminal's bell, which many terminals show as a notification."""
        if self.can_redraw:
            self._guarded(lambda: print("\a", end="", file=self._stream, flush=True))

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Show a message while the program loads; it is static, so Ctrl-C works immediately."""
        if self.can_redraw:
            self._guarded(lambda: print("  starting …", end="", file=self._stream, flush=True))
        try:
            yield
        finally:
            if self.can_redraw:
                self._guarded(lambda: print("\r\x1b[K", end="", file=self._stream, flush=True))

    def pin(self, lines: Lines) -> None:
        """Redraw these lines at the bottom until `release`."""
        if self.can_redraw:
            self._pinned = lines
            self._start_live()

    def live(self, head: str, text: str = "") -> None:
        """Show the end of a streamed text at the bottom until `end_live`."""
        if self.can_redraw:
            self._below = partial(
                self._streamed_rows, " ".join(clean(head).splitlines()), text[-_TAIL_CHARACTERS:]
            )
            self._start_live()

    def busy(self, words: str, printed: str = "", *, since: float | None = None) -> None:
        """Show what is running, and for how long, at the bottom until `end_live`."""
        if self.can_redraw:
            self._below = partial(self._busy_rows, words, printed, since or time.monotonic())
            self._start_live()

    def attach_input(self, rows: Callable[[], list[Text]] | None) -> None:
        """Show the rows of an input at the very bottom; hide them if None."""
        self._input_rows = rows
        if rows is not None:
            self._start_live()
        elif self._pinned is None and self._below is None:
            self.release()

    @property
    def input_height(self) -> int:
        """Return the number of rows that an input has at the bottom."""
        return len(self._input_rows()) if self._input_rows is not None else 0

    def refresh(self) -> None:
        """Redraw the live area now."""
        if self._live is not None:
            self._guarded(self._live.refresh)

    def write_raw(self, sequence: str) -> None:
        """Write a control sequence to the terminal."""
        self._guarded(lambda: print(sequence, end="", file=self._stream, flush=True))

    def end_live(self) -> None:
        """Erase the streamed text or the running work."""
        self._below = None
        if self._live is not None and self._pinned is None and self._input_rows is None:
            self.release()

    def release(self) -> None:
        """Leave the pinned lines as they are and stop redrawing."""
        live = self._live
        self._live = None
        self._input_rows = None
        if live is not None:
            self._below = None
            live.transient = self._pinned is None
            self._guarded(live.stop)
        self._pinned = None

    def _start_live(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self.console,
                get_renderable=self._render,
                refresh_per_second=10,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._guarded(self._live.start)

    def _render(self) -> RenderableType:
        rows: list[Text] = []
        if self._pinned is not None:
            for line in self._pinned():
                rows.append(_one_line(line, _select_style(line), self.console.width))
        if self._below is not None:
            rows += self._below()
        if self._input_rows is not None:
            rows += self._input_rows()
        return Group(*rows)

    def _streamed_rows(self, head: str, text: str) -> list[Text]:
        """Return the end of a text: what fits beside its head, or a few lines without one."""
        if not head:
            wrapped = Text("  " + clean(text).strip()).wrap(self.console, self.console.width - 1)
            return [Text(line.plain, "dim", no_wrap=True) for line in wrapped[-_TAIL:]]
        room = max(self.console.width - len(head) - 2, 1)
        end = flat(text)
        if cell_len(end) > room:
            end = f"…{chop_cells(end[::-1], room)[0][::-1]}"
        return [_one_line(head + end, "dim", self.console.width - 1)]

    def _busy_rows(self, words: str, printed: str, since: float) -> list[Text]:
        """Return the last lines of output, and a spinner line with the elapsed seconds."""
        last_lines = [line.rstrip() for line in clean(printed).splitlines() if line.strip()][
            -_TAIL:
        ]
        seconds = time.monotonic() - since
        frame = _FRAMES[int(seconds * 10) % len(_FRAMES)]
        took = f" {seconds:.0f} s"
        head = fit(f"  {frame} {flat(words)}", self.console.width - len(took) - 1)
        tail = [_one_line(f"    {line}", "dim", self.console.width - 1) for line in last_lines]
        return [*tail, _one_line(head + took, CALL, self.console.width)]

    def _print(self, content: RenderableType) -> None:
        if self.is_terminal:
            self._guarded(lambda: print_whole(self.console, content))
        else:  # rich would exit if the reader has closed the stream
            self._guarded(lambda: print(content, file=self._stream, flush=True))

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


def _select_style(line: str) -> str:
    return next((style for mark, style in _MARKS.items() if mark in line[:8]), "")


def discard(stream: TextIO) -> None:
    """Redirect a stream whose reader has closed it to /dev/null.

    Otherwise Python retries the flush at exit, prints an error, and changes the exit code.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def unwritable(error: OSError) -> str:
    """Return the error for a stdout that cannot be written."""
    return (
        f"Cannot write to stdout ({error.strerror}), so the output is incomplete; the run is "
        "stored: `manus threads` lists the threads, `manus show THREAD` prints one."
    )
