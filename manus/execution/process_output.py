"""What a process prints, read as it comes: bounded in memory, and never blocking."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import os
import re
import termios
from collections.abc import Callable
from contextvars import ContextVar

HEAD = 4 * 2**20
TAIL = 2 * 2**20
"""Bytes kept of the beginning and of the end of an output; what lies between is only counted."""

_CHUNK = 2**18
_PAUSE = 0.005
"""Seconds between two chunks of what nobody will see: a process that prints for ever must neither
be held up nor take the event loop for itself."""

_TELL_AFTER = 0.2
"""Seconds between two looks at an output by who listens."""
_TOLD = 2_000
"""Bytes of its end that are told."""

listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
"""Is told, now and then, the end of what the programs of a call have printed so far."""

# Colours and cursor movements of a terminal, and window titles.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = dict.fromkeys({*range(32), *range(127, 160)} - set(b"\t\n\r"), "\ufffd")


class Capture:
    """The first `HEAD` and the last `TAIL` bytes of a stream."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head = head
        self._tail = tail
        self._data = bytearray()
        self._cut = 0
        """Bytes that were cut from the middle, between head and tail."""

    @property
    def dropped(self) -> int:
        """Bytes that are not kept."""
        return self._cut + max(0, len(self._data) - self._head - self._tail)

    def add(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        self._data += data
        if len(self._data) > self._head + 2 * self._tail:  # now and then: each byte moves once
            self._cut = self.dropped
            del self._data[self._head : -self._tail]

    def end(self, size: int) -> str:
        """The last `size` bytes, as text."""
        return _readable(self._data[-size:])

    def text(self) -> str:
        """What is kept, as text; what cannot be shown as such becomes a replacement character."""
        if not self.dropped:
            return _readable(self._data)
        head, tail = self._data[: self._head], self._data[-self._tail :]
        note = f"[… {self.dropped:,} bytes left out …]"
        # the tail may begin within a character
        return f"{_readable(head)}\n{note}\n{_readable(tail.lstrip(bytes(range(0x80, 0xC0))))}"


def _readable(data: bytearray) -> str:
    text = _ESCAPE.sub("", data.decode("utf-8", "replace"))
    # of a line that was written over, as a progress bar is, what a terminal shows in the end
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "\n".join(lines).translate(_CONTROL)


class PipeReader:
    """Reads a pipe to its end: keeps what comes until `take`, then throws away what still comes.

    It goes on reading after `take` because a background job that holds the other end would else
    be blocked, or killed by SIGPIPE. Belongs to the running event loop, and owns the descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._capture = Capture()
        self._taken = False
        self._end = asyncio.Event()
        self._pause: asyncio.TimerHandle | None = None
        self._listener = listener.get()
        self._telling: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._on_readable)

    @property
    def closed(self) -> bool:
        """Whether nobody can write any more, or `close` was called."""
        return self._end.is_set()

    async def wait_until_closed(self, seconds: float) -> None:
        """Wait until nobody can write any more, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._end.wait()

    def take(self) -> Capture:
        """What was written until now, all of it; from here on nothing is kept."""
        waiting = array.array("i", [0])
        if not self.closed:
            fcntl.ioctl(self._descriptor, termios.FIONREAD, waiting)
        left = waiting[0]
        while left > 0 and (data := self._read(min(left, _CHUNK))):
            self._capture.add(data)
            left -= len(data)
        self._taken = True
        self._tell_no_more()
        taken, self._capture = self._capture, Capture()
        return taken

    def close(self) -> None:
        """Stop reading. Whoever still writes gets SIGPIPE."""
        if self.closed:
            return
        self._end.set()
        self._tell_no_more()
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
        elif not self._taken:
            self._capture.add(data)
            if self._listener is not None and self._telling is None:
                self._telling = self._loop.call_later(_TELL_AFTER, self._tell, self._listener)
        if not self.closed and (self._taken or self._capture.dropped):
            self._loop.remove_reader(self._descriptor)
            again = (self._descriptor, self._on_readable)
            self._pause = self._loop.call_later(_PAUSE, self._loop.add_reader, *again)

    def _tell(self, listen: Callable[[str], None]) -> None:
        self._telling = None
        listen(self._capture.end(_TOLD))

    def _tell_no_more(self) -> None:
        self._listener = None
        if self._telling is not None:
            self._telling.cancel()

    def _read(self, size: int) -> bytes | None:
        """Up to `size` bytes; none at the end, None when there is nothing at present."""
        try:
            return os.read(self._descriptor, size)
        except (BlockingIOError, InterruptedError):
            return None
