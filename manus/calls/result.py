"""Results of tool calls: ours, those of any LangChain tool, and their form in the journal."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from manus.state.agent import Refusal
from manus.state.history import as_messages
from manus.threads.outside_effects import UNCERTAIN

log = logging.getLogger("manus")

_FIELDS = ("update", "artifact", "preceding", "following", "handoff")


@dataclass(frozen=True, slots=True)
class Image:
    """An image for the model: base64 data and a media type, or a URL."""

    data: str
    mime: str = "image/png"
    url: str = ""

    def as_block(self) -> dict[str, Any]:
        """Return the image as a content block of a message."""
        url = self.url or f"data:{self.mime};base64,{self.data}"
        return {"type": "image_url", "image_url": {"url": url}}


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one call, as the model will see it.

    `update` changes channels of the state other than `messages`. `fingerprint` replaces the text in
    loop detection, for example with a digest of the page after a browser action. `executed` is
    false for a call that was answered without execution. `source` is the source of the text
    (`prompts/sources.py`), or empty for our own text.
    """

    text: str
    images: tuple[Image, ...] = ()
    is_error: bool = False
    update: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    executed: bool = True
    source: str = ""
    is_exit_code: bool = False
    """Whether the error is the exit code of a command that was executed."""
    own_text: str = ""
    """The start of the text that is the tool's own, if the rest has a source."""
    picture: Mapping[str, Any] = field(default_factory=dict)
    """The name of a stored picture of the step, and the point of its click."""
    output: str = ""
    """The output of a program: the part of the text that is stored if the text is too long."""
    artifact: Any = None
    """The artifact of the tool message for the embedding program; the model does not see it."""
    preceding: tuple[AnyMessage, ...] = ()
    """Messages that the tool inserts into the history before its own."""
    following: tuple[AnyMessage, ...] = ()
    """Messages that the tool inserts into the history after its own."""
    error: Exception | None = field(default=None, compare=False, repr=False)
    """The exception of a failed tool, for middleware that retries."""
    handoff: Command[Any] | None = None
    """The command with which the tool hands over to another node of the parent graph."""

    @property
    def failed(self) -> bool:
        """Return whether the call failed, other than with the exit code of a command."""
        return self.is_error and not self.is_exit_code

    def content(self) -> str | list[str | dict[str, Any]]:
        """Return the content of the tool message: the text, or blocks if there are images."""
        if not self.images:
            return self.text
        return [{"type": "text", "text": self.text}, *(i.as_block() for i in self.images)]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message, and the observation that it was built from."""

    message: ToolMessage
    observation: Observation
    approved: tuple[str, ...] = ()
    """Rules that the user approved for the rest of the run with this call."""
    refused: tuple[Refusal, ...] = ()
    """Refusals in this call, by the user or because nobody can be asked."""


def rate_effect(observation: Observation) -> bool | str:
    """Return the mark of a call that may act outside, by its result; False if it had no effect."""
    if not observation.executed:
        return False
    if not observation.failed:
        return True
    # an error without an exception or a source is about the arguments
    return UNCERTAIN if observation.error is not None or observation.source else False


def pack(observation: Observation) -> str | None:
    """Serialize the parts of an observation that JSON cannot represent; None if there are none.

    Values that cannot be serialized at all are omitted, with a warning.
    """
    values = {name: getattr(observation, name) for name in _FIELDS}
    is_plain = observation.artifact is None and _is_json(observation.update)
    if is_plain and not any(values[name] for name in ("preceding", "following", "handoff")):
        return None
    storable = {name: value for name, value in values.items() if is_storable(value)}
    if unstorable := [name for name in _FIELDS if name not in storable]:
        log.warning(
            "not stored for a resume, since it cannot be serialized: %s", ", ".join(unstorable)
        )
    return pack_value(storable)


def unpack(packed: str, observation: Observation) -> Observation:
    """Return the observation with the packed values restored."""
    values = unpack_value(packed)
    for name in ("preceding", "following"):
        values[name] = tuple(values.get(name, ()))
    return replace(observation, **values)


def pack_value(value: Any) -> str:
    """Serialize a value that JSON cannot represent."""
    kind, data = JsonPlusSerializer().dumps_typed(value)
    return f"{kind}:{base64.b64encode(data).decode()}"


def unpack_value(packed: str) -> Any:
    """Return the value that `pack_value` serialized."""
    kind, _, data = packed.partition(":")
    return JsonPlusSerializer().loads_typed((kind, base64.b64decode(data)))


def is_storable(value: Any, serializer: Any = None) -> bool:
    """Return whether a checkpoint can contain a value."""
    try:
        (serializer or JsonPlusSerializer()).dumps_typed(value)
    except Exception:  # noqa: BLE001 - whatever a serializer, or the value itself, raises
        return False
    return True


def _is_json(update: Mapping[str, Any]) -> bool:
    try:
        json.dumps(dict(update))
    except (TypeError, ValueError):
        return False
    return True


@dataclass(slots=True)
class _Parts:
    """The parts of a tool's result."""

    messages: list[BaseMessage] = field(default_factory=list)
    update: dict[str, Any] = field(default_factory=dict)
    handoff: Command[Any] | None = None

    def add(self, answer: Any) -> None:
        """Add an answer: a message, a command, a state update, or a list of these."""
        if isinstance(answer, Command):
            self._add_command(answer)
        elif isinstance(answer, BaseMessage):
            self.messages.append(answer)
        elif isinstance(answer, Mapping):
            self.messages += as_messages(answer["messages"])
        else:
            for item in answer:
                self.add(item)

    def _add_command(self, command: Command[Any]) -> None:
        changes = dict(command._update_as_tuples())
        messages = as_messages(changes.pop("messages", []))
        if command.graph == Command.PARENT:
            # its update is for the parent graph
            self.handoff = self.handoff or command
            self.messages += [m for m in messages if isinstance(m, ToolMessage)]
            return
        if command.goto:
            log.warning("an agent has no nodes for a tool to go to: %r is ignored", command.goto)
        self.messages += messages
        self.update |= changes


