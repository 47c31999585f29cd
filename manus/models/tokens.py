"""Count the tokens of a request or a call, and determine a model's context window.

Estimates assume four bytes per token, and are calibrated by the server's counts. A Chinese
character has three bytes and is about one token; an English letter has one byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.messages.utils import count_tokens_approximately

from manus.config.model_settings import ModelSettings, split_spec
from manus.config.provider_table import DEFAULT_MODEL, WINDOWS
from manus.state.errors import ContextOverflowError
from manus.state.history import PerHistory, PerMessage

TOKENS = "tokens"
"""In an assistant message's `additional_kwargs`: tokens of its request and itself, as estimated
where the server reports none."""
_BYTES = 4.0
"""Bytes of UTF-8 in a token."""
_IMAGE = 1_000
"""Tokens of an image: between OpenAI's and Anthropic's counts for a screenshot."""
_KINDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Anthropic's and Bedrock's counts of cache writes, by lifetime of the entry."""
_LOW = 0.25
_HIGH = 6.0
"""Plausible ratios of a server's count to an estimate."""
_DEFAULT_WINDOW = 128_000
_MIN_WINDOW = 1_000
"""Minimum size of a window, in tokens."""
_WINDOW_IN_ERROR = re.compile(
    r"(?:context|maximum|limit|window)[^.\n]{0,60}?\b(\d[\d,]{3,9})\b", re.I
)
# Windows by address and model, shared by all runs of the process: `_learned` from refused requests,
# `_reported` by the servers themselves.
_learned: dict[tuple[str | None, str | None], int] = {}
_reported: dict[tuple[str | None, str | None], int] = {}


def estimate_text(text: str) -> float:
    """Return the estimated number of tokens in a text."""
    return len(text.encode("utf-8", "replace")) / _BYTES


def _estimate_message(message: BaseMessage) -> float:
    size: float = count_tokens_approximately(
        [message], chars_per_token=_BYTES, tokens_per_image=_IMAGE
    )
    # that counts characters; replace them by bytes
    text = f"{message.content}{getattr(message, 'tool_calls', '')}"
    return size + estimate_text(text) - len(text) / _BYTES


estimate_message = PerMessage(_estimate_message).of
"""Return the estimated tokens of a message in a request, including its calls and images."""


def estimate_tools(tools: Sequence[Mapping[str, Any]] | None) -> float:
    """Return the estimated tokens of the tool schemas in a request."""
    return estimate_text("".join(map(json.dumps, tools or ())))


def estimate_request(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] | None = None
) -> float:
    """Return the estimated tokens of a whole request."""
    return estimate_tools(tools) + sum(map(estimate_message, messages))


class RequestSizes:
    """Estimates the tokens of requests that extend one another; each message is read once."""

    def __init__(self) -> None:
        self._messages = PerHistory(estimate_message)
        self._tools: Sequence[Mapping[str, Any]] | None = None
        self._tools_size = 0.0

    def estimate(
        self, messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> float:
        """Return the estimated tokens of a whole request, as `estimate_request`."""
        return self.estimate_tools(tools) + sum(self._messages.list_values(messages))

    def estimate_tools(self, tools: Sequence[Mapping[str, Any]] | None) -> float:
        """Return the estimated tokens of the tool schemas, which rarely change."""
        if tools is not self._tools:
            self._tools = tools
            self._tools_size = estimate_tools(tools)
        return self._tools_size


def tokens_at(message: BaseMessage) -> int | None:
    """Return the tokens of an assistant message and its request; None if they are not known."""
    if not isinstance(message, AIMessage):
        return None
    usage = message.usage_metadata
    if usage is not None and usage["input_tokens"]:
        return usage["input_tokens"] + usage["output_tokens"]
    return message.additional_kwargs.get(TOKENS)


def calibrate(factor: float, estimate: float, count: int) -> float:
    """Return the new factor for estimates, given a server's count of an estimated request.

    The old factor is returned if the ratio is implausible: the server then counts something else.
    """
    if estimate < 1:
        return factor
    ratio = count / estimate
    return ratio if _LOW <= ratio <= _HIGH else factor


def usage_metadata(usage: Mapping[str, Any]) -> UsageMetadata | None:
    """Return the usage of a call in LangChain's form; None if the server does not report it.

    If the parts are less than the total, the rest is reasoning, billed as output: xAI and Google's
    compatible server leave it out of `completion_tokens`.
    """
    counts = _numbers_in(usage)
    input_tokens = counts.get("prompt_tokens", 0)
    if not input_tokens:
        return None
    output_tokens = max(
        counts.get("completion_tokens", 0), counts.get("total_tokens", 0) - input_tokens
    )
    input_details = _numbers_in(usage.get("prompt_tokens_details"))
    output_details = _numbers_in(usage.get("completion_tokens_details"))
    cached = input_details.get("cached_tokens") or counts.get("prompt_cache_hit_tokens", 0)
    return UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
        input_token_details=InputTokenDetails(
            cache_read=cached,  # `prompt_cache_hit_tokens` is DeepSeek's name
            cache_creation=input_details.get("cache_write_tokens", 0),
        ),
        output_token_details=OutputTokenDetails(
            reasoning=output_details.get("reasoning_tokens", 0)
        ),
    )


def cache_tokens(details: Mapping[str, Any] | None) -> tuple[int, int]:
    """Return the tokens read from and written to the prompt cache (`input_token_details`)."""
    counts = _numbers_in(details)
    written_by_kind = sum(counts.get(kind, 0) for kind in _KINDS)
    return counts.get("cache_read", 0), max(counts.get("cache_creation", 0), written_by_kind)


def _numbers_in(details: Any) -> dict[str, int]:
    """Return the entries of a mapping that are non-negative integers; nothing for other values."""
    if not isinstance(details, Mapping):
        return {}
    return {name: n for name, n in details.items() if isinstance(n, int) and n >= 0}


def get_window(settings: ModelSettings, model: Any = None) -> int:
    """Return the context window of an endpoint, in tokens.

    `model` is its chat model, if there is one yet.
    """
    key = (settings.base_url, settings.model)
    sizes = (settings.context_window, _learned.get(key), _reported.get(key))
    if any(sizes):
        return min(filter(None, sizes))
    profile = getattr(model, "profile", None) or {}
    size = profile.get("max_input_tokens")
    if isinstance(size, int) and size >= _MIN_WINDOW:
        return size
    size = getattr(model, "num_ctx", None)  # of a ChatOllama built by the caller
    if isinstance(size, int):
        return size
    return _window_by_name(settings.model or DEFAULT_MODEL)


@lru_cache(64)
def _window_by_name(model: str) -> int:
    name = split_spec(model)[1].rpartition("/")[2].lower()
    for prefix, size in WINDOWS.items():
        if name.startswith(prefix):
            return size
    return _DEFAULT_WINDOW


def note_window(settings: ModelSettings, size: int) -> None:
    """Remember the context window that a server reports for an endpoint."""
    _reported[settings.base_url, settings.model] = max(size, _MIN_WINDOW)


def learn_window(error: ContextOverflowError, size: float) -> None:
    """Remember the window of a server that refused a request of about `size` tokens.

    That is the window named in the error if it is smaller than the request, otherwise a fraction of
    `size`.
    """
    match = _WINDOW_IN_ERROR.search(str(error))
    window = size / 2
    if match:
        window = int(match[1].replace(",", ""))
    if window > size:
        window = 0.8 * size
    _learned[error.endpoint] = max(round(window), _MIN_WINDOW)
