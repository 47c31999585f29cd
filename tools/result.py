"""What a tool gives back: ours, or any other LangChain tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from manus.state.agent import Refusal


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for the model: base64 without a prefix, and its media type."""

    data: str
    mime: str = "image/png"

    def as_block(self) -> dict[str, Any]:
        """The picture as a content block of a message."""
        return {"type": "image_url", "image_url": {"url": f"data:{self.mime};base64,{self.data}"}}


@dataclass(frozen=True, slots=True)
class Observation:
    """The outcome of one call, as the model will see it.

    `update` changes channels of the state beside `messages`. `fingerprint` is what loops are found
    by in place of the text, in words or as a digest: of a browser action, the page after it.
    `executed` is false for a call that was answered without being carried out. `source` is where
    the text comes from (`prompts/sources.py`); empty where the words are ours.
    """

    text: str
    images: tuple[Image, ...] = ()
    is_error: bool = False
    update: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    executed: bool = True
    source: str = ""
    is_exit_code: bool = False
    """The error is the exit code of a command, which itself was carried out."""

    @property
    def failed(self) -> bool:
        """Whether the call was not carried out as it was meant."""
        return self.is_error and not self.is_exit_code

    def content(self) -> str | list[str | dict[str, Any]]:
        """The content of the tool message: the text alone, or blocks when there are images."""
        if not self.images:
            return self.text
        return [{"type": "text", "text": self.text}, *(i.as_block() for i in self.images)]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message, and the observation that it was made of."""

    message: ToolMessage
    observation: Observation
    approved: tuple[str, ...] = ()
    """Rules about calls that a person has approved for the rest of the run, with this one."""
    refused: tuple[Refusal, ...] = ()
    """What was refused of it, by a person or since nobody is asked."""


def as_observation(answer: Any) -> Observation:
    """What a tool gave back, as an observation: ours, or any other tool's, or a ToolNode's."""
    if isinstance(answer, Observation):
        return answer
    if isinstance(answer, ToolMessage):
        return _of_message(answer)
    if isinstance(answer, Command):  # its messages are the observation, the rest is passed on
        update = dict(answer.update) if isinstance(answer.update, Mapping) else {}
        return replace(as_observation({"messages": update.pop("messages", [])}), update=update)
    if isinstance(answer, Mapping) and "messages" in answer:
        messages = answer["messages"]
        listed = messages if isinstance(messages, list) else [messages]
        return _joined([as_observation(m) for m in listed if isinstance(m, ToolMessage)])
    if isinstance(answer, list):
        return _joined([as_observation(item) for item in answer])
    return Observation(str(answer))


def _joined(parts: Sequence[Observation]) -> Observation:
    return Observation(
        "\n".join(part.text for part in parts if part.text),
        tuple(image for part in parts for image in part.images),
        any(part.is_error for part in parts),
        {name: value for part in parts for name, value in part.update.items()},
    )


def _of_message(message: ToolMessage) -> Observation:
    if isinstance(message.artifact, Observation):
        return message.artifact
    texts: list[str] = []
    images: list[Image] = []
    for block in message.content_blocks:
        held: Mapping[str, Any] = block
        if held["type"] == "image" and "base64" in held:
            images.append(Image(held["base64"], held.get("mime_type", "image/png")))
        elif "text" in held:
            texts.append(held["text"])
        else:
            texts.append(json.dumps(held.get("value", held), default=str))
    return Observation("\n".join(texts), tuple(images), message.status == "error")
