"""A history as a model is shown it: what is too large shortened, what is from outside in a frame.

The history keeps each message word for word, and a file in the workspace has the whole of a text
that was shortened. What a turn's parts may have depends on that turn alone, so that it is shown
alike in each request and a prompt cache keeps its prefix.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from manus.execution.truncation import truncate
from manus.execution.workspace import Workspace
from manus.models.providers import DEFAULT_MODEL
from manus.models.tokens import (
    estimate_message,
    estimate_request,
    estimate_text,
    estimate_tools,
    window_of,
)
from manus.nodes.context.turns import is_summary, turns_of
from manus.prompts.sources import framed
from manus.state.messages import call_ids, calls_of, is_image, source_of, text_of, with_texts
from manus.state.text import sanitize

if TYPE_CHECKING:
    from manus.nodes.active_run import ActiveRun

IMAGE_LEFT_OUT = "[An image was left out here: this model does not see images.]"
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
_NOT_IN_CALL = "left out here, not in the call"
_FEWEST = 80
"""The same for a part of a turn: the file's name must find room."""
_LEAST_ROOM = 0.1
"""Part of the window that the history is taken to have, however much stands around it."""
M = TypeVar("M", bound=BaseMessage)


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of a model, and what always stands in it."""

    size: int
    around: float
    """What stands around the history, as estimated."""
    room: float
    """What is left for the history, as estimated: it stays the same from step to step."""
    factor: float
    """What an estimate is multiplied by to be what the server counts."""
    full: float
    """The size of a request that leaves nothing but the reply free."""
    vision: bool
    """Whether it sees images."""

    def count(self, messages: Sequence[BaseMessage]) -> float:
        """About how many tokens the messages have."""
        return self.factor * estimate_request(messages)


def context_window(active_run: ActiveRun, role: str, system: str) -> ContextWindow:
    """The window of the model of a role as things are now, with this system prompt."""
    client = active_run.client
    endpoint = client.chain_of(role)[0]
    size = window_of(endpoint, client.chat_model_of(endpoint))
    around = estimate_text(system) + estimate_tools(active_run.catalog.schemas())
    return ContextWindow(
        size=size,
        around=around,
        room=max(size - around, _LEAST_ROOM * size),
        factor=client.calibration.get(endpoint.model or DEFAULT_MODEL, 1.0),
        full=size - min(endpoint.max_tokens or 0, size / 2),
        vision=endpoint.vision,
    )


class Shown:
    """The history of a run as its requests have it: each message is brought into that form once.

    A history grows at its end. Where it has changed elsewhere, all of it is looked at anew.

    Attributes:
        ids: Those of its messages and their calls.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.ids: set[str] = set()
        self._workspace = workspace
        self._history: list[AnyMessage] = []
        self._shown: list[AnyMessage] = []
        self._form = (0.0, True)

    async def of(self, history: list[AnyMessage], window: ContextWindow) -> list[AnyMessage]:
        """The messages as a model with this window can have them."""
        count = len(self._history)
        form = (window.room, window.vision)
        is_same = form == self._form and history[:count] == self._history
        if not is_same or any(isinstance(m, HumanMessage) for m in history[count:]):
            count = 0  # with a new message of the user's, the older ones have less room
        fitted = await fit(history[count:], window.room, self._workspace)
        new = [as_shown(message, vision=window.vision) for message in fitted]
        self._shown = [*self._shown[:count], *new]
        self._history = history[:]
        self._form = form
        self.ids = self.ids if count else set()
        for message in history[count:]:
            self.ids.add(str(message.id))
            if isinstance(message, AIMessage):
                self.ids.update(call_ids(message))
        return self._shown


def as_shown(message: AnyMessage, *, vision: bool) -> AnyMessage:
    """A message as the model sees it: notes come as the user's, results from outside in a frame.

    Servers refuse a system message that is not the first one; in the history it is one, since it
    is no request. A frame is not part of the history: what shortens a message cannot cut it. Where
    the model sees no images, each has a line in its place.
    """
    if is_summary(message):
        return HumanMessage(message.content, id=message.id)
    content: Any = message.content
    if isinstance(content, list) and not vision:
        left_out = {"type": "text", "text": IMAGE_LEFT_OUT}
        content = [left_out if is_image(block) else block for block in content]
    if isinstance(message, ToolMessage):
        content = with_texts(content, partial(framed, source=source_of(message)))
    same = content == message.content
    return message if same else message.model_copy(update={"content": content})


async def fit(
    messages: Sequence[M], room: float, workspace: Workspace, *, user: float = USER
) -> list[M]:
    """The messages of a request, each short enough for so many tokens of room."""
    limits = limits_of(messages, room, user)
    return [
        await asyncio.to_thread(_shortened, m, limits[id(m)], workspace) if id(m) in limits else m
        for m in messages
    ]


async def fit_question(
    active_run: ActiveRun, role: str, *messages: BaseMessage
) -> list[BaseMessage]:
    """As `fit`, for a request that is one question."""
    room = active_run.client.window(role)
    return await fit(messages, room, active_run.session.workspace, user=_QUESTION)


def limits_of(messages: Sequence[BaseMessage], room: float, user: float = USER) -> dict[int, float]:
    """By `id` of each message that is too large: the tokens that each part of it may have."""
    limits: dict[int, float] = {}
    left = user * room
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            size = estimate_message(message)
            most = max(left, _LEAST)
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


def _shortened(message: M, limit: float, workspace: Workspace) -> M:
    blocks = message.content if isinstance(message.content, list) else []
    texts = [block for block in blocks if isinstance(block, str) or "text" in block]
    share = limit / max(len(texts), 1)
    changed: dict[str, Any] = {
        "content": with_texts(message.content, lambda text: _cut(text, share, workspace))
    }
    if isinstance(message, AIMessage):
        for kind in ("tool_calls", "invalid_tool_calls"):
            changed[kind] = [
                {**call, "args": _arguments(call["args"], limit, workspace)}
                for call in getattr(message, kind)
            ]
    return message.model_copy(update=changed)


def _arguments(args: Any, limit: float, workspace: Workspace) -> Any:
    """The arguments of a call; they stay JSON. Those that are none are a text."""
    if args is None or estimate_text(_as_text(args)) <= limit:
        return args
    if isinstance(args, str):
        return _cut(args, limit, workspace, _NOT_IN_CALL)
    share = max(limit / len(args), _FEWEST)
    cut = {n: _cut(_as_text(value), share, workspace, _NOT_IN_CALL) for n, value in args.items()}
    return {n: cut[n] if cut[n] != _as_text(value) else value for n, value in args.items()}


def _cut(text: str, tokens: float, workspace: Workspace, what: str = "left out") -> str:
    size = estimate_text(text)
    if size <= tokens:
        return text
    text = sanitize(text)
    return truncate(text, int(tokens * len(text) / size), workspace, what=what)
