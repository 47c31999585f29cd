"""Messages too large for a request: the model sees their beginning, their end and a file's name.

The history keeps each message word for word, and a file in the workspace has the whole text. What a
turn's parts may have depends on that turn alone, so that it is shown alike in each request and a
prompt cache keeps its prefix.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from manus.models.tokens import estimate_message, estimate_text
from manus.nodes.active_run import Running
from manus.nodes.context.turns import turns_of
from manus.state.messages import calls_of, text_of
from manus.state.text import sanitize
from manus.tools.truncation import truncate, truncate_argument
from manus.tools.workspace import Workspace

USER = 0.5
"""Part of the room that the user's messages may take together: the oldest large ones give way."""
_QUESTION = 0.75
"""The same where the request is one question."""
_PART = 0.25
"""Part of it that one result, one text or the arguments of one call may take."""
_TURN = 0.4
"""Part of it that all of these may take in one turn."""
_LEAST = 250
"""Tokens below which a message of the user's is never shortened."""
_FEWEST = 80
"""The same for a part of a turn: the file's name must find room."""
M = TypeVar("M", bound=BaseMessage)


async def fit(
    messages: Sequence[M], room: float, workspace: Workspace, *, user: float = USER
) -> list[M]:
    """The messages of a request, each short enough for so many tokens of room."""
    limits = limits_of(messages, room, user)
    return [await _fitted(m, limits[id(m)], workspace) if id(m) in limits else m for m in messages]


async def fit_question(running: Running, role: str, *messages: BaseMessage) -> list[BaseMessage]:
    """As `fit`, for a request that is one question."""
    room = running.client.window(role)
    return await fit(messages, room, running.session.workspace, user=_QUESTION)


def limits_of(messages: Sequence[BaseMessage], room: float, user: float = USER) -> dict[int, float]:
    """By `id` of each message that is too large: the tokens that each part of it may have."""
    limits: dict[int, float] = {}
    left = user * room
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            size, most = estimate_message(message), max(left, _LEAST)
            if size > most:
                limits[id(message)] = most
            left -= min(size, most)
    for begin, end in turns_of(cast(Sequence[AnyMessage], messages)):
        turn = messages[begin:end]
        if sum(map(estimate_message, turn)) <= _PART * room:
            continue
        sizes = {id(message): _parts(message) for message in turn}
        level = _level([size for parts in sizes.values() for size in parts], room)
        limits |= {one: level for one, parts in sizes.items() if max(parts, default=0) > level}
    return limits


def _level(sizes: Sequence[float], room: float) -> float:
    """What the large parts of a turn may have each: they share what the small ones leave."""
    share = _TURN * room / max(len(sizes), 1)
    large = [size for size in sizes if size > share]
    left = _TURN * room - sum(size for size in sizes if size <= share)
    return max(_FEWEST, min(_PART * room, left / max(len(large), 1)))


def _parts(message: BaseMessage) -> list[float]:
    """The tokens of what can be shortened in a message of a turn: its text, and each call's."""
    if isinstance(message, AIMessage):
        calls = (estimate_text(_as_text(call["args"])) for call in calls_of(message))
        return [estimate_text(text_of(message)), *calls]
    return [estimate_text(text_of(message))] if isinstance(message, ToolMessage) else []


def _as_text(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


# A large message stands in every request, and a request is sent as the one before it began.
_known: dict[int, tuple[weakref.ref[BaseMessage], float, BaseMessage]] = {}


async def _fitted(message: M, limit: float, workspace: Workspace) -> M:
    key = id(message)
    known = _known.get(key)
    if known is not None and known[0]() is message and known[1] == limit:
        return cast(M, known[2])
    short = await asyncio.to_thread(_shortened, message, limit, workspace)
    gone: weakref.ref[BaseMessage] = weakref.ref(message, lambda _: _known.pop(key, None))
    _known[key] = (gone, limit, short)
    return short


def _shortened(message: M, limit: float, workspace: Workspace) -> M:
    changed: dict[str, Any] = {"content": _content(message.content, limit, workspace)}
    if isinstance(message, AIMessage):
        for kind in ("tool_calls", "invalid_tool_calls"):
            changed[kind] = [
                {**call, "args": _arguments(call["args"], limit, workspace)}
                for call in getattr(message, kind)
            ]
    return message.model_copy(update=changed)


def _content(content: str | list[Any], limit: float, workspace: Workspace) -> str | list[Any]:
    if isinstance(content, str):
        return _cut(content, limit, workspace)
    texts = [block for block in content if isinstance(block, str) or "text" in block]
    share = limit / max(len(texts), 1)
    return [_cut_block(block, share, workspace) for block in content]


def _cut_block(block: Any, tokens: float, workspace: Workspace) -> Any:
    if isinstance(block, str):
        return _cut(block, tokens, workspace)
    text = block.get("text")
    return {**block, "text": _cut(text, tokens, workspace)} if isinstance(text, str) else block


def _arguments(args: Any, limit: float, workspace: Workspace) -> Any:
    """The arguments of a call; they stay JSON. Those that are none are a text."""
    if args is None or estimate_text(_as_text(args)) <= limit:
        return args
    if isinstance(args, str):
        return _cut_argument(args, limit, workspace)
    share = max(limit / len(args), _FEWEST)
    return {
        name: _cut_argument(_as_text(value), share, workspace)
        if estimate_text(_as_text(value)) > share
        else value
        for name, value in args.items()
    }


def _cut(text: str, tokens: float, workspace: Workspace) -> str:
    if estimate_text(text) <= tokens:
        return text
    text = sanitize(text)
    return truncate(text, _characters(text, tokens), workspace)


def _cut_argument(text: str, tokens: float, workspace: Workspace) -> str:
    text = sanitize(text)
    return truncate_argument(text, _characters(text, tokens), workspace)


def _characters(text: str, tokens: float) -> int:
    return int(tokens * len(text) / max(estimate_text(text), 1.0))
