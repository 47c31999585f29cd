"""The history of a thread: reducer, index, values by message, the message that closes a run.

Programs that use any LangGraph graph read the result of a run from the last message of its state.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import ValidationError

from manus.state.messages import CLOSES, get_text, has_calls, is_reply

_ID_NAMESPACE = uuid.UUID("9d0f7a52-0f4b-4b0e-9a52-7f1f7f0f6a11")
_MESSAGE_CLASSES: dict[str, type[BaseMessage]] = {
    "ai": AIMessage,
    "human": HumanMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
}
_PLAIN_CLASSES = frozenset(_MESSAGE_CLASSES.values())

V = TypeVar("V")


class History(list[AnyMessage]):
    """A list of messages that finds one by its id without reading the others.

    A thread may have thousands of messages, and each step appends to its history several times. So
    a copy shares the index of its original: no entry of it ever changes, and one that another copy
    has added refers to no message with that id in this one.
    """

    __slots__ = ("_length", "_newest", "_positions", "has_closings")

    def __init__(self, messages: Iterable[AnyMessage] = ()) -> None:
        super().__init__(messages)
        self._positions: dict[str | None, int] = {}
        self.has_closings = False
        """Whether a message only repeats the output of a run (see `CLOSES`)."""
        if isinstance(messages, History) and messages.is_indexed:
            self._positions = messages._positions
            self.has_closings = messages.has_closings
            self._note_end()
        else:
            self._read()

    @property
    def is_indexed(self) -> bool:
        """Return whether nobody else has changed the list."""
        return len(self) == self._length and (not self or self[-1] is self._newest)

    def find(self, message_id: str | None) -> int | None:
        """Return the position of the message with an id; None if there is none."""
        if not self.is_indexed:
            self._read()
        position = self._positions.get(message_id)
        if position is None or position >= len(self) or self[position].id != message_id:
            return None
        return position

    def fold(self, message: BaseMessage) -> None:
        """Add or replace one message."""
        if message.id is None:
            # a copy: the same object written twice is two messages, as it is when read from storage
            message = message.model_copy(update={"id": self._new_id(message)})
        position = self.find(message.id)
        if position is not None:
            self[position] = cast(AnyMessage, message)
        else:
            if self._positions.get(message.id, len(self)) != len(self):
                self._read()  # a copy has the id elsewhere
            self._positions[message.id] = len(self)
            self.append(cast(AnyMessage, message))
        self.has_closings |= CLOSES in message.additional_kwargs
        self._note_end()

    def drop(self, ids: Collection[str | None]) -> None:
        """Remove the messages with these ids, or all of them with `REMOVE_ALL_MESSAGES`."""
        is_all = REMOVE_ALL_MESSAGES in ids
        self[:] = [] if is_all else [message for message in self if message.id not in ids]
        self._read()

    def _read(self) -> None:
        """Build an index of its own."""
        pairs = reversed([*enumerate(self)])
        self._positions = {message.id: position for position, message in pairs}
        self.has_closings = any(CLOSES in message.additional_kwargs for message in self)
        self._note_end()

    def _note_end(self) -> None:
        self._length = len(self)
        self._newest = self[-1] if self else None

    def _new_id(self, message: BaseMessage) -> str:
        """Return an unused id; after a removal, the first candidate may be in use."""
        seed = f"{len(self)}:{message.type}:{message.content!r}"
        new_id = str(uuid.uuid5(_ID_NAMESPACE, seed))
        while self.find(new_id) is not None:
            seed += "'"
            new_id = str(uuid.uuid5(_ID_NAMESPACE, seed))
        return new_id

    def __copy__(self) -> History:
        return History(self)

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[AnyMessage]]]:
        return list, ([*self],)


def append_messages(history: Sequence[Any], writes: Sequence[Any]) -> History:
    """Fold writes into the history; the reducer of the `messages` channel.

    Deterministic and independent of batching, as `DeltaChannel` requires: a checkpoint stores only
    the writes, and reading it replays them. A message without an id therefore gets one derived from
    its index and content, not a random one, and writes are never modified. A message with an
    existing id replaces the old one in place; `RemoveMessage` removes one, or all with
    `REMOVE_ALL_MESSAGES`. The LangGraph server passes a forked history as plain dicts. A write is a
    message, its dict, `(role, text)` or text form, or a list of them.
    """
    if history and isinstance(history[0], dict):
        history = [*map(_as_message, history)]
    merged = History(history)
    written = [*itertools.chain.from_iterable(map(as_messages, writes))]
    ids = {None if _is_removal(message) else message.id for message in written}
    if not merged and None not in ids and len(ids) == len(written):
        return History(cast(list[AnyMessage], written))  # a thread that is read: indexed as a whole
    # a compaction removes hundreds of messages, and each `drop` reads all of them
    for is_removal, messages in itertools.groupby(written, _is_removal):
        if is_removal:
            merged.drop({message.id for message in messages})
        else:
            for message in messages:
                merged.fold(message)
    return merged


def _is_removal(message: BaseMessage) -> bool:
    return isinstance(message, RemoveMessage)


def messages_since(history: Sequence[AnyMessage], message_id: str | None) -> list[AnyMessage]:
    """Return the history after the message with that id; all of it if there is no such message."""
    indexed = history if isinstance(history, History) else History(history)
    position = indexed.find(message_id)
    return list(indexed if position is None else indexed[position + 1 :])


def as_messages(write: Any) -> list[BaseMessage]:
    """Return the messages of a write: a message, its dict, `(role, text)`, text, or a list."""
    is_pair = isinstance(write, tuple) and len(write) == 2 and isinstance(write[0], str)
    if isinstance(write, list | tuple) and not is_pair:
        return [_as_message(item) for item in write]
    return [_as_message(write)]


def _as_message(item: Any) -> BaseMessage:
    if type(item) in _PLAIN_CLASSES:  # already a message: nearly always
        return cast(BaseMessage, item)
    if isinstance(item, dict) and item.get("type") in _MESSAGE_CLASSES:
        # the dump of a message, as Studio and the SDK send it back
        with contextlib.suppress(ValidationError):
            return _MESSAGE_CLASSES[item["type"]].model_validate(item)
    [message] = convert_to_messages([item])
    if isinstance(message, BaseMessageChunk):
        return message_chunk_to_message(message)
    return message


def is_closing(message: BaseMessage) -> bool:
    """Return whether a message only repeats the output of a run (see `CLOSES`)."""
    return CLOSES in message.additional_kwargs


def without_closings(history: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the history without the messages that repeat what it already contains.

    An agent of a team may get the closing message of another one without the messages that it
    closes; that one is kept.
    """
    if isinstance(history, History) and not history.has_closings:
        return list(history)
    closings = [message for message in history if CLOSES in message.additional_kwargs]
    if not closings:
        return list(history)
    ids = {message.id for message in history}
    hidden = [m.id for m in closings if m.additional_kwargs[CLOSES] in ids]
    return [message for message in history if message.id not in hidden]


