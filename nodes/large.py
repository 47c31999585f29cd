"""Messages too large for a request: the model sees their beginning, their end and a file's name.

The history keeps each message word for word, and a file in the workspace has the whole text, as it
has of an observation that was cut.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from nodes.running import Running
from nodes.tokens import estimate_message, estimate_text
from nodes.windows import window_of
from tools.clean import storable
from tools.cut import cut_observation

_TOOL = 0.25
"""Part of the window that one message of a tool may take."""
_USER = 0.5
"""Part of the window that the user's messages may take together, since they always stay."""
_QUESTION = 0.75
"""As that, where the request is one question."""
_LESS = 0.8
_LEAST = 250
"""Tokens below which a message is never shortened: the file's name must find room."""

M = TypeVar("M", bound=BaseMessage)


class Limits(NamedTuple):
    """Tokens that one message may have in a request."""

    user: float
    tool: float

    def over(self, message: BaseMessage) -> float | None:
        """The limit of a message that has more; None for one that is shown whole."""
        if isinstance(message, HumanMessage):
            limit = self.user
        elif isinstance(message, ToolMessage):
            limit = self.tool
        else:
            return None
        # most are told by their length alone
        is_large = _length(message) > limit / 4 and estimate_message(message) > limit
        return limit if is_large else None


def limits_of(history: Sequence[BaseMessage], window: int, user: float = _USER) -> Limits:
    """The limits of a history's messages; `user`: part of the window that the user's may take.

    The same from request to request until the user says more than there is room for, so that a
    provider's prompt cache keeps its prefix.
    """
    limit = user * window
    said = [estimate_message(m) for m in history if isinstance(m, HumanMessage)]
    while limit > _LEAST and sum(min(size, limit) for size in said) > user * window:
        limit *= _LESS
    return Limits(max(limit, _LEAST), max(_TOOL * window, _LEAST))


async def fitted(
    running: Running, role: str, messages: Sequence[M], *, user: float = _USER
) -> list[M]:
    """The messages of a request to the model of a role, each short enough for its window."""
    limits = limits_of(messages, window_of(running.model_settings(role), running), user)
    found = ((m, limits.over(m)) for m in messages)
    return [m if over is None else await _fitted(m, over, running) for m, over in found]


async def fitted_question(running: Running, role: str, *messages: BaseMessage) -> list[BaseMessage]:
    """As `fitted`, for a request that is one question."""
    return await fitted(running, role, messages, user=_QUESTION)


async def _fitted(message: M, limit: float, running: Running) -> M:
    key = id(message)
    known = _known.get(key)
    if known is not None and known[0]() is message and known[1] == limit:
        return known[2]  # type: ignore[return-value]
    short = message.model_copy(update={"content": await _shortened(message, limit, running)})
    gone: weakref.ref[BaseMessage] = weakref.ref(message, lambda _: _known.pop(key, None))
    _known[key] = (gone, limit, short)
    return short


# A large message stands in every request, and a request is sent as the one before it began.
_known: dict[int, tuple[weakref.ref[BaseMessage], float, BaseMessage]] = {}


async def _shortened(message: BaseMessage, limit: float, running: Running) -> str | list[Any]:
    content = message.content
    if isinstance(content, str):
        return await _cut(content, limit, running)
    texts = [estimate_text(_text(block)) for block in content]
    share = limit / max(sum(size > limit / len(texts) for size in texts), 1)
    return [
        _with_text(block, await _cut(_text(block), share, running)) if size > share else block
        for block, size in zip(content, texts, strict=True)
    ]


async def _cut(text: str, limit: float, running: Running) -> str:
    """The text with about so many tokens."""
    text = storable(text)
    characters = int(limit * len(text) / max(estimate_text(text), 1.0))
    return await asyncio.to_thread(cut_observation, text, characters, running.session.workspace)


def _text(block: Any) -> str:
    if isinstance(block, str):
        return block
    return str(block.get("text") or "") if isinstance(block, dict) else ""


def _with_text(block: Any, text: str) -> Any:
    return text if isinstance(block, str) else {**block, "text": text}


def _length(message: BaseMessage) -> int:
    content = message.content
    return len(content) if isinstance(content, str) else sum(len(_text(b)) for b in content)
