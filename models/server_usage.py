"""What a server says that a call used, in the form that LangChain has.

Servers were seen to send figures as text or null, below zero, in the choice, apart from the cache,
without what was thought, or under other names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""Input that was in the cache, beside the details: DeepSeek, Moonshot, gateways to Anthropic."""
_KINDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Kinds of what Anthropic and Bedrock wrote, by how long it is kept."""
_MOST = 10**12
"""Tokens of a call beyond which a figure is none."""


def usage_in(chunk: dict[str, Any]) -> dict[str, Any]:
    """What a chunk says was used; Moonshot says it in the choice, Groq apart."""
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    places = (place for place in (chunk, first, chunk.get("x_groq")) if isinstance(place, dict))
    found = (place.get("usage") for place in places)
    return next((used for used in found if isinstance(used, dict)), {})


def usage_metadata(usage: Mapping[str, Any]) -> UsageMetadata | None:
    """The figures of a call as LangChain has them; None where the server does not know them.

    More in the cache than there was input: gateways to Anthropic count these tokens apart. Where
    the parts are less than the total, the rest was thought, and is paid for as output: xAI and
    Google's compatible server leave that out of the reply's figure.
    """
    of = _figures(usage)
    if not (given := of.get("prompt_tokens", 0)):
        return None
    details = _figures(usage.get("prompt_tokens_details"))
    read = details.get("cached_tokens") or next((of[n] for n in _READ if of.get(n)), 0)
    written = details.get("cache_write_tokens") or details.get("cache_creation_tokens")
    written = written or of.get("cache_creation_input_tokens", 0)
    given += read + written if read + written > given else 0
    said = max(of.get("completion_tokens", 0), of.get("total_tokens", 0) - given)
    thought = _figures(usage.get("completion_tokens_details")).get("reasoning_tokens", 0)
    said += thought if thought > said else 0
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
    """What of it are figures; a text may be one."""
    figures = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(number) and 0 <= number < _MOST:
            figures[name] = int(number)
    return figures
