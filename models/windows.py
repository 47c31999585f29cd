"""How large a model's context window is: as set, as the server said, or as its name says."""

from __future__ import annotations

import re

from manus.models.endpoints import breaker
from manus.models.model_names import DEFAULT_MODEL
from manus.nodes.active_run import Running
from manus.state.errors import ContextOverflowError
from manus.state.model_settings import ModelSettings

DEFAULT = 128_000
_KNOWN = (
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4o", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude", 200_000),
    ("gemini", 1_000_000),
    ("deepseek", 64_000),
    ("qwen2.5", 32_768),
    ("qwen3", 40_960),
    ("llama3:", 8_192),
    ("llama3.", 128_000),
    ("mistral", 32_768),
)
_LEAST = 1_000
"""Tokens that a window is taken to have at least."""
_UNDER = 0.8
"""Of a request that was refused although the estimate says that it fits."""
_SAID = (
    re.compile(
        r"(?:context|maximum|limit|window|n_ctx)[^.\n]{0,60}?\b(\d[\d,]{3,9})\b", re.IGNORECASE
    ),
    re.compile(r"\b(\d[\d,]{3,9}) (?:tokens )?(?:maximum|max\b|context)", re.IGNORECASE),
)


def window_of(settings: ModelSettings, running: Running) -> int:
    """The context window of a model in tokens."""
    name = settings.model or ""
    learned = running.windows.get(name or DEFAULT_MODEL)
    if settings.context_window is not None:
        return min(settings.context_window, learned or settings.context_window)
    if learned is not None:
        return learned
    bare = name.rpartition("/")[2].lower()
    bare = bare.partition(":")[2] if bare.partition(":")[0] in _PREFIXES else bare
    return next((size for begin, size in _KNOWN if bare.startswith(begin)), DEFAULT)


def window_for(running: Running, role: str) -> int:
    """The context window of the endpoint of a role that is asked first as things are now."""
    return window_of(endpoint_for(running, role), running)


def endpoint_for(running: Running, role: str) -> ModelSettings:
    """The endpoint of a role that is asked first as things are now."""
    return breaker.usable(running.model_settings(role).with_fallbacks())[0]


_PREFIXES = ("openai", "azure", "anthropic", "google", "bedrock")


def said_window(text: str) -> int | None:
    """The window that a server names when it refuses a request as too large."""
    found = (said.search(text) for said in _SAID)
    size = next((int(one[1].replace(",", "")) for one in found if one), 0)
    return size if size >= 1_000 else None


def learn_window(running: Running, error: ContextOverflowError, size: float) -> None:
    """Remember how large a window is whose server refused a request of about so many tokens.

    As the server named it, but less than the estimate of a request that was too large; where it
    named none, half of that.
    """
    model, said = error.model or DEFAULT_MODEL, said_window(str(error))
    if said is not None and said <= size:
        running.named_windows.add(model)
        running.windows[model] = said
        return
    running.named_windows.discard(model)
    running.windows[model] = max(round(size / 2 if said is None else _UNDER * size), _LEAST)
