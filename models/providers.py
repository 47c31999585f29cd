"""What is known of providers, as data: their keys, packages, and habits of compatible servers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

KEYS = {
    "openai": "MANUS_API_KEY or OPENAI_API_KEY",
    "azure": "MANUS_API_KEY",
    "anthropic": "MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
}
"""Where a key is set, as errors say it."""

WINDOWS = (
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 64_000),
    ("qwen2.5", 32_768),
    ("qwen3", 40_960),
    ("llama3:", 8_192),
    ("llama3.", 128_000),
    ("mistral", 32_768),
)
"""Input tokens by the beginning of a model's name, for those whose package has no figure."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What a compatible server wants that others do not, or refuse."""

    wants_reasoning: bool = False
    """`reasoning_content` has to come back: api-docs.deepseek.com/guides/thinking_mode."""
    wants_signatures: bool = False
    """Each call has to be signed, or say that it is not: Gemini's thought signatures."""


_BY_HOST = (
    ("api.deepseek.com", Habits(wants_reasoning=True)),
    ("api.moonshot.ai", Habits(wants_reasoning=True)),
    ("api.moonshot.cn", Habits(wants_reasoning=True)),
    ("googleapis.com", Habits(wants_signatures=True)),
)


def habits_of(address: str | None) -> Habits:
    """The habits of the server at an address."""
    try:
        host = urlsplit(address or "").hostname or ""
    except ValueError:  # not an address: the client will say so
        host = ""
    known = (habits for end, habits in _BY_HOST if host == end or host.endswith(f".{end}"))
    return next(known, Habits())
