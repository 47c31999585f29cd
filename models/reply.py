"""A model's reply with its figures: tokens, time and money."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from langchain_core.messages import AIMessage

AGENT_ROLE = "main"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and what it used."""

    message: AIMessage
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    estimated: bool
    seconds: float
    cost: float | None = None
    """None where no price is known."""
    role: str = AGENT_ROLE


Count = Callable[[Reply], None]
_count: ContextVar[Count | None] = ContextVar("count", default=None)


@contextmanager
def counting(count: Count) -> Iterator[None]:
    """Have `count` told of each call that is made in the block, by whoever is called in it."""
    token = _count.set(count)
    try:
        yield
    finally:
        _count.reset(token)


def count(reply: Reply) -> None:
    """Count a call with whoever made it; outside of a run nothing is counted."""
    if (known := _count.get()) is not None:
        known(reply)
