"""What a refusal says of the thoughts in a request: that they are missing, or not taken back."""

from __future__ import annotations

import re

from manus.models.error_facts import message_of, status_of

# DeepSeek and Moonshot: api-docs.deepseek.com/guides/thinking_mode
_MISSES_THOUGHTS = re.compile(
    r"reasoning_content.{0,80}(?:must be passed|missing|required)|missing.{0,20}reasoning_content",
    re.IGNORECASE | re.DOTALL,
)
# Gemini: ai.google.dev/gemini-api/docs/thought-signatures
_MISSES_SIGNATURE = re.compile(r"missing an? .?thought_?signature", re.IGNORECASE)
_REFUSES_SIGNATURE = re.compile(
    r"(?:invalid|corrupted).{0,10}(?:thought.?signature|signature.{0,5} in .{0,5}thinking)"
    r"|thought.?signature.{0,20}(?:not valid|invalid|corrupted)"
    r"|thinking.{0,5}signature.{0,5}field required|thinking.{0,60}cannot be modified"
    r"|encrypted content.{0,80}could not be (?:verified|decrypted)",
    re.IGNORECASE | re.DOTALL,
)
_REFUSES_FIELD = re.compile(
    r"(?:unknown|unrecognized|unexpected|unsupported|extra_forbidden|not permitted).{0,80}"
    r"(?:reasoning_details|thinking_blocks|extra_content|provider_specific_fields)"
    r"|(?:reasoning_details|thinking_blocks|extra_content|provider_specific_fields).{0,80}"
    r"(?:unknown|unrecognized|unexpected|(?:un|not )supported|forbidden|not (?:permitted|allowed))",
    re.IGNORECASE | re.DOTALL,
)


def misses_thoughts(error: BaseException) -> bool:
    """Whether a request is refused since what the model thought before did not come back."""
    return _is_refused_with(error, _MISSES_THOUGHTS)


def misses_signature(error: BaseException) -> bool:
    """Whether a request is refused since a call in it, of another model mostly, is not signed."""
    return _is_refused_with(error, _MISSES_SIGNATURE)


def refuses_signature(error: BaseException) -> bool:
    """Whether a request is refused since a signature in it is not right."""
    return _is_refused_with(error, _REFUSES_SIGNATURE)


def refuses_thoughts(error: BaseException) -> bool:
    """Whether a request is refused since what is signed or encrypted came back with it."""
    return refuses_signature(error) or _is_refused_with(error, _REFUSES_FIELD)


def _is_refused_with(error: BaseException, words: re.Pattern[str]) -> bool:
    return status_of(error) in (400, 422) and bool(words.search(message_of(error)))
