"""Stop a run on SIGINT, SIGTERM or SIGHUP: cleanly the first time, immediately the second."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Context manager that turns signals into the cancellation of the current task."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._task: asyncio.Task[Any] | None = None
        self._handled: list[signal.Signals] = []
        self.exit_code: int | None = None
        """128 + signal number, as shells report it; None without a signal."""

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        # Keep ignored signals ignored: nohup and shells rely on that for background jobs.
        self._handled = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
        for number in self._handled:
            loop.add_signal_handler(number, self._handle, number)
        return self

    def __exit__(self, *error: object) -> None:
        loop = asyncio.get_running_loop()
        for number in self._handled:
            loop.remove_signal_handler(number)

    def _handle(self, number: signal.Signals) -> None:
        if self.exit_code is not None:
            end_at_once(128 + number)
        self.exit_code = 128 + number
        self._announce()
        if self._task is not None:
            self._task.cancel()

    def absorb_cancellation(self) -> bool:
        """Return whether a signal caused the cancellation; if so, undo it to report the run."""
        if self.exit_code is not None and self._task is not None:
            self._task.uncancel()
        return self.exit_code is not None


def end_at_once(code: int) -> NoReturn:
    """Kill all child processes and exit immediately."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # show the cursor, which is hidden during redraws
    os._exit(code)
