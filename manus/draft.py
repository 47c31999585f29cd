"""What a model is writing just now, on one line that is written over until it is done."""

from __future__ import annotations

import re
from typing import Any

from manus.state.thinking import thinking_in
from manus.text import fit_end, flat

_LENGTH = re.compile(r" \([\d,]+ characters\): $")
_LEAST = 8
"""Columns that the end of a text has at least."""
_KEPT = 2_000
"""Characters of a text of which more than the end is never shown."""


class Draft:
    """Follows the pieces of one reply at a time; another reply begins anew."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._name = ""
        self._text = ""
        self._length = 0

    def feed(self, chunk: Any, *, with_text: bool) -> tuple[str, str, str] | None:
        """Label, head and end of the line after a piece; None if it changes nothing.

        `with_text`: what the model says counts too, beside its thoughts and calls.
        """
        shown = None
        if thought := thinking_in(chunk):
            shown = "thinks", self._grown((chunk.id, "thinks"), "", thought)
        if with_text and (text := str(chunk.text)):
            shown = "says", self._grown((chunk.id, "says"), "", text)
        for call in chunk.tool_call_chunks:
            of = (chunk.id, "call", call.get("index"))
            shown = "call", self._grown(of, call.get("name") or "", call.get("args") or "")
        return (shown[0], shown[1], self._text) if shown else None

    def _grown(self, of: tuple[Any, ...], name: str, piece: str) -> str:
        if of != self._of:
            self._of, self._name, self._text, self._length = of, "", "", 0
        self._name += name
        self._length += len(piece)
        self._text = (self._text + piece)[-_KEPT:]
        long = f" ({self._length:,} characters)" if self._length > _KEPT // 10 else ""
        return f"{self._name}{long}: " if self._name else ""


def draft_line(label: str, head: str, text: str, width: int, indent: int) -> str:
    """The line in a width: of a long text its end. Where there is little room, no length."""
    begin = _begin(label, head, indent)
    if len(begin) > width - _LEAST:
        begin = _begin(label, _LENGTH.sub(": ", head), indent)
    return begin + fit_end(flat(text), max(width - len(begin), 0))


def _begin(label: str, head: str, indent: int) -> str:
    return f"  {label:<{indent}}{flat(head)}{' ' if head.endswith(' ') else ''}"