def close_history(
    history: Sequence[AnyMessage], output: str, *, is_answer: bool = False
) -> list[AnyMessage]:
    """Return the write after which a history ends with the output of a run.

    If its last message is a plain text that `is_answer`, it becomes the output, which may have a
    note at its end. Otherwise a closing message is added.
    """
    messages = without_closings(history)
    last = messages[-1] if messages else AIMessage("", id="")
    if is_reply(last) and not has_calls(last):
        if get_text(last) == output:
            return []
        is_plain = is_answer and isinstance(last.content, str)
        if is_plain and output.startswith(get_text(last).strip()):
            return [last.model_copy(update={"content": output})]
    if not output:
        return []
    kwargs = {CLOSES: last.id}
    return [AIMessage(output, id=f"{last.id}-output", additional_kwargs=kwargs)]


def shared_length(before: list[Any], now: list[Any]) -> int:
    """Return how many messages two histories have in common at their start.

    Fast if one extends the other, except for some messages at its end. Returns 0 if they differ
    elsewhere.
    """
    length = min(len(before), len(now))
    while length and before[length - 1] is not now[length - 1]:
        length -= 1
    return length if before[:length] == now[:length] else 0


class PerHistory(Generic[V]):
    """The values of the messages of a history that grows at its end; each is computed once."""

    def __init__(self, compute: Callable[[BaseMessage], V]) -> None:
        self._compute = compute
        self._messages: list[BaseMessage] = []
        self._values: list[V] = []

    def list_values(self, messages: Sequence[BaseMessage]) -> list[V]:
        """Return the value of each message; the list is valid until the next call."""
        history = list(messages)
        length = shared_length(self._messages, history)
        self._values[length:] = map(self._compute, history[length:])
        self._messages = history
        return self._values


class PerMessage(Generic[V]):
    """Per-message cache; an entry is dropped when its message is garbage-collected."""

    def __init__(self, compute: Callable[[BaseMessage], V]) -> None:
        self._compute = compute
        self._entries: dict[int, tuple[weakref.ref[BaseMessage], V]] = {}

    def of(self, message: BaseMessage) -> V:
        """Return the value for a message, the same object each time."""
        key = id(message)
        entry = self._entries.get(key)
        if entry is None or entry[0]() is not message:
            reference = weakref.ref(message, partial(self._entries.pop, key))
            entry = (reference, self._compute(message))
            self._entries[key] = entry
        return entry[1]
