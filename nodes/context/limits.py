"""How many tokens each message of a request may have, so that all of it fits into the window.

The user's messages share one half of the room, and each turn has two fifths of it for the agent's
text, the arguments of its calls and what came of them. What a turn's parts may have depends on that
turn alone, so that a message is shown alike in each request and a prompt cache keeps its prefix.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from manus.models.tokens import estimate_message, estimate_text
from manus.nodes.context.compaction import turns_of
from manus.state.messages import calls_of, text_of

USER = 0.5
"""Part of the room that the user's messages may take together, since they always stay."""
_PART = 0.25
"""Part of it that one result, one text or the arguments of one call may take."""
_TURN = 0.4
"""Part of it that all of these may take in one turn."""
_LESS = 0.8
_LEAST = 250
"""Tokens below which a message of the user's is never shortened."""
_FEWEST = 80
"""As that, for a part of a turn: the file's name must find room."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens that the messages of a history may have in a request."""

    user: float
    parts: Mapping[int, float]
    """By `id` of a message: tokens that each part of it may have, where that matters."""

    def over(self, message: BaseMessage) -> float | None:
        """The limit of a message, or of each part of it, that has more; None where it is whole."""
        if isinstance(message, HumanMessage):
            # most are told by their length alone
            is_large = _length(message) > self.user / 4 and estimate_message(message) > self.user
            return self.user if is_large else None
        return self.parts.get(id(message))

    def size(self, message: BaseMessage) -> float:
        """About how many tokens a message has as it is shown."""
        limit = self.over(message)
        if limit is None:
            return estimate_message(message)
        if isinstance(message, HumanMessage):
            return limit
        left_out = sum(max(0.0, size - limit) for size in _parts(message))
        return max(estimate_message(message) - left_out, 0.0)


def limits_of(messages: Sequence[BaseMessage], room: float, user: float = USER) -> Limits:
    """The limits of messages that have so many tokens of room.

    `user`: part of it that the user's may take; their limit is the same from request to request
    until the user says more than there is room for.
    """
    limit = user * room
    said = [estimate_message(m) for m in messages if isinstance(m, HumanMessage)]
    while limit > _LEAST and sum(min(size, limit) for size in said) > user * room:
        limit *= _LESS
    parts: dict[int, float] = {}
    for begin, end in turns_of(cast(Sequence[AnyMessage], messages)):
        parts.update(_shares(messages[begin:end], room))
    return Limits(max(limit, _LEAST), parts)


def level_of(sizes: Sequence[float], together: float) -> float:
    """The largest size such that parts cut down to it have no more than `together`."""
    left = together
    for place, size in enumerate(sorted(sizes)):
        share = left / (len(sizes) - place)
        if size > share:
            return max(share, _FEWEST)
        left -= size
    return max(max(sizes, default=0.0), _FEWEST)


def _shares(turn: Sequence[BaseMessage], room: float) -> Mapping[int, float]:
    """By `id` of the messages in which something is too large: what each part may have."""
    key = id(turn[0])
    known = _known.get(key)
    if known is not None and known.room == room and known.is_of(turn):
        return known.shares
    shares = _measured(turn, room)
    first = weakref.ref(turn[0], lambda _: _known.pop(key, None))
    _known[key] = _Known(room, (first, *map(weakref.ref, turn[1:])), shares)
    return shares


class _Known(NamedTuple):
    room: float
    turn: tuple[weakref.ref[BaseMessage], ...]
    shares: Mapping[int, float]

    def is_of(self, turn: Sequence[BaseMessage]) -> bool:
        """Whether it is of these messages: another one may have the `id` of one that has gone."""
        same = (kept() is message for kept, message in zip(self.turn, turn, strict=False))
        return len(self.turn) == len(turn) and all(same)


# A turn stands in many requests.
_known: dict[int, _Known] = {}


def _measured(turn: Sequence[BaseMessage], room: float) -> Mapping[int, float]:
    most = _PART * room
    if sum(map(_length, turn)) <= most / 4 or sum(map(estimate_message, turn)) <= most:
        return {}
    sizes = {id(message): _parts(message) for message in turn}
    each = [min(size, most) for parts in sizes.values() for size in parts]
    level = max(min(level_of(each, _TURN * room), most), _FEWEST)
    return {one: level for one, parts in sizes.items() if max(parts, default=0.0) > level}


def _parts(message: BaseMessage) -> list[float]:
    """The tokens of what can be shortened in a message of a turn: its text, and each call's."""
    if isinstance(message, AIMessage):
        calls = (estimate_text(as_text(call["args"])) for call in calls_of(message))
        return [estimate_text(text_of(message)), *calls]
    return [estimate_text(text_of(message))] if isinstance(message, ToolMessage) else []


def as_text(args: Any) -> str:
    """The arguments of a call as a request has them."""
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


def _length(message: BaseMessage) -> int:
    content = message.content
    size = len(content) if isinstance(content, str) else len(text_of(message))
    if isinstance(message, AIMessage):
        for calls in (message.tool_calls, message.invalid_tool_calls):
            size += sum(len(str(call["args"])) for call in calls)
    return size
