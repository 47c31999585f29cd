"""What the user asks for: from the arguments, the terminal, or stdin."""

from __future__ import annotations

import select
import sys
from collections.abc import Sequence

from manus.state.errors import UsageError

NOTHING_ASKED = (
    "There is no request: give it as an argument, type it when asked, or send it to stdin."
)

_MOMENT = 2.0
"""Seconds until a person is told that stdin is waited for."""


def read_request(words: Sequence[str]) -> str:
    """The request: the words and what is piped; with neither, what is typed at the terminal.

    Piped text is the request itself where there are no words, or `-`; else it is attached.

    Raises:
        UsageError: there is none.
    """
    said = _decoded(" ".join(words)).strip()
    said = "" if said == "-" else said
    piped = _piped()
    if piped.strip():
        request = f"{said}\n\n<stdin>\n{piped.rstrip()}\n</stdin>" if said else piped.strip()
    else:
        request = said or _typed()
    if not request:
        raise UsageError(NOTHING_ASKED)
    return request


def _piped() -> str:
    """All of a pipe or a file; nothing of a terminal, or of what else stdin may be."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    if not select.select([sys.stdin], [], [], _MOMENT)[0]:
        sys.stderr.write("Waiting for what is piped in (Ctrl-C ends it) …\n")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _typed() -> str:
    from manus.questions import ask_request, someone_is_there

    return _decoded(ask_request()) if someone_is_there() else ""


def _decoded(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced; a request must be encodable."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
