"""A request to a model, and what is computed once for requests that extend one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage

from manus.models.server_rules import ServerRules
from manus.models.tokens import RequestSizes
from manus.models.tool_schemas import OfferedTools, adapt_tools
from manus.models.valid_messages import ValidMessages
from manus.models.wire_forms import WireForms, WireRules, new_wire_forms
from manus.state.history import PerHistory
from manus.state.messages import has_image


class RequestCache:
    """Per-message values, computed once, of requests that extend one another."""

    def __init__(self) -> None:
        self.sizes = RequestSizes()
        self.images = PerHistory(has_image)
        """Whether each message has an image."""
        self.find_valid: Callable[[ServerRules], ValidMessages] = lru_cache(None)(ValidMessages)
        """Returns the messages as they are valid under some rules."""
        self.find_wire_forms: Callable[[WireRules], WireForms] = lru_cache(None)(new_wire_forms)
        """Returns the messages encoded under some rules."""
        self._tools: tuple[Any, ServerRules, OfferedTools] | None = None

    def adapt_tools(self, tools: list[dict[str, Any]] | None, rules: ServerRules) -> OfferedTools:
        """Return the tools as they are valid under the rules; they rarely change."""
        if self._tools is None or self._tools[0] is not tools or self._tools[1] != rules:
            self._tools = (tools, rules, adapt_tools(tools or (), rules))
        return self._tools[2]


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
    cache: RequestCache = field(default_factory=RequestCache)
    """Shared with the requests that this one extends."""

    @property
    def estimate(self) -> float:
        """Return the estimated number of tokens."""
        return self.cache.sizes.estimate(self.messages, self.tools)

    @property
    def has_images(self) -> bool:
        """Return whether any message has an image."""
        return any(self.cache.images.list_values(self.messages))
