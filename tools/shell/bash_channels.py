"""The descriptors between us and a bash: a command's text, our words, its reports."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from dataclasses import dataclass
from typing import IO

_HIGH = 200
"""All are above this number, out of the way of those that people use in a shell."""
_LONGEST_REPORT = 2**16


@dataclass(frozen=True, slots=True)
class Report:
    """What bash says of itself after a command (`about` is its number) or when it exits."""

    about: str
    status: int
    options: str
    """`$-`: `e` is among it after `set -e`."""
    directory: str


class Channels:
    """A file without a name for the command, a pipe to bash, a pipe from bash.

    `text`, `control` and `status` are open in bash under these numbers.
    """

    def __init__(self, text: IO[bytes]) -> None:
        with text:
            self.text = _high(text.fileno())
        self.control, self._telling = _pipe()
        self._hearing, self.status = _pipe()
        os.set_blocking(self._telling, False)
        os.set_blocking(self._hearing, False)
        self._open = {self.text, self.control, self._telling, self._hearing, self.status}
        self._expected: tuple[str, asyncio.Future[Report]] | None = None
        self._heard = b""
        self.farewell: Report | None = None
        """What bash said when it exited."""

    def begin(self) -> None:
        """Bash has been started: let go of its ends, and listen."""
        self._close(self.control)
        self._close(self.status)
        asyncio.get_running_loop().add_reader(self._hearing, self.listen)

    def write_text(self, command: bytes) -> None:
        """Lay down the command. Blocking."""
        os.ftruncate(self.text, 0)
        written = 0
        while written < len(command):
            written += os.pwrite(self.text, command[written:], written)
        # Where `/dev/fd/N` is the descriptor itself and not the file anew, the place is shared.
        os.lseek(self.text, 0, os.SEEK_SET)

    def say(self, words: str, about: str) -> asyncio.Future[Report]:
        """Tell bash what to do; the report on it comes later, or never if bash ends before."""
        report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._expected = (about, report)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._telling, os.fsencode(words))
        return report

    def listen(self) -> None:
        """Read the reports that are there."""
        try:
            data = os.read(self._hearing, _LONGEST_REPORT)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._hearing)
        *records, rest = (self._heard + data).split(b"\0")
        self._heard = rest[-_LONGEST_REPORT:]
        for record in records:
            self._take(record)

    def _take(self, record: bytes) -> None:
        parts = os.fsdecode(record).split(" ", 3)
        if len(parts) < 4 or not parts[1].isdecimal():
            return  # not from us: everything that runs in the shell can write there
        report = Report(parts[0], int(parts[1]), parts[2], parts[3])
        if report.about == "exit":
            self.farewell = report
        elif self._expected and self._expected[0] == report.about:
            future = self._expected[1]
            if not future.done():
                future.set_result(report)

    def close(self) -> None:
        """Close what is open."""
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().remove_reader(self._hearing)
        for descriptor in list(self._open):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    try:
        return _high(reading), _high(writing)
    finally:
        os.close(reading)
        os.close(writing)


def _high(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
