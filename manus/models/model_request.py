"""A request to a model, and what is computed once for requests that extend one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from manus.models.server_rules import ServerRules
from manus.models.tokens import estimate_message, estimate_tools
from manus.models.tool_schemas import OfferedTools, adapt_tools
from manus.state.message_cache import PerMessage
from manus.state.messages import has_image

_has_image = PerMessage(has_image).of


class ToolsCache:
    """What is computed once of the tools of requests, which rarely change."""

    def __init__(self) -> None:
        self._tools: Any = None
        self._size = 0.0
        self._offered: dict[ServerRules, OfferedTools] = {}

    def estimate(self, tools: list[dict[str, Any]] | None) -> float:
        """Return the estimated tokens of the tool schemas."""
        if tools is not self._tools:
            self._tools = tools
            self._size = estimate_tools(tools)
            self._offered = {}
        return self._size

    def adapt(self, tools: list[dict[str, Any]] | None, rules: ServerRules) -> OfferedTools:
        """Return the tools as they are valid under the rules."""
        self.estimate(tools)
        if rules not in self._offered:
            self._offered[rules] = adapt_tools(tools or (), rules)
        return self._offered[rules]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, independent of the endpoint that it is sent to."""

    role: str
    messages: Sequence[BaseMessage]
    tools: list[dict[str, Any]] | None
    """In OpenAI's form."""
    tool_choice: Any
    """`auto`, `required`, `none`, or a choice in the provider's form."""
    quiet: bool
    """Whether the reply is kept out of the token stream."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Additional keyword arguments for the chat model."""
    streams: bool = True
    """Whether a chat model built by the caller may stream its reply."""
    cache: ToolsCache = field(default_factory=ToolsCache)
    """Shared with the requests that this one extends."""

    @property
    def estimate(self) -> float:
        """Return the estimated number of tokens."""
        return self.cache.estimate(self.tools) + sum(map(estimate_message, self.messages))

    @property
    def has_images(self) -> bool:
        """Return whether any message has an image."""
        return any(map(_has_image, self.messages))
