"""What is known of models and their servers without asking: packages, keys, habits, windows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from manus.state.errors import ContextOverflowError
from manus.state.model_settings import ModelSettings, split_spec

DEFAULT_MODEL = "gpt-5"
"""Where a key is set and no model is named."""
REPLAY = "replay:"
NOT_CONFIGURED = (
    "No model is configured: run `manus setup`, or set OPENAI_API_KEY, or MANUS_MODEL and "
    "MANUS_BASE_URL for any compatible server; `manus demo` needs none."
)
KEYS = {
    "openai": "MANUS_API_KEY or OPENAI_API_KEY",
    "azure": "MANUS_API_KEY",
    "anthropic": "MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
}
"""Where a key is set, as errors say it."""


@dataclass(frozen=True, slots=True)
class Extra:
    """A provider whose package comes as an extra."""

    package: str
    """To be installed."""
    model_class: str
    needs: str
    """What its client cannot be made without."""
    attempts: dict[str, Any]
    """What keeps its client from trying again by itself."""
    wants_tools: bool = False
    """Calls in the history are refused where the request offers no tools."""
    mark: dict[str, Any] | None = None
    """What tells it to cache what comes before."""
    marked: re.Pattern[str] = re.compile("")
    """Models that know the mark, by their ids."""

    @property
    def module(self) -> str:
        """What is imported of it."""
        return self.package.replace("-", "_")


EXTRAS = {
    "anthropic": Extra(
        "langchain-anthropic",
        "ChatAnthropic",
        f"a key: {KEYS['anthropic']}",
        {"max_retries": 0},
        wants_tools=True,
        mark={"cache_control": {"type": "ephemeral"}},
    ),
    "google": Extra(
        "langchain-google-genai",
        "ChatGoogleGenerativeAI",
        f"a key: {KEYS['google']}",
        {"max_retries": 1},  # it counts attempts, and takes none for its default
    ),
    "bedrock": Extra(
        "langchain-aws",
        "ChatBedrockConverse",
        "a region (AWS_REGION) and credentials of AWS, or a Bedrock key in MANUS_API_KEY",
        {},
        wants_tools=True,
        mark={"cachePoint": {"type": "default"}},
        # "Prompt caching" in Amazon's user guide; Claude 3.5 Sonnet v2 for some customers only
        marked=re.compile(
            r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])|nova-(?:micro|lite|pro|premier)"
        ),
    ),
}
OTHER = Extra("", "", "", {})
"""A chat model of any other package, as a caller has made it."""


def is_configured(settings: ModelSettings) -> bool:
    """Whether there is enough to ask a model."""
    return bool(settings.model or settings.api_key)


def address_of(settings: ModelSettings) -> str:
    """Where the model is asked, for messages."""
    provider, _ = split_spec(settings.model or DEFAULT_MODEL)
    return shown_address(settings.base_url) if settings.base_url else f"{provider}'s own address"


def shown_address(address: str) -> str:
    """An address as anybody may see it: without a password that stands in it, or a query."""
    before, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{before}{slashes}{host.rpartition('@')[2]}{slash}{path}" if slashes else address


class Habits(NamedTuple):
    """What a compatible server wants that others do not, or refuse."""

    wants_reasoning: bool = False
    """`reasoning_content` has to come back: api-docs.deepseek.com/guides/thinking_mode."""
    wants_signatures: bool = False
    """Each call has to be signed, or say that it is not: Gemini's thought signatures."""


_BY_HOST = {
    "api.deepseek.com": Habits(wants_reasoning=True),
    "api.moonshot.ai": Habits(wants_reasoning=True),
    "api.moonshot.cn": Habits(wants_reasoning=True),
    "googleapis.com": Habits(wants_signatures=True),
}


def habits_of(address: str | None) -> Habits:
    """The habits of the server at an address."""
    try:
        host = urlsplit(address or "").hostname or ""
    except ValueError:  # not an address: the client will say so
        host = ""
    known = (habits for end, habits in _BY_HOST.items() if f".{host}".endswith(f".{end}"))
    return next(known, Habits())


WINDOWS = {
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
    "llama3.": 128_000,
    "mistral": 32_768,
}
"""Input tokens by the beginning of a model's name, for those whose package has no figure."""
DEFAULT = 128_000
_LEAST = 1_000
"""Tokens that a window is taken to have at least."""
_UNDER = 0.8
"""Of a request that was refused although the estimate says that it fits."""
_SAID = re.compile(r"(?:context|maximum|limit|window)[^.\n]{0,60}?\b(\d[\d,]{3,9})\b", re.I)


# What servers have said, by address and model: the same for every run of the process.
_learned: dict[tuple[str | None, str | None], int] = {}


def window_of(settings: ModelSettings, model: Any = None) -> int:
    """The context window of an endpoint; `model` is its chat model, if there is one yet."""
    learned = _learned.get((settings.base_url, settings.model))
    if settings.context_window is not None:
        return min(settings.context_window, learned or settings.context_window)
    if learned is not None:
        return learned
    profile = getattr(model, "profile", None) or {}
    if isinstance(size := profile.get("max_input_tokens"), int) and size >= _LEAST:
        return size
    name = split_spec(settings.model or DEFAULT_MODEL)[1].rpartition("/")[2].lower()
    return next((size for begin, size in WINDOWS.items() if name.startswith(begin)), DEFAULT)


def learn_window(settings: ModelSettings, error: ContextOverflowError, size: float) -> None:
    """Remember how large a window is whose server refused a request of about so many tokens.

    As the server named it, but less than the estimate of a request that was too large; where it
    named none, half of that.
    """
    found = _SAID.search(str(error))
    said = int(found[1].replace(",", "")) if found else 0
    guess = said if _LEAST <= said <= size else _UNDER * size if said >= _LEAST else size / 2
    _learned[settings.base_url, settings.model] = max(round(guess), _LEAST)


def forget_windows() -> None:
    """Know nothing of any server: for tests, whose servers follow one another at one address."""
    _learned.clear()
