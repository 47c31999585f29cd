"""Render a history for a request: truncate large messages and frame untrusted content.

The history keeps each message unchanged, and a file in the workspace has the full text of each
truncated one. The limits within a turn depend on that turn alone, so that it is rendered
identically in each request and the prompt cache keeps its prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from manus.calls.on_demand import DispatchedCalls
from manus.calls.truncation import truncate
from manus.config.provider_table import DEFAULT_MODEL
from manus.models.tokens import (
    estimate_message,
    estimate_text,
    get_window,
)
from manus.nodes.turns import format_arguments, is_summary, split_turns
from manus.prompts.agent import SENT_MEANWHILE
from manus.prompts.sources import framed
from manus.prompts.tools import IMAGE_LEFT_OUT
from manus.state.history import PerMessage
from manus.state.messages import (
    DESCRIPTION,
    SOURCE,
    STEER,
    THROUGH,
    get_own_text,
    get_source,
    get_text,
    is_image,
    list_calls,
    with_texts,
)
from manus.state.text import sanitize
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.nodes.active_run import ActiveRun

USER = 0.5
"""Share of the room for all user messages; the oldest large ones are truncated first."""
_QUESTION = 0.75
"""The same share if the request is a single question."""
_PART = 0.25
"""Maximum share of the room for one result, one text, or the arguments of one call."""
_TURN = 0.4
"""Maximum share of the room for all parts of one turn."""
_MIN_USER = 250
"""Tokens up to which a user message is never truncated."""
_MIN_PART = 80
"""The same for a part of a turn: the name of the file with the full text needs room."""
_NOT_IN_CALL = "left out here, not in the call"
_MIN_ROOM = 0.1
"""Minimum share of the window for the history, however large the system prompt and tools are."""
M = TypeVar("M", bound=BaseMessage)


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of a model, and the parts that every request has besides the history."""

    size: int
    around: float
    """Estimated tokens of the system prompt and tool schemas."""
    room: float
    """Estimated tokens left for the history; the same at each step."""
    factor: float
    """Ratio of the tokens that the server counts to the estimate."""
    full: float
    """Tokens of a request that leaves room for nothing but the reply."""
    vision: bool
    """Whether the model sees images."""

    def count(self, messages: Sequence[BaseMessage]) -> float:
        """Estimate the tokens of messages."""
        return self.factor * sum(map(estimate_message, messages))


def context_window(active_run: ActiveRun, role: str, system: str) -> ContextWindow:
    """Return the context window of a role's model, with this system prompt and the tools."""
    client = active_run.client
    endpoint = client.chain_of(role)[0]
    size = get_window(endpoint, client.get_chat_model(endpoint))
    sizes = client.caches[role].sizes
    around = estimate_text(system) + sizes.estimate_tools(active_run.catalog.schemas())
    return ContextWindow(
        size=size,
        around=around,
        room=max(size - around, _MIN_ROOM * size),
        factor=client.calibration.get(endpoint.model or DEFAULT_MODEL, 1.0),
        full=size - min(endpoint.max_tokens or 0, size / 2),
        vision=endpoint.vision,
    )


