"""What a server says that a call used, in the form that chat completions have.

Servers were seen to send figures as text or null, below zero, those of the request in the first
chunk and those of the reply in the last, in the choice, or under other names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""Input that was in the cache, beside the details: DeepSeek, Moonshot, gateways to Anthropic."""
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens")
"""Input that was written to the cache, in the details: OpenAI and OpenRouter, LiteLLM."""
_CREATION = "cache_creation_input_tokens"
_KINDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Kinds of what Anthropic and Bedrock wrote, by how long it is kept."""
_MOST = 10**12
"""Tokens of a call beyond which a figure is none."""


def usage_in(chunk: dict[str, Any]) -> dict[str, Any]:
    """What a chunk says was used; Moonshot says it in the choice, Groq apart."""
    choices, apart = chunk.get("choices"), chunk.get("x_groq")
    first = choices[0] if isinstance(choices, list) and choices else None
    found = [place.get("usage") for place in (chunk, first, apart) if isinstance(place, dict)]
    return next((used for used in found if isinstance(used, dict)), {})


def newest(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The newest of each figure: they are of the whole call so far, not of a piece of it."""
    return {**before, **{n: v for n, v in now.items() if _number(v) or (isinstance(v, dict) and v)}}


def usage_metadata(usage: dict[str, Any]) -> UsageMetadata | None:
    """The figures of a call as LangChain has them; None where the server does not know them.

    More in the cache than there was input: gateways to Anthropic count these tokens apart. Where
    the parts are less than the total, the rest was thought, and is paid for as output: xAI and
    Google's compatible server leave that out of the reply's figure.
    """
    if not (given := _number(usage.get("prompt_tokens"))):
        return None
    read, written = _cached(usage)
    given += read + written if read + written > given else 0
    said = max(
        _number(usage.get("completion_tokens")) or 0,
        (_number(usage.get("total_tokens")) or 0) - given,
    )
    thought = _numbers(usage.get("completion_tokens_details")).get("reasoning_tokens", 0)
    said += thought if thought > said else 0
    return UsageMetadata(
        input_tokens=given,
        output_tokens=said,
        total_tokens=given + said,
        input_token_details=InputTokenDetails(cache_read=read, cache_creation=written),
        output_token_details=OutputTokenDetails(reasoning=thought),
    )


def _cached(usage: Mapping[str, Any]) -> tuple[int, int]:
    details = _numbers(usage.get("prompt_tokens_details"))
    beside = _first(_number(usage.get(name)) for name in _READ)
    read = details.get("cached_tokens", beside)
    written = _first(details.get(name) for name in _WRITTEN) or _number(usage.get(_CREATION))
    return read, written or 0


def cache_tokens(details: Mapping[str, Any] | None) -> tuple[int, int]:
    """Of `input_token_details`: the tokens that were in the provider's cache, and those written."""
    found = _numbers(dict(details or {}))
    kinds = sum(found.get(kind, 0) for kind in _KINDS)
    return found.get("cache_read", 0), max(found.get("cache_creation", 0), kinds)


def _first(values: Any) -> int:
    return next((value for value in values if value), 0)


def _numbers(details: Any) -> dict[str, int]:
    if not isinstance(details, dict):
        return {}
    pairs = ((name, _number(value)) for name, value in details.items())
    return {name: value for name, value in pairs if value is not None}


def _number(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number < _MOST else None
