"""Messages too large for a request: the model sees their beginning, their end and a file's name.

The history keeps each message word for word, and a file in the workspace has the whole text, as it
has of an observation that was cut.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage

from manus.models.tokens import estimate_text
from manus.nodes.active_run import Running
from manus.nodes.context.limits import USER, limits_of
from manus.nodes.context.short_arguments import short_arguments
from manus.state.messages import text_of
from manus.state.sanitize import sanitize
from manus.tools.truncation import truncate, truncate_argument

_QUESTION = 0.75
"""Part of the window that the user's messages may take where the request is one question."""

M = TypeVar("M", bound=BaseMessage)


async def fitted(
    running: Running, messages: Sequence[M], room: float, *, user: float = USER
) -> list[M]:
    """The messages of a request, each short enough for so many tokens of room."""
    limits = limits_of(messages, room, user)
    found = ((m, limits.over(m)) for m in messages)
    return [m if over is None else await _fitted(m, over, running) for m, over in found]


async def fitted_question(running: Running, role: str, *messages: BaseMessage) -> list[BaseMessage]:
    """As `fitted`, for a request that is one question."""
    return await fitted(running, messages, running.client.window(role).size, user=_QUESTION)


async def _fitted(message: M, limit: float, running: Running) -> M:
    key = id(message)
    known = _known.get(key)
    if known is not None and known[0]() is message and known[1] == limit:
        return known[2]  # type: ignore[return-value]
    short = message.model_copy(update=await _shorter(message, limit, running))
    gone: weakref.ref[BaseMessage] = weakref.ref(message, lambda _: _known.pop(key, None))
    _known[key] = (gone, limit, short)
    return short


# A large message stands in every request, and a request is sent as the one before it began.
_known: dict[int, tuple[weakref.ref[BaseMessage], float, BaseMessage]] = {}


async def _shorter(message: BaseMessage, limit: float, running: Running) -> dict[str, Any]:
    """What of a message is shown otherwise."""
    if not isinstance(message, AIMessage):
        return {"content": await _shortened(message, limit, running)}
    changed: dict[str, Any] = {}
    if estimate_text(text_of(message)) > limit:
        changed["content"] = await _shortened(message, limit, running)
    for kind, calls in (
        ("tool_calls", message.tool_calls),
        ("invalid_tool_calls", message.invalid_tool_calls),
    ):
        changed[kind] = [await asyncio.to_thread(_short_call, c, limit, running) for c in calls]
    return changed


def _short_call(call: Any, limit: float, running: Running) -> Any:
    def cut(text: str, tokens: float) -> str:
        text = sanitize(text)
        return truncate_argument(text, _characters(text, tokens), running.session.workspace)

    return {**call, "args": short_arguments(call["args"], limit, cut)}


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
    text = sanitize(text)
    characters = _characters(text, limit)
    return await asyncio.to_thread(truncate, text, characters, running.session.workspace)


def _characters(text: str, tokens: float) -> int:
    return int(tokens * len(text) / max(estimate_text(text), 1.0))


def _text(block: Any) -> str:
    if isinstance(block, str):
        return block
    return str(block.get("text") or "") if isinstance(block, dict) else ""


def _with_text(block: Any, text: str) -> Any:
    return text if isinstance(block, str) else {**block, "text": text}
