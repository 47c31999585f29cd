"""What a server says that a call used, in the form that chat completions have.

Servers were seen to send figures as text or null, below zero, so far with each chunk, those of the
request in the first chunk and those of the reply in the last, in the choice, or under other names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""Input that was in the cache, beside the details: DeepSeek, Moonshot, gateways to Anthropic."""
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens")
"""Input that was written to the cache, in the details: OpenAI and OpenRouter, LiteLLM."""
_CREATION = "cache_creation_input_tokens"
_KINDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Kinds of what Anthropic and Bedrock wrote, by how long it is kept."""
_TIERS = ("", "priority_", "flex_")
"""What stands before names of details where OpenAI served a request faster, or cheaper."""
_MOST = 10**12
"""Tokens of a call beyond which a figure is none."""


def whole_usage(usage: Any) -> dict[str, Any] | None:
    """The figures of a call as whole numbers; None where the server does not know its request's.

    More in the cache than there was input: gateways to Anthropic count these tokens apart. Where
    the parts are less than the total, the rest was thought, and is paid for as output: xAI and
    Google's compatible server leave that out of the reply's figure.
    """
    if not isinstance(usage, dict) or not (given := _number(usage.get("prompt_tokens"))):
        return None
    details, spoken = _details(usage), _numbers(usage.get("completion_tokens_details"))
    in_cache = details.get("cached_tokens", 0) + details.get("cache_write_tokens", 0)
    given += in_cache if in_cache > given else 0
    said = max(
        _number(usage.get("completion_tokens")) or 0,
        (_number(usage.get("total_tokens")) or 0) - given,
    )
    if (thought := spoken.get("reasoning_tokens", 0)) > said:
        said += thought
    return {
        "prompt_tokens": given,
        "completion_tokens": said,
        "total_tokens": given + said,
        "prompt_tokens_details": details,
        "completion_tokens_details": spoken,
    }


def _details(usage: Mapping[str, Any]) -> dict[str, int]:
    details = _numbers(usage.get("prompt_tokens_details"))
    read = next((n for name in _READ if (n := _number(usage.get(name)))), None)
    if read is not None:
        details.setdefault("cached_tokens", read)
    in_details = next((n for name in _WRITTEN if (n := details.get(name))), None)
    if written := in_details or _number(usage.get(_CREATION)):
        details["cache_write_tokens"] = written
    return details


def usage_of(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """What a chunk says was used, taken out of it; Moonshot says it in the choice, Groq apart."""
    choices, apart = chunk.get("choices"), chunk.get("x_groq")
    first = choices[0] if isinstance(choices, list) and choices else None
    found = [chunk.pop("usage", None)]
    found += [place.get("usage") for place in (first, apart) if isinstance(place, dict)]
    return next((used for used in found if isinstance(used, dict) and used), None)


def together(before: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any] | None:
    """The newest of each figure: they are of the whole call so far, not of a piece of it."""
    if before is None or now is None:
        return now or before
    said = {n: v for n, v in now.items() if _number(v) or (isinstance(v, dict) and v)}
    return {**before, **said}


def cache_tokens(details: Mapping[str, Any] | None) -> tuple[int, int]:
    """Of `input_token_details`: the tokens that were in the provider's cache, and those written."""
    found = _numbers(dict(details or {}))

    def all_of(name: str) -> int:
        return sum(found.get(tier + name, 0) for tier in _TIERS)

    kinds = sum(found.get(kind, 0) for kind in _KINDS)
    return all_of("cache_read"), max(all_of("cache_creation"), kinds)


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
