"""How many tokens: what a request has, what a call used, what a model takes.

Estimated as four bytes each, and corrected by the server's figures. A character of Chinese has
three bytes and is about one token; an English letter has one.
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
from manus.models.providers import DEFAULT_MODEL
from manus.state.errors import ContextOverflowError
from manus.state.messages import PerMessage

TOKENS = "tokens"
"""In an assistant message's `additional_kwargs`: tokens of its request and itself, as estimated
where the server reports none."""
_BYTES = 4.0
"""Bytes of UTF-8 in a token."""
_IMAGE = 1_000
"""Tokens of an image: between what OpenAI and what Anthropic count for a screenshot."""
_KINDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Kinds of what Anthropic and Bedrock wrote, by how long it is kept."""
_LOW = 0.25
_HIGH = 6.0
"""What a server counts, as a multiple of an estimate."""
_WINDOWS = {
    "gpt-5": 272_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5": 16_385,
    "o1": 200_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude": 200_000,
    "gemini": 1_048_576,
    "deepseek": 64_000,
    "qwen2.5": 32_768,
    "qwen3": 40_960,
    "llama3:": 8_192,
    "mistral": 32_768,
}
"""Input tokens by the beginning of a model's name, for those whose package has no figure."""
_WINDOW = 128_000
_LEAST = 1_000
"""Tokens that a window is taken to have at least."""
_SAID = re.compile(r"(?:context|maximum|limit|window)[^.\n]{0,60}?\b(\d[\d,]{3,9})\b", re.I)
# What servers have said, by address and model: the same for every run of the process. `_learned`
# comes from their refusals, `_reported` from their own figures.
_learned: dict[tuple[str | None, str | None], int] = {}
_reported: dict[tuple[str | None, str | None], int] = {}


def estimate_text(text: str) -> float:
    """About how many tokens a text has."""
    return len(text.encode("utf-8", "replace")) / _BYTES


def _estimated(message: BaseMessage) -> float:
    size: float = count_tokens_approximately(
        [message], chars_per_token=_BYTES, tokens_per_image=_IMAGE
    )
    # that counts characters
    written = f"{message.content}{getattr(message, 'tool_calls', '')}"
    return size + estimate_text(written) - len(written) / _BYTES


estimate_message = PerMessage(_estimated).of
"""About how many tokens a message has in a request, its calls and images included."""


def estimate_tools(tools: Sequence[Mapping[str, Any]] | None) -> float:
    """About how many tokens the descriptions of tools have in a request."""
    return estimate_text("".join(map(json.dumps, tools or ())))


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


def calibrated(factor: float, estimated: float, counted: int) -> float:
    """What estimates are to be multiplied by, once a server has counted a request.

    As before where it is far off: then the server counts something else.
    """
    seen = counted / estimated if estimated >= 1 else 0.0
    return seen if _LOW <= seen <= _HIGH else factor


def usage_metadata(usage: Mapping[str, Any]) -> UsageMetadata | None:
    """The figures of a call as LangChain has them; None where the server does not know them.

    Where the parts are less than the total, the rest was thought, and is paid for as output: xAI
    and Google's compatible server leave that out of the reply's figure.
    """
    of = _figures(usage)
    if not (given := of.get("prompt_tokens", 0)):
        return None
    details = _figures(usage.get("prompt_tokens_details"))
    read = details.get("cached_tokens") or of.get("prompt_cache_hit_tokens", 0)  # DeepSeek's
    said = max(of.get("completion_tokens", 0), of.get("total_tokens", 0) - given)
    thought = _figures(usage.get("completion_tokens_details")).get("reasoning_tokens", 0)
    written = details.get("cache_write_tokens", 0)
    return UsageMetadata(
        input_tokens=given,
        output_tokens=said,
        total_tokens=given + said,
        input_token_details=InputTokenDetails(cache_read=read, cache_creation=written),
        output_token_details=OutputTokenDetails(reasoning=thought),
    )


def cache_tokens(details: Mapping[str, Any] | None) -> tuple[int, int]:
    """Of `input_token_details`: the tokens that were in the provider's cache, and those written."""
    found = _figures(details)
    kinds = sum(found.get(kind, 0) for kind in _KINDS)
    return found.get("cache_read", 0), max(found.get("cache_creation", 0), kinds)


def _figures(given: Any) -> dict[str, int]:
    """What of it are figures."""
    found = given.items() if isinstance(given, Mapping) else ()
    return {name: value for name, value in found if isinstance(value, int) and value >= 0}


def window_of(settings: ModelSettings, model: Any = None) -> int:
    """Return the context window of an endpoint; `model` is its chat model, if there is one yet."""
    place = settings.base_url, settings.model
    known = (settings.context_window, _learned.get(place), _reported.get(place))
    if any(known):
        return min(filter(None, known))
    profile = getattr(model, "profile", None) or {}
    if isinstance(size := profile.get("max_input_tokens"), int) and size >= _LEAST:
        return size
    if isinstance(size := getattr(model, "num_ctx", None), int):  # a ChatOllama of the caller's
        return size
    return _window_by_name(settings.model or DEFAULT_MODEL)


@lru_cache(64)
def _window_by_name(model: str) -> int:
    name = split_spec(model)[1].rpartition("/")[2].lower()
    return next((size for begin, size in _WINDOWS.items() if name.startswith(begin)), _WINDOW)


def note_window(settings: ModelSettings, size: int) -> None:
    """Remember the context window that a server reports for an endpoint."""
    _reported[settings.base_url, settings.model] = max(size, _LEAST)


def learn_window(error: ContextOverflowError, size: float) -> None:
    """Remember how large the window is whose server refused a request of about so many tokens.

    As the server named it, but less than the request; where it named none, half of that.
    """
    found = _SAID.search(str(error))
    said = int(found[1].replace(",", "")) if found else size / 2
    guess = said if said <= size else 0.8 * size
    _learned[error.endpoint] = max(round(guess), _LEAST)
