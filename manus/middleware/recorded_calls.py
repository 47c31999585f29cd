"""Find the recorded call that a tool call repeats, and those that a crash has lost."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from manus.threads.journal import Journal


class CallKey(NamedTuple):
    """The identity of a recorded call: ids of calls may repeat in each message."""

    scope: str
    """The checkpoint namespace of the agent, or the digest of the call that runs it."""
    checkpoint: str
    """The id of the checkpoint that contains the call's message."""
    message: str
    """The id of that message; empty if it has none."""
    task: str
    digest: str
    """The digest of the tool and its arguments."""
    call_id: str

    def __str__(self) -> str:
        """Return the key in the journal."""
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """The calls in a journal, as seen by one call of a conversation."""

    journal: Journal
    key: CallKey
    messages: Sequence[BaseMessage]
    saver: BaseCheckpointSaver[Any] | None
    config: Any
    """The thread and checkpoint namespace of the agent."""
    loop: asyncio.AbstractEventLoop | None
    """The event loop of an asynchronous call, whose checkpointer may have no other methods."""

    def find_same(self) -> str | None:
        """Return the key under which this call was recorded before a crash. Blocking.

        A fork or a replay calls a tool again on purpose: LangGraph starts it at a new checkpoint,
        and the store has the call's result. A process that is late goes on at the same checkpoint.
        """
        name = str(self.key)
        if self.journal.look_up(name) is not None:
            return name
        for name, key in self._newest_first():
            is_call = key.call_id == self.key.call_id and key.digest == self.key.digest
            if not self._is_current(key):
                return None
            if is_call and key.checkpoint != self.key.checkpoint:
                return None if self._is_stored(key) else name
        return None

    def find_lost(self) -> list[str]:
        """Return the keys of recorded calls that no stored conversation has. Blocking.

        The oldest is first. They were executed after the newest checkpoint that survived a crash.
        A fork leaves the checkpoints of the other branch in the store.
        """
        known = {message.id for message in self.messages if isinstance(message, AIMessage)}
        lost: list[str] = []
        for name, key in self._newest_first():
            if self._is_current(key):
                continue
            if key.message in known or self._is_stored(key):
                break
            lost.insert(0, name)
        return lost

    def digests(self) -> set[str]:
        """Return the digests of the calls in the current message."""
        newest = next(m for m in reversed(self.messages) if isinstance(m, AIMessage))
        return {digest_call(call) for call in newest.tool_calls}

    def _newest_first(self) -> list[tuple[str, CallKey]]:
        prefix = f"{self.key.scope}/"
        names = [name for name in self.journal.entries if name.startswith(prefix)][::-1]
        parts = [(name, name.split("/", 5)) for name in names]
        return [(name, CallKey(*part)) for name, part in parts if len(part) == len(CallKey._fields)]

    def _is_current(self, key: CallKey) -> bool:
        """Return whether a recorded call belongs to the current message."""
        same_message = bool(key.message) and key.message == self.key.message
        return same_message or key.checkpoint == self.key.checkpoint

    def _is_stored(self, key: CallKey) -> bool:
        """Return whether the store has the conversation with a call, and with its result.

        The result of a call of the current message has to be stored with its task. With
        `durability="exit"` only a later checkpoint shows that the call's message is stored.
        """
        for stored in self._read_checkpoints(key.checkpoint):
            checkpoint_id = stored.checkpoint["id"]
            if checkpoint_id == key.checkpoint:
                return not self._is_current(key) or _has_result(stored, key.task)
            if checkpoint_id != self.key.checkpoint and key.message in _message_ids(stored):
                return True
        return False

    def _read_checkpoints(self, oldest: str) -> list[CheckpointTuple]:
        """Return the stored checkpoints since `oldest`, the newest first. Blocking."""
        if self.saver is None:
            return []
        if self.loop is not None:
            reading = self._aread_checkpoints(self.saver, oldest)
            return asyncio.run_coroutine_threadsafe(reading, self.loop).result()
        with closing(self.saver.list(self.config)) as stored:  # type: ignore[type-var]
            return list(takewhile(lambda item: item.checkpoint["id"] >= oldest, stored))

    async def _aread_checkpoints(
        self, saver: BaseCheckpointSaver[Any], oldest: str
    ) -> list[CheckpointTuple]:
        checkpoints = []
        async with aclosing(saver.alist(self.config)) as stored:  # type: ignore[type-var]
            async for item in stored:
                if item.checkpoint["id"] < oldest:
                    break
                checkpoints.append(item)
        return checkpoints


def _has_result(stored: CheckpointTuple, task: str) -> bool:
    """Return whether a task has written more than LangGraph's own channels, such as interrupts."""
    writes = stored.pending_writes or []
    return any(name == task and not channel.startswith("__") for name, channel, _ in writes)


def _message_ids(stored: CheckpointTuple) -> set[str]:
    messages = stored.checkpoint["channel_values"].get("messages")
    return {clean(m.id) for m in messages if m.id} if isinstance(messages, list) else set()


def digest_call(call: Mapping[str, Any]) -> str:
    """Return the digest of a call's tool and arguments."""
    return digest(json.dumps([call["name"], call["args"]], sort_keys=True, default=str))


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def clean(name: str | None) -> str:
    """Return a message's id, or a namespace, as it is in a key."""
    return (name or "").replace("/", "_")
