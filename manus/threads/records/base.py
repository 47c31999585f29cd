"""The protocol of stored journals, and the errors about threads in use elsewhere."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from manus.state.errors import TakenOverError, ThreadBusyError
from manus.threads.records.inbox import Inbox

# Retried, because `manus threads` locks each thread for a moment to see whether it is in use.
ATTEMPTS = 4
PAUSE = 0.05
"""Seconds between two attempts."""


class JournalLog(Protocol):
    """The stored lines of one journal. All methods but `aappend` are blocking.

    Each of them raises `StorageError` if the lines cannot be read or written.
    """

    name: str
    """Part of the HMAC of each line, so that no line verifies in another journal."""
    location: str
    """The location of the lines, for error messages."""

    def load_key(self) -> bytes:
        """Return the key of the store's HMACs; create it if it is missing."""
        ...

    def exists(self) -> bool:
        """Return whether the journal is stored."""
        ...

    def size(self) -> int:
        """Return the size of the lines in bytes; 0 if there are none."""
        ...

    def open(self) -> bytes:
        """Return all lines, and prepare for appending."""
        ...

    def append(self, line: bytes) -> None:
        """Append a line atomically."""
        ...

    async def aappend(self, line: bytes) -> None:
        """Append a line without blocking the event loop for long."""
        ...

    def replace(self, content: bytes) -> None:
        """Replace all lines atomically."""
        ...

    def is_current(self) -> bool:
        """Return whether nobody else has written since this process last read or wrote."""
        ...

    def remove(self) -> None:
        """Remove the journal, if there is one."""
        ...

    def claim(self) -> AbstractContextManager[None]:
        """Exclude other processes from claiming a call in the block, without holding the thread."""
        ...

    def close(self) -> None:
        """Release the resources that `open` acquired."""
        ...


class Records(Protocol):
    """The journals and inboxes of the threads of one store."""

    @property
    def inbox(self) -> Inbox:
        """Return the inboxes of the threads."""
        ...

    def log(self, thread_id: str, checkpoint_ns: str) -> JournalLog:
        """Return the journal of a graph of a thread, which need not exist."""
        ...

    def join(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold a thread inside the block, together with other graphs of this process.

        Raises:
            ThreadBusyError: another process holds it.
        """
        ...


def thread_busy_error(thread_id: str, holder: str | None = None) -> ThreadBusyError:
    """Build the error for a second run on a thread."""
    return ThreadBusyError(
        f"The thread {thread_id} is in use by {holder or 'another process'}; wait until it ends, "
        "or stop it."
    )


def taken_over_error(thread_id: str) -> TakenOverError:
    """Build the error for a process that has lost its thread to another one."""
    return TakenOverError(
        f"Another process continued the thread {thread_id} while this one did not respond or had "
        "lost its connection to the database; the work of this run since then is not stored. "
        "Resume the thread after that process has ended."
    )
