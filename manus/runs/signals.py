"""Ctrl-C and what else asks the program to end: once stops the run cleanly, twice at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """Turns signals into the cancellation of a task, for the length of a block."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._task: asyncio.Task[Any] | None = None
        self._handled: list[signal.Signals] = []
        self.exit_code: int | None = None
        """128 and the signal's number, as a shell tells it; None if there was none."""

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        # What is ignored stays so: `nohup` and shells ask for it for what runs in the background.
        self._handled = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
        for number in self._handled:
            loop.add_signal_handler(number, self._on, number)
        return self

    def __exit__(self, *error: object) -> None:
        loop = asyncio.get_running_loop()
        for number in self._handled:
            loop.remove_signal_handler(number)

    def _on(self, number: signal.Signals) -> None:
        if self.exit_code is not None:
            end_at_once(128 + number)
        self.exit_code = 128 + number
        self._announce()
        if self._task is not None:
            self._task.cancel()

    def swallow(self) -> bool:
        """Whether a cancellation came from a signal; then the task goes on, to report it."""
        if self.exit_code is not None and self._task is not None:
            self._task.uncancel()
        return self.exit_code is not None


def end_at_once(code: int) -> NoReturn:
    """End the process and all that it started, without another word."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # the cursor, which is hidden while lines are redrawn
    os._exit(code)
