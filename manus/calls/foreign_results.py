"""Convert the result of a LangChain tool (text, messages, a `Command`) to an observation."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from manus.calls.result import Image, Observation
from manus.state.history import as_messages

log = logging.getLogger("manus")


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
