"""What a scripted provider may say, whatever its protocol."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """One reply of the model.

    Attributes:
        text: What it says.
        calls: Name and arguments of its calls, in order.
        at_limit: It ends at its length limit, in the middle of the last call's arguments where the
            protocol sends these as text.
        silent: Its stream ends without saying why.
        cached: Tokens of the request that were in the provider's cache.
        written: Those that were written to it.
        blocks: What it consists of instead of a text and calls, in the provider's form.
    """

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    at_limit: bool = False
    silent: bool = False
    cached: int = 0
    written: int = 0
    blocks: tuple[Json, ...] = ()

    def arguments(self, place: int) -> str:
        """The arguments of a call as they are sent."""
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
    """Sent in a stream that had begun well."""


Said = Turn | Refusal


def sse(body: Json, event: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def pieces(text: str, size: int = 7) -> list[str]:
    """A text in small pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]
