"""The inbox of a thread as one graph reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from langchain_core.messages import AnyMessage, HumanMessage

from manus.state.messages import STEER
from manus.threads.records.inbox import Inbox, InboxMessage

T = TypeVar("T")


class ThreadInbox:
    """The inbox of a thread, read by the graph in one checkpoint namespace of the thread."""

    def __init__(self, inbox: Inbox, thread_id: str, namespace: str = "") -> None:
        self.inbox = inbox
        self.thread_id = thread_id
        self.namespace = namespace

    def for_namespace(self, namespace: str) -> ThreadInbox:
        """Return the same inbox for a nested graph of the thread."""
        return ThreadInbox(self.inbox, self.thread_id, namespace)

    def is_known_empty(self) -> bool:
        """Return whether the thread has no messages, if that is known without blocking.

        The next call returns False until another checkpoint is stored.
        """
        if self.thread_id not in self.inbox.known_empty:
            return False
        self.inbox.known_empty.discard(self.thread_id)
        return True

    async def receive(self, history: Sequence[AnyMessage]) -> list[HumanMessage]:
        """Return the messages that steer the run, in order, and mark them as taken.

        Those that the history already contains are removed, since a checkpoint has them.
        """
        received: list[HumanMessage] = []
        for message in await self._read_new(history):
            if message.kind == "steer" and await self._take(message):
                received.append(to_history(message, steers=True))
        return received

    async def has_unread(self, history: Sequence[AnyMessage]) -> bool:
        """Return whether `receive` would return a message."""
        return any(message.kind == "steer" for message in await self._read_new(history))

    async def next_request(self, history: Sequence[AnyMessage]) -> HumanMessage | None:
        """Take and return the message that becomes the next request after a run, or None.

        A message that came too late to steer the run precedes those queued for its end.
        """
        messages = await self._read_new(history)
        for message in sorted(messages, key=lambda message: message.kind == "queue"):
            if await self._take(message):
                return to_history(message, steers=False)
        return None

    async def read(self) -> list[InboxMessage]:
        """Return all messages of the thread."""
        return await self._run(partial(self.inbox.read, self.thread_id))

    async def release(self, message: InboxMessage) -> None:
        """Mark a message as unread that a graph has taken and no checkpoint contains."""
        await self._run(partial(self.inbox.take, self.thread_id, message, None))

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove messages that a checkpoint contains."""
        await self._run(partial(self.inbox.remove, self.thread_id, ids))

    async def _read_new(self, history: Sequence[AnyMessage]) -> list[InboxMessage]:
        """Return the messages that no other graph has taken and that are not in the history."""
        messages = await self.read()
        if not messages:
            return []
        existing_ids = {message.id for message in history}
        stored_ids = [message.id for message in messages if message.id in existing_ids]
        if stored_ids:
            await self.remove(stored_ids)
        new = [message for message in messages if message.id not in stored_ids]
        return [message for message in new if message.reader in (None, self.namespace)]

    async def _take(self, message: InboxMessage) -> bool:
        if message.reader is not None:  # by this graph, before a crash
            return True
        return await self._run(partial(self.inbox.take, self.thread_id, message, self.namespace))

    async def _run(self, operation: Callable[[], T]) -> T:
        return await self.inbox.run(operation)


def to_history(message: InboxMessage, *, steers: bool) -> HumanMessage:
    """Return a message in the form for the history."""
    fields = {**message.fields, **({STEER: True} if steers else {})}
    return HumanMessage(message.text, id=message.id, additional_kwargs=fields)
