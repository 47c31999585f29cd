"""What the user asks for: from the arguments, a line of the terminal, or stdin."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from manus.state.errors import UsageError

NOTHING_ASKED = (
    "There is no request: give it as an argument, type it when asked, or send it to stdin."
)


def read_request(words: Sequence[str]) -> str:
    """The request: the words, else a line typed at the terminal, else all of stdin.

    Raises:
        UsageError: it is empty there too.
    """
    request = _decoded(" ".join(words)).strip()
    if not request or request == "-":
        request = _from_stdin().strip()
    if not request:
        raise UsageError(NOTHING_ASKED)
    return request


def _from_stdin() -> str:
    if sys.stdin is None:
        return ""
    if not sys.stdin.isatty():
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stderr.write("What is to be done? ")
    sys.stderr.flush()
    return _decoded(sys.stdin.readline())


def _decoded(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced; a request must be encodable."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
