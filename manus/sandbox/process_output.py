"""Read the output of a process as it is written, without blocking and with bounded memory."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import os
import termios
from collections.abc import Callable
from contextvars import ContextVar

from manus.sandbox.terminal import render

HEAD = 4 * 2**20
TAIL = 2 * 2**20
"""Bytes kept from the beginning and the end of an output; the middle is only counted."""

_CHUNK = 2**18
_PAUSE = 0.005
"""Seconds between two chunks of discarded output: a process that prints forever must neither block
nor monopolize the event loop."""

_NOTIFY_INTERVAL = 0.2
"""Seconds between two notifications of the listener."""
_NOTIFY_SIZE = 2_000
"""Maximum number of bytes of the end of the output in a notification."""

listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
"""Receives the end of the output of a call's programs from time to time."""

_CONTROL = dict.fromkeys({*range(32), *range(127, 160)} - set(b"\t\n\r"), "\ufffd")


class Capture:
    """The first `HEAD` and the last `TAIL` bytes of a stream."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head = head
        self._tail = tail
        self._data = bytearray()
        self._cut = 0
        """Bytes removed between head and tail."""

    @property
    def dropped(self) -> int:
        """Number of bytes that are not kept."""
        return self._cut + max(0, len(self._data) - self._head - self._tail)

    def add(self, data: bytes) -> None:
        """Add the next chunk of the stream."""
        self._data += data
        if len(self._data) > self._head + 2 * self._tail:  # seldom, so that each byte moves once
            self._cut = self.dropped
            del self._data[self._head : -self._tail]

    def end(self, size: int) -> str:
        """Return the last `size` bytes as text."""
        return _to_text(self._data[-size:])

    def text(self) -> str:
        """Return the kept bytes as text; undecodable bytes become replacement characters."""
        if not self.dropped:
            return _to_text(self._data)
        head = self._data[: self._head]
        tail = self._data[-self._tail :]
        note = f"[… {self.dropped:,} bytes left out …]"
        # the tail may start in the middle of a character
        return f"{_to_text(head)}\n{note}\n{_to_text(tail.lstrip(bytes(range(0x80, 0xC0))))}"


def _to_text(data: bytearray) -> str:
    return render(data.decode("utf-8", "replace")).translate(_CONTROL)


class PipeReader:
    """A reader of a pipe that captures the output until `take` and then discards the rest.

    It continues to read after `take`, because a background job that writes to the pipe would
    otherwise block, or be killed by SIGPIPE. It belongs to the running event loop, and owns the
    descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._capture = Capture()
        self._is_taken = False
        self._end = asyncio.Event()
        self._pause: asyncio.TimerHandle | None = None
        self._listener = listener.get()
        self._notification: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._on_readable)

    @property
    def closed(self) -> bool:
        """Return whether all writers have closed the pipe, or `close` was called."""
        return self._end.is_set()

    async def wait_until_closed(self, seconds: float) -> None:
        """Wait until all writers have closed the pipe, or until the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._end.wait()

    def take(self) -> Capture:
        """Return everything written so far; discard later output."""
        buffered = array.array("i", [0])
        if not self.closed:
            fcntl.ioctl(self._descriptor, termios.FIONREAD, buffered)
        remaining = buffered[0]
        while remaining > 0 and (data := self._read(min(remaining, _CHUNK))):
            self._capture.add(data)
            remaining -= len(data)
        self._is_taken = True
        self._stop_notifying()
        capture = self._capture
        self._capture = Capture()
        return capture

    def close(self) -> None:
        """Stop reading; remaining writers get SIGPIPE."""
        if self.closed:
            return
        self._end.set()
        self._stop_notifying()
        self._loop.remove_reader(self._descriptor)
        if self._pause is not None:
            self._pause.cancel()
        os.close(self._descriptor)

    def _on_readable(self) -> None:
        data = self._read(_CHUNK)
        if data is None:
            return
        if not data:
            self.close()
        elif not self._is_taken:
            self._capture.add(data)
            if self._listener is not None and self._notification is None:
                self._notification = self._loop.call_later(
                    _NOTIFY_INTERVAL, self._notify, self._listener
                )
        if not self.closed and (self._is_taken or self._capture.dropped):
            self._loop.remove_reader(self._descriptor)
            again = (self._descriptor, self._on_readable)
            self._pause = self._loop.call_later(_PAUSE, self._loop.add_reader, *again)

    def _notify(self, listen: Callable[[str], None]) -> None:
        self._notification = None
        listen(self._capture.end(_NOTIFY_SIZE))

    def _stop_notifying(self) -> None:
        self._listener = None
        if self._notification is not None:
            self._notification.cancel()

    def _read(self, size: int) -> bytes | None:
        """Read up to `size` bytes; empty at the end of file, None if there is no data yet."""
        try:
            return os.read(self._descriptor, size)
        except (BlockingIOError, InterruptedError):
            return None
