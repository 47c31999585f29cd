"""What a tool gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import ToolMessage


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
    `executed` is false for a call that was answered without being carried out.
    """

    text: str
    images: tuple[Image, ...] = ()
    is_error: bool = False
    update: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    executed: bool = True

    def content(self) -> str | list[str | dict[str, Any]]:
        """The content of the tool message: the text alone, or blocks when there are images."""
        if not self.images:
            return self.text
        return [{"type": "text", "text": self.text}, *(i.as_block() for i in self.images)]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message, and what the call changes in the state beside it."""

    message: ToolMessage
    update: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    """What loops are found by in place of the message's text."""
    executed: bool = True