def as_observation(answer: Any, call_id: str) -> Observation:
    """Convert the result of a tool, or of a ToolNode, for a call."""
    if isinstance(answer, Observation):
        return answer
    if not _is_structured(answer):
        return Observation(str(answer))
    parts = _Parts()
    parts.add(answer)
    own = [m for m in parts.messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id]
    if not own and parts.handoff is None:
        own = [m for m in parts.messages if isinstance(m, ToolMessage)]
    observation = _joined([_convert_message(message) for message in own])
    if parts.handoff is not None:
        return replace(observation, handoff=parts.handoff)
    preceding, following = _around(parts.messages, own)
    return replace(
        observation,
        update={**observation.update, **parts.update},
        preceding=preceding,
        following=following,
    )


def _is_structured(answer: Any) -> bool:
    """Return whether an answer contains messages or commands."""
    if isinstance(answer, Mapping):
        return "messages" in answer
    if isinstance(answer, list):
        return bool(answer) and all(map(_is_structured, answer))
    return isinstance(answer, Command | BaseMessage)


def _around(
    messages: Sequence[BaseMessage], own: Sequence[ToolMessage]
) -> tuple[tuple[AnyMessage, ...], tuple[AnyMessage, ...]]:
    """Return the messages before and after the tool's own."""
    preceding: list[Any] = []
    following: list[Any] = []
    rest = preceding
    for message in messages:
        if any(message is each for each in own):
            rest = following
        else:
            rest.append(message)
    return tuple(preceding), tuple(following)


def _joined(parts: Sequence[Observation]) -> Observation:
    if len(parts) == 1:
        return parts[0]
    texts: list[str] = []
    images: list[Image] = []
    update: dict[str, Any] = {}
    artifact = None
    for part in parts:
        if part.text:
            texts.append(part.text)
        images += part.images
        update |= part.update
        if artifact is None:
            artifact = part.artifact
    is_error = any(part.is_error for part in parts)
    return Observation("\n".join(texts), tuple(images), is_error, update, artifact=artifact)


def _convert_message(message: ToolMessage) -> Observation:
    if isinstance(message.artifact, Observation):
        return message.artifact
    texts: list[str] = []
    images: list[Image] = []
    for part in map(_convert_block, message.content_blocks):
        if isinstance(part, Image):
            images.append(part)
        else:
            texts.append(part)
    is_error = message.status == "error"
    return Observation("\n".join(texts), tuple(images), is_error, artifact=message.artifact)


def _convert_block(block: Mapping[str, Any]) -> str | Image:
    """Convert a content block to a text or an image, any other block to JSON."""
    if block["type"] == "image" and "base64" in block:
        return Image(block["base64"], block.get("mime_type", "image/png"))
    if block["type"] == "image" and "url" in block:
        return Image("", url=block["url"])
    if "text" in block:
        return str(block["text"])
    return json.dumps(block.get("value", block), default=str)


def with_sibling_answers(
    messages: Sequence[BaseMessage], answers: Mapping[str, ToolMessage]
) -> Iterator[BaseMessage]:
    """Yield the messages that a tool hands over, with tool messages for all calls of its message.

    A tool that leaves the agent adds only its own tool message, but providers reject a history in
    which a call has none. `answers` maps call ids to tool messages.
    """
    present = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    for message in messages:
        yield message
        for call in getattr(message, "tool_calls", ()):
            answer = answers.get(str(call["id"]))
            if answer is not None and call["id"] not in present:
                yield answer
