"""About how many tokens a request has: four bytes each, corrected by the server's figures.

A character of Chinese has three bytes and is about one token; an English letter has one.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

TOKENS = "tokens"
"""In an assistant message's `additional_kwargs`: tokens of its request and itself, as estimated
where the server reports none."""
_BYTES = 4.0
"""Bytes of UTF-8 in a token."""
_IMAGE = 1_000
"""Tokens of an image: between what OpenAI and what Anthropic count for a screenshot."""

# A message is written once and stands in every later request.
_known: dict[int, tuple[weakref.ref[BaseMessage], float]] = {}


def estimate_text(text: str) -> float:
    """About how many tokens a text has."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size / _BYTES


def estimate_message(message: BaseMessage) -> float:
    """About how many tokens a message has in a request, its calls and images included."""
    key = id(message)
    known = _known.get(key)
    if known is not None and known[0]() is message:
        return known[1]
    size: float = count_tokens_approximately(
        [message], chars_per_token=_BYTES, tokens_per_image=_IMAGE
    )
    # that counts characters
    written = f"{message.content}{getattr(message, 'tool_calls', '')}"
    size += estimate_text(written) - len(written) / _BYTES
    _known[key] = (weakref.ref(message, lambda _: _known.pop(key, None)), size)
    return size


def estimate_tools(tools: Sequence[Mapping[str, Any]] | None) -> float:
    """About how many tokens the descriptions of tools have in a request."""
    return sum(_tool(json.dumps(tool)) for tool in tools or ())


@lru_cache(256)
def _tool(described: str) -> float:
    return estimate_text(described)


def estimate_request(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] | None = None
) -> float:
    """About how many tokens a whole request has."""
    return estimate_tools(tools) + sum(map(estimate_message, messages))


def counted_at(message: BaseMessage) -> int | None:
    """The tokens of the request that a message answered, and its own."""
    if not isinstance(message, AIMessage):
        return None
    usage = message.usage_metadata
    if usage is not None and usage["input_tokens"]:
        return usage["input_tokens"] + usage["output_tokens"]
    return message.additional_kwargs.get(TOKENS)


class Calibration:
    """What an estimate must be multiplied by, learned from a server's own figures."""

    LOW, HIGH = 0.25, 6.0
    """Beyond these a server counts something else: its figures are not learned from."""
    _MEMORY = 0.7

    def __init__(self) -> None:
        self.factor = 1.0
        self._known = False
        self._calls = 0

    def is_due(self) -> bool:
        """Whether this call is one to learn from: the 1st, 2nd, 4th, 8th and so on.

        The factor hardly changes within a run, and an estimate costs time.
        """
        self._calls += 1
        return self._calls & (self._calls - 1) == 0

    def learn(self, estimated: float, counted: int) -> None:
        """One more pair of an estimate without the factor and the server's count."""
        if estimated < 1 or not self.LOW <= (seen := counted / estimated) <= self.HIGH:
            return
        memory = self._MEMORY if self._known else 0.0
        self.factor = memory * self.factor + (1 - memory) * seen
        self._known = True

    def __call__(self, estimated: float) -> int:
        """The estimate, calibrated."""
        return max(0, round(self.factor * estimated))
