"""A model's reply: its figures, and whether it is one.

It may be empty, stopped by a content filter, cut off, or one passage repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage

from manus.state.errors import ModelRefusedError
from manus.state.messages import has_calls, text_of
from manus.state.usage import Spending

CUT_OFF = "cut_off"
"""In a streamed reply's `additional_kwargs`: it ended without saying why."""
_AT_LIMIT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_AT_LIMIT |= {"model_context_window_exceeded"}
_FILTERED = {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii"}
_FILTERED |= {"guardrail_intervened", "content_filtered", "sensitive", "recitation", "image_safety"}
_TIMES = 8
_REPEATED = 600
"""Characters of repetition at a reply's end that are taken for a model that does not stop."""
_LONGEST = 2_000
"""Characters of a passage that is looked for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and what it used."""

    message: AIMessage
    used: Spending
    seconds: float


Count = Callable[[Spending], None]
_count: ContextVar[Count | None] = ContextVar("count", default=None)


@contextmanager
def counting(count: Count) -> Iterator[None]:
    """Have `count` told of each call that is made in the block, by whoever is called in it."""
    token = _count.set(count)
    try:
        yield
    finally:
        _count.reset(token)


def book(used: Spending) -> None:
    """Count a call with whoever made it; outside of a run nothing is counted."""
    if (known := _count.get()) is not None:
        known(used)


def is_empty(message: AIMessage) -> bool:
    """Whether a reply says nothing and calls nothing."""
    return not has_calls(message) and not text_of(message).strip()


def reason_of(message: AIMessage) -> str:
    """Why a reply ended, in the provider's word, in lower case."""
    said = message.response_metadata
    names = ("finish_reason", "stop_reason", "stopReason")
    return next((str(said[name]).lower() for name in names if said.get(name)), "")


def ended_at_limit(message: AIMessage) -> bool:
    """Whether a reply ended at its length limit, so that its last call may lack its end."""
    return reason_of(message) in _AT_LIMIT


def no_answer(message: AIMessage) -> Literal["cut off", "repeats itself"] | None:
    """Why the text of a reply is no answer; None where it may be one.

    A reply with calls is not judged: what is wrong with a call is said of that call.
    """
    if has_calls(message):
        return None
    if repeats_itself(text_of(message)):
        return "repeats itself"
    return "cut off" if ended_at_limit(message) else None


def repeats_itself(text: str) -> bool:
    """Whether a text ends in one passage over and over: at least 8 times, and 600 characters."""
    text = text.rstrip()
    for period in range(1, min(_LONGEST, len(text) // _TIMES) + 1):
        size = max(_TIMES * period, _REPEATED)
        is_like = size <= len(text) and text[-1] == text[-1 - period]  # cheap, and mostly not so
        if is_like and text[-size:-period] == text[-size + period :]:
            return True
    return False


def check_filtered(message: AIMessage, *, model: str, address: str) -> None:
    """See that a reply was not stopped by a content filter; what there is of it is not used.

    Raises:
        ModelRefusedError: it was.
    """
    if reason_of(message) in _FILTERED:
        raise ModelRefusedError(
            f"The content filter of the model server at {address} stopped the reply of `{model}` "
            f"({reason_of(message)}); put the request in other words, or use another model."
        )


def empty_sentence(message: AIMessage, *, model: str, address: str) -> str:
    """What a user reads of a reply that is empty, once it has been asked for again."""
    where = f"The model server at {address} gave an empty reply of `{model}` twice"
    if ended_at_limit(message):
        return (
            f"{where}: it ended at its length limit before it said anything; set a larger "
            "MANUS_MAX_TOKENS, or less reasoning_effort."
        )
    return f"{where}; try again, or use another model."
