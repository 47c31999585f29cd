"""The signals and the standard streams of a process that runs an agent."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


class _ToClient(io.FileIO):
    """Raw stdout for the client; exits when the client has closed its end.

    The SDK would wait until stdin is closed too, and then fail with a broken pipe.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            end_at_once(0)


@contextmanager
def own_streams() -> Iterator[None]:
    """Give a protocol's SDK duplicates of stdin and stdout, because it closes the streams it uses.

    Other output in the block goes to stderr, where it does not break the protocol.
    """
    original = (sys.stdin, sys.stdout)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ToClient(os.dup(1), "w")), encoding="utf-8")
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdin, sys.stdout = original
