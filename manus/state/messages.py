"""The reducer of the history, and small questions one asks of it."""

from __future__ import annotations

import contextlib
import itertools
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    InvalidToolCall,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import ValidationError

MALFORMED_AT = "malformed_at"
"""In a message's `additional_kwargs`: the places of its malformed calls among all, ascending."""

CUT_OFF = "cut_off"
"""In a reply's `additional_kwargs`: it ended without a reason, which its provider always gives."""

SOURCE = "source"
"""In a tool message's `additional_kwargs`: where its text comes from (`prompts/sources.py`)."""

CALL_FACTS = "call"
"""In a tool message's `additional_kwargs`: how long its call took (`seconds`), whether it was
`executed`, and perhaps the `fingerprint` of what came of it."""

FROM_TOOL = "from_tool"
"""In the `additional_kwargs` of a message that a tool has put into the history: the tool's name."""

FAILED = "failed"
"""In a tool message's `additional_kwargs`: the call was refused, or its tool failed; a command that
ended with an exit code did not."""

_AT_LIMIT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_AT_LIMIT |= {"model_context_window_exceeded"}
_TIMES = 8
_REPEATED = 600
"""Characters of repetition at a reply's end that are taken for a model that does not stop."""
_LONGEST = 2_000
"""Characters of a passage that is looked for."""
_IDS = uuid.UUID("9d0f7a52-0f4b-4b0e-9a52-7f1f7f0f6a11")
_DUMPED: dict[str, type[BaseMessage]] = {
    "ai": AIMessage,
    "human": HumanMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
}

V = TypeVar("V")


def append_messages(history: Sequence[Any], writes: Sequence[Any]) -> list[AnyMessage]:
    """Fold writes into the history; the reducer of the `messages` channel.

    Deterministic and batching-invariant, as `DeltaChannel` asks: a checkpoint stores only the
    writes, and reading it replays them. So a message without an id gets one made from its place
    and content, not a random one, and what was written is never changed. A message whose id is
    known replaces the old one in place; `RemoveMessage` removes one, or all with
    `REMOVE_ALL_MESSAGES`. The LangGraph server hands over a forked history as plain dicts.
    A write is a message, its dict, `(role, text)` or text form, or a list of them.
    """
    is_dumped = any(isinstance(m, dict) for m in history[:1])
    merged = cast(list[AnyMessage], [*map(_as_message, history)] if is_dumped else [*history])
    known = {message.id for message in merged}
    for write in writes:
        for message in as_messages(write):
            _fold(merged, known, message)
    return merged


def as_messages(write: Any) -> list[BaseMessage]:
    """Return the messages of a write: a message, its dict, `(role, text)`, text, or a list."""
    is_pair = isinstance(write, tuple) and len(write) == 2 and isinstance(write[0], str)
    several = isinstance(write, list | tuple) and not is_pair
    return [_as_message(item) for item in (write if several else [write])]


def _as_message(item: Any) -> BaseMessage:
    if isinstance(item, dict) and item.get("type") in _DUMPED:
        # what a message's own dump looks like, as Studio and the SDK send it back
        with contextlib.suppress(ValidationError):
            return _DUMPED[item["type"]].model_validate(item)
    [message] = convert_to_messages([item])
    return message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message


def _fold(merged: list[AnyMessage], known: set[str | None], message: BaseMessage) -> None:
    if isinstance(message, RemoveMessage):
        every = message.id == REMOVE_ALL_MESSAGES
        merged[:] = [] if every else [m for m in merged if m.id != message.id]
        known.clear()
        known.update(m.id for m in merged)
        return
    if message.id is None:
        # a copy: the same object written twice is two messages, as it is when read from storage
        message = message.model_copy(update={"id": _new_id(merged, known, message)})
    if message.id in known:
        index = next(i for i, m in enumerate(merged) if m.id == message.id)
        merged[index] = cast(AnyMessage, message)
    else:
        merged.append(cast(AnyMessage, message))
        known.add(message.id)


def _new_id(merged: list[AnyMessage], known: set[str | None], message: BaseMessage) -> str:
    # a place is used again after a removal, so the first id may be taken
    seed = f"{len(merged)}:{message.type}:{message.content!r}"
    ids = (str(uuid.uuid5(_IDS, seed + "'" * again)) for again in itertools.count())
    return next(new for new in ids if new not in known)


def calls_of(message: AIMessage) -> list[ToolCall | InvalidToolCall]:
    """All calls of a message, well-formed or not, in call order.

    LangChain keeps the two kinds apart; `MALFORMED_AT` says where the malformed ones stood. Where
    a provider does not tell, they come last.
    """
    calls: list[ToolCall | InvalidToolCall] = [*message.tool_calls]
    if not message.invalid_tool_calls:
        return calls
    places = message.additional_kwargs.get(MALFORMED_AT, ())
    for index, call in enumerate(message.invalid_tool_calls):
        calls.insert(places[index] if index < len(places) else len(calls), call)
    return calls


def call_ids(message: AIMessage) -> list[str]:
    """Ids of all calls of a message, in call order."""
    return [str(call["id"]) for call in calls_of(message)]


def has_calls(message: BaseMessage) -> bool:
    """Whether an assistant message asks for tools, with well-formed arguments or not."""
    return isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)


def ephemeral(text: str, images: Sequence[dict[str, Any]] = ()) -> HumanMessage:
    """A message that belongs to one request alone and never to the history.

    `images` are content blocks.
    """
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    return HumanMessage(content, additional_kwargs={"ephemeral": True})


