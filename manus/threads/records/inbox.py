"""Inboxes of threads: messages that a person sends while a run is working.

An inbox is not covered by the thread's lock, so any process can add a message at once. A graph
takes a message before it calls its model, and removes it when a checkpoint contains it. So a
message that a killed process had taken is taken again, and one in the history is not added twice.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar

from manus.state.errors import UsageError
from manus.state.text import sanitize

T = TypeVar("T")

MessageKind = Literal["steer", "queue"]
"""`steer`: read at the next step of the run. `queue`: the next request when the run has ended."""
EMPTY = "The message is empty; write what the agent should know."


def _new_id() -> str:
    return secrets.token_hex(6)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A message in an inbox."""

    kind: MessageKind
    text: str
    fields: dict[str, Any] = field(default_factory=dict)
    """`additional_kwargs` of the message in the history, such as the user's own words."""
    id: str = field(default_factory=_new_id)
    """The id, also of the message in the history."""
    sent_at: str = field(default_factory=_now)
    """ISO 8601."""
    reader: str | None = None
    """Checkpoint namespace of the graph that has taken the message; None if it is unread."""

    def as_json(self) -> dict[str, str]:
        """Return the fields that lists of pending messages show."""
        return {"id": self.id, "kind": self.kind, "text": self.text, "sent_at": self.sent_at}


def new_message(
    text: str, *, queue: bool = False, fields: dict[str, Any] | None = None
) -> InboxMessage:
    """Build a message that steers the run, or that is queued until the run ends.

    Raises:
        UsageError: the text is empty.
    """
    if not text.strip():
        raise UsageError(EMPTY)
    return InboxMessage("queue" if queue else "steer", sanitize(text.strip()), fields or {})


class Inbox(Protocol):
    """The inboxes of the threads of one store. All methods but `run` are blocking."""

    known_empty: set[str]
    """Threads that had no messages at their newest checkpoint and were not read since."""

    def add(self, thread_id: str, message: InboxMessage) -> None:
        """Store a message."""
        ...

    def read(self, thread_id: str) -> list[InboxMessage]:
        """Return the messages of a thread, including those taken, in the order of sending."""
        ...

    def take(self, thread_id: str, message: InboxMessage, reader: str | None) -> bool:
        """Set the reader of a message; return False if it has been withdrawn or taken."""
        ...

    def remove(self, thread_id: str, ids: Collection[str]) -> None:
        """Remove messages that a checkpoint contains."""
        ...

    def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Remove a message; return False if it was read, or does not exist."""
        ...

    def delete_thread(self, thread_id: str) -> None:
        """Remove all messages of a thread."""
        ...

    def close(self) -> None:
        """Close open resources; the next use opens them again."""
        ...

    async def run(self, operation: Callable[[], T]) -> T:
        """Await a blocking operation in a thread."""
        ...


class MemoryInbox:
    """Inboxes in the memory of this process, for threads that are not in one of our stores."""

    def __init__(self) -> None:
        self.known_empty: set[str] = set()
        self._messages: dict[str, dict[str, InboxMessage]] = {}
        self._mutex = threading.Lock()

    def add(self, thread_id: str, message: InboxMessage) -> None:
        """As in the protocol."""
        with self._mutex:
            self._messages.setdefault(thread_id, {})[message.id] = message

    def read(self, thread_id: str) -> list[InboxMessage]:
        """As in the protocol."""
        with self._mutex:
            return [*self._messages.get(thread_id, {}).values()]

    def take(self, thread_id: str, message: InboxMessage, reader: str | None) -> bool:
        """As in the protocol."""
        with self._mutex:
            messages = self._messages.get(thread_id, {})
            current = messages.get(message.id)
            if current is None or current.reader != message.reader:
                return False
            messages[message.id] = replace(current, reader=reader)
            return True

    def remove(self, thread_id: str, ids: Collection[str]) -> None:
        """As in the protocol."""
        with self._mutex:
            messages = self._messages.get(thread_id, {})
            for message_id in ids:
                messages.pop(message_id, None)
            if not messages:
                self._messages.pop(thread_id, None)

    def withdraw(self, thread_id: str, message_id: str) -> bool:
        """As in the protocol."""
        with self._mutex:
            messages = self._messages.get(thread_id, {})
            message = messages.get(message_id)
            if message is None or message.reader is not None:
                return False
            del messages[message_id]
            return True

    def delete_thread(self, thread_id: str) -> None:
        """As in the protocol."""
        with self._mutex:
            self._messages.pop(thread_id, None)

    def close(self) -> None:
        """Do nothing, since nothing is open."""

    async def run(self, operation: Callable[[], T]) -> T:
        """As in the protocol."""
        return await asyncio.to_thread(operation)


def list_unread(messages: Collection[InboxMessage]) -> list[InboxMessage]:
    """Return the messages that can still be withdrawn."""
    return [message for message in messages if message.reader is None]
