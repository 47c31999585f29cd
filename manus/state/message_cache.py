"""Values of messages, computed once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.messages import BaseMessage

V = TypeVar("V")


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
