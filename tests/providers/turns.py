"""Replies of a scripted provider, independent of its protocol."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """One reply of the model.

    Attributes:
        text: The text of the reply.
        calls: Name and arguments of its calls, in order.
        at_limit: The reply ends at its length limit, in the middle of the last call's arguments if
            the protocol sends these as text.
        silent: The stream ends without a finish reason.
        cached: Tokens of the request that were in the provider's cache.
        written: Tokens that were written to the cache.
        blocks: The content in the provider's format, instead of a text and calls.
    """

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    at_limit: bool = False
    silent: bool = False
    cached: int = 0
    written: int = 0
    blocks: tuple[Json, ...] = ()

    def arguments(self, place: int) -> str:
        """Return the arguments of a call as they are sent."""
        text = json.dumps(self.calls[place][1])
        cut = (self.at_limit or self.silent) and place == len(self.calls) - 1
        return text[: max(1, len(text) - 4)] if cut else text


@dataclass(frozen=True)
class Refusal:
    """An error; `kind` is the provider's name for it."""

    status: int
    kind: str = "error"
    message: str = "No."
    headers: Mapping[str, str] = field(default_factory=dict)
    details: tuple[Json, ...] = ()
    mid_stream: bool = False
    """Sent in a stream that had started normally."""


Said = Turn | Refusal


def sse(body: Json, event: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def pieces(text: str, size: int = 7) -> list[str]:
    """Split a text into small pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]
