"""Results of tool calls: images, observations, tool messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from manus.state.agent import Refusal


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