class RenderedHistory:
    """The history of a run as its requests contain it; each message is rendered once.

    A history grows at its end. If it has changed elsewhere, it is rendered again from the start.

    Attributes:
        ids: Ids of its messages and of their calls.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.ids: set[str] = set()
        self._workspace = workspace
        self._history: list[AnyMessage] = []
        self._rendered: list[AnyMessage] = []
        self._form = (0.0, True)
        self._dispatched = DispatchedCalls()

    async def render(self, history: list[AnyMessage], window: ContextWindow) -> list[AnyMessage]:
        """Return the messages as a model with this context window can receive them."""
        count = len(self._history)
        form = (window.room, window.vision)
        is_same = form == self._form and history[:count] == self._history
        if not is_same or any(isinstance(m, HumanMessage) for m in history[count:]):
            count = 0  # a new user message leaves less room for the older ones
        fitted = await fit_messages(history[count:], window.room, self._workspace)
        render = _RENDERED[window.vision].of
        new = []
        for message in fitted:
            if THROUGH in message.additional_kwargs or self._dispatched.ids:
                message = self._dispatched.wrap(message)
            new.append(cast(AnyMessage, render(message)))
        self._rendered = [*self._rendered[:count], *new]
        self._history = history[:]
        self._form = form
        if count == 0:
            self.ids = set()
        for message in history[count:]:
            self.ids.add(str(message.id))
            if isinstance(message, AIMessage):
                self.ids |= {str(call["id"]) for call in list_calls(message)}
        return self._rendered


def render_message(message: BaseMessage, *, vision: bool) -> BaseMessage:
    """Return a message as the model receives it: notes as a user message, untrusted results framed.

    In the history the notes are a system message, because they are not a request, but servers
    refuse a system message that is not the first. The frame is added here, so that truncation
    cannot cut it. Without `vision`, a line replaces each image.
    """
    if isinstance(message, SystemMessage) and is_summary(message):
        return HumanMessage(message.content, id=message.id)
    content: Any = message.content
    if STEER in message.additional_kwargs:
        content = f"{SENT_MEANWHILE}\n\n{get_text(message)}"
    if isinstance(content, list) and not vision:
        placeholder = text_block(IMAGE_LEFT_OUT)
        content = [placeholder if is_image(block) else block for block in content]
    if isinstance(message, ToolMessage):
        is_plain = isinstance(content, str) and content.isascii()
        if SOURCE in message.additional_kwargs or not is_plain:  # to be framed, or hidden text
            source = get_source(message)
            frame = partial(framed, source=source, own_text=get_own_text(message))
            content = with_texts(content, frame)
        if DESCRIPTION in message.additional_kwargs:
            content = _append(content, message.additional_kwargs[DESCRIPTION])
    if content == message.content:
        return message
    return message.model_copy(update={"content": content})


_RENDERED = {vision: PerMessage(partial(render_message, vision=vision)) for vision in (False, True)}


def text_block(text: str) -> dict[str, str]:
    """Return the content block of a text."""
    return {"type": "text", "text": text}


def _append(content: Any, text: str) -> Any:
    """Return the content of a message with a text at its end."""
    if not text:
        return content
    return f"{content}{text}" if isinstance(content, str) else [*content, text_block(text)]


async def fit_messages(
    messages: Sequence[M], room: float, workspace: Workspace, *, user: float = USER
) -> list[M]:
    """Return the messages of a request, truncated so that they fit into `room` tokens."""
    limits = token_limits(messages, room, user)
    fitted = []
    for message in messages:
        if id(message) in limits:
            limit = limits[id(message)]
            message = await asyncio.to_thread(_truncate_message, message, limit, workspace)
        fitted.append(message)
    return fitted


async def fit_question(
    active_run: ActiveRun, role: str, *messages: BaseMessage
) -> list[BaseMessage]:
    """Return the messages of a request that is a single question, truncated to fit."""
    room = active_run.client.window(role)
    return await fit_messages(messages, room, active_run.session.workspace, user=_QUESTION)


def token_limits(
    messages: Sequence[BaseMessage], room: float, user: float = USER
) -> dict[int, float]:
    """Return, by `id()` of each message that is too large, the tokens for each of its parts."""
    if sum(map(estimate_message, messages)) <= min(user, _PART) * room:
        return {}
    limits = _user_limits(messages, user * room)
    for start, end in split_turns(cast(Sequence[AnyMessage], messages)):
        turn = messages[start:end]
        if sum(map(estimate_message, turn)) <= _PART * room:
            continue
        sizes = {id(message): _part_sizes(message) for message in turn}
        limit = _part_limit(list(chain.from_iterable(sizes.values())), room)
        for key, parts in sizes.items():
            if max(parts, default=0) > limit:
                limits[key] = limit
    return limits


def _user_limits(messages: Sequence[BaseMessage], room: float) -> dict[int, float]:
    """Return the limits of the user's messages; the newest ones get room first."""
    limits: dict[int, float] = {}
    remaining = room
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            size = estimate_message(message)
            limit = max(remaining, _MIN_USER)
            if size > limit:
                limits[id(message)] = limit
            remaining -= min(size, limit)
    return limits


def _part_limit(sizes: Sequence[float], room: float) -> float:
    """Return the limit of each large part of a turn: they share what the small ones leave."""
    share = _TURN * room / max(len(sizes), 1)
    large = 0
    remaining = _TURN * room
    for size in sizes:
        if size > share:
            large += 1
        else:
            remaining -= size
    return max(_MIN_PART, min(_PART * room, remaining / max(large, 1)))


def _part_sizes(message: BaseMessage) -> list[float]:
    """Return the tokens of each part that can be truncated: the text and the calls' arguments."""
    if not isinstance(message, AIMessage | ToolMessage):
        return []
    sizes = [estimate_text(get_text(message))]
    if isinstance(message, AIMessage):
        for call in list_calls(message):
            sizes.append(estimate_text(format_arguments(call["args"])))
    return sizes


def _truncate_message(message: M, limit: float, workspace: Workspace) -> M:
    blocks = message.content if isinstance(message.content, list) else []
    texts = [block for block in blocks if isinstance(block, str) or "text" in block]
    share = limit / max(len(texts), 1)
    content = with_texts(message.content, lambda text: _truncate_text(text, share, workspace))
    changes: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage):
        for kind in ("tool_calls", "invalid_tool_calls"):
            calls = []
            for call in getattr(message, kind):
                arguments = _truncate_arguments(call["args"], limit, workspace)
                calls.append({**call, "args": arguments})
            changes[kind] = calls
    return message.model_copy(update=changes)


def _truncate_arguments(arguments: Any, limit: float, workspace: Workspace) -> Any:
    """Truncate the arguments of a call; they stay valid JSON. Invalid ones are a string."""
    if arguments is None or estimate_text(format_arguments(arguments)) <= limit:
        return arguments
    if isinstance(arguments, str):
        return _truncate_text(arguments, limit, workspace, _NOT_IN_CALL)
    share = max(limit / len(arguments), _MIN_PART)
    truncated = {}
    for name, value in arguments.items():
        text = format_arguments(value)
        shorter = _truncate_text(text, share, workspace, _NOT_IN_CALL)
        truncated[name] = value if shorter == text else shorter
    return truncated


def _truncate_text(text: str, tokens: float, workspace: Workspace, label: str = "left out") -> str:
    size = estimate_text(text)
    if size <= tokens:
        return text
    text = sanitize(text)
    return truncate(text, int(tokens * len(text) / size), workspace, reason=label)
