"""What comes of a tool call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from manus.state.agent import Refusal


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for the model: base64 without a prefix, and its media type; or its address."""

    data: str
    mime: str = "image/png"
    url: str = ""

    def as_block(self) -> dict[str, Any]:
        """The picture as a content block of a message."""
        url = self.url or f"data:{self.mime};base64,{self.data}"
        return {"type": "image_url", "image_url": {"url": url}}


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
    artifact: Any = None
    """What the tool keeps for the program around the run; the model does not see it."""
    preceding: tuple[AnyMessage, ...] = ()
    """Messages that the tool puts into the history before its own."""
    following: tuple[AnyMessage, ...] = ()
    """The same, after its own."""
    handoff: Command[Any] | None = None
    """The command with which the tool leaves the agent for another node of the graph around it."""

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