def is_ephemeral(message: BaseMessage) -> bool:
    """Whether a message belongs to one request alone."""
    return bool(message.additional_kwargs.get("ephemeral"))


def call_facts(message: ToolMessage) -> dict[str, Any]:
    """Return what is known of the call that a tool message answers (see `CALL_FACTS`)."""
    facts = message.additional_kwargs.get(CALL_FACTS)
    if facts is None and isinstance(message.artifact, dict) and "executed" in message.artifact:
        facts = message.artifact  # as earlier releases stored it
    return facts or {}


def is_reply(message: BaseMessage) -> bool:
    """Return whether a message is the model's, and not an assistant message that a tool made."""
    return isinstance(message, AIMessage) and FROM_TOOL not in message.additional_kwargs


def is_from_user(message: BaseMessage) -> bool:
    """Return whether a message is the user's, and not one that a tool made in their name."""
    return isinstance(message, HumanMessage) and FROM_TOOL not in message.additional_kwargs


def last_assistant(history: Sequence[AnyMessage]) -> AIMessage | None:
    """The newest assistant message, or None."""
    return cast("AIMessage | None", next(filter(is_reply, reversed(history)), None))


def newest_answers(history: Sequence[AnyMessage]) -> list[ToolMessage]:
    """The tool messages behind the newest assistant message, in their order."""
    newest = itertools.takewhile(lambda m: not is_reply(m), reversed(history))
    return [m for m in newest if isinstance(m, ToolMessage)][::-1]


def last_request(history: Sequence[AnyMessage]) -> HumanMessage:
    """The newest message of the user; an empty one, with an empty id, if there is none."""
    found = next(filter(is_from_user, reversed(history)), None)
    return cast(HumanMessage, found or HumanMessage("", id=""))


def messages_since(history: Sequence[AnyMessage], message_id: str | None) -> list[AnyMessage]:
    """The part of the history after the message with that id; all of it if there is none."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].id == message_id:
            return list(history[index + 1 :])
    return list(history)


def is_image(block: object) -> bool:
    """Whether a block of a message's content is a picture."""
    return isinstance(block, dict) and block.get("type") in ("image", "image_url")


def with_texts(content: Any, change: Callable[[str], str]) -> Any:
    """The content of a message, each text in it changed."""
    if isinstance(content, str):
        return change(content)
    if isinstance(content, list):
        return [with_texts(block, change) for block in content]
    text = content.get("text")
    return {**content, "text": change(text)} if isinstance(text, str) and text else content


def source_of(message: BaseMessage) -> str:
    """Where the text of a message comes from; empty if it is our own, or the user's."""
    return str(message.additional_kwargs.get(SOURCE, ""))


def text_of(message: BaseMessage) -> str:
    """The text of a message, whatever form its content has; images and other blocks left out."""
    return str(message.text)


def readable_thoughts(message: AIMessage) -> str:
    """What of a message, or of a piece of one, is thought and can be read; nothing sealed."""
    said = message.additional_kwargs.get("reasoning_content")
    if said or isinstance(message.content, str):
        return str(said or "")
    blocks = message.content_blocks
    return "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")


def reason_of(message: AIMessage) -> str:
    """Why a reply ended, in the provider's word, in lower case."""
    said = message.response_metadata
    names = ("finish_reason", "stop_reason", "stopReason", "done_reason")
    return next((str(said[name]).lower() for name in names if said.get(name)), "")


def ended_at_limit(message: AIMessage) -> bool:
    """Whether a reply ended at its length limit, so that its last call may lack its end."""
    return reason_of(message) in _AT_LIMIT


def is_cut_off(message: AIMessage) -> bool:
    """Whether a reply ended at its length limit, or without saying why."""
    return ended_at_limit(message) or bool(message.additional_kwargs.get(CUT_OFF))


def is_empty(message: AIMessage) -> bool:
    """Whether a reply says nothing and calls nothing."""
    return not has_calls(message) and not text_of(message).strip()


def find_reply_fault(message: AIMessage) -> Literal["cut off", "repeats itself"] | None:
    """Why the text of a reply is no answer; None where it may be one.

    A reply with calls is not judged: what is wrong with a call is said of that call.
    """
    if has_calls(message):
        return None
    if _repeats_itself(text_of(message).rstrip()):
        return "repeats itself"
    return "cut off" if ended_at_limit(message) else None


def _repeats_itself(text: str) -> bool:
    """Whether a text ends in one passage over and over: at least 8 times, and 600 characters."""
    for period in range(1, min(_LONGEST, len(text) // _TIMES) + 1):
        size = max(_TIMES * period, _REPEATED)
        is_like = size <= len(text) and text[-1] == text[-1 - period]  # cheap, and mostly not so
        if is_like and text[-size:-period] == text[-size + period :]:
            return True
    return False


class PerMessage(Generic[V]):
    """What is made of a message once, and kept as long as the message lives."""

    def __init__(self, make: Callable[[BaseMessage], V]) -> None:
        self._make = make
        self._made: dict[int, tuple[weakref.ref[BaseMessage], V]] = {}

    def of(self, message: BaseMessage) -> V:
        """What was made of a message; the same object each time."""
        key = id(message)
        known = self._made.get(key)
        if known is None or known[0]() is not message:
            gone = weakref.ref(message, lambda _: self._made.pop(key, None))
            known = self._made[key] = (gone, self._make(message))
        return known[1]
