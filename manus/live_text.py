"""What a model is writing just now: its text, its thoughts, or the arguments of a call."""

from __future__ import annotations

from typing import Any

from manus.state.thinking import thinking_in

_LONG = 200
"""Characters from which on it is said how many there are."""


class LiveText:
    """Follows the pieces of one reply at a time; another reply begins anew."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._name = ""
        self._text = ""

    def feed(self, chunk: Any, *, on_a_line: bool) -> tuple[str, str] | None:
        """What stands before the text so far, and the text; None if a piece changes nothing.

        Nothing stands before what the model says, unless it is to be shown on one line.
        """
        shown = None
        if thought := thinking_in(chunk):
            shown = self._grown((chunk.id, "thinks"), "  thinks  ", "", thought)
        if text := str(chunk.text):
            shown = self._grown((chunk.id, "says"), "  says    " if on_a_line else "", "", text)
        for call in chunk.tool_call_chunks:
            name, args = call.get("name") or "", call.get("args") or ""
            shown = self._grown((chunk.id, call.get("index")), "  call    ", name, args)
        return shown

    def _grown(self, of: tuple[Any, ...], label: str, name: str, piece: str) -> tuple[str, str]:
        if of != self._of:
            self._of, self._name, self._text = of, "", ""
        self._name += name
        self._text += piece
        length = f" ({len(self._text):,} characters)" if len(self._text) > _LONG else ""
        return f"{label}{self._name}{length}: " if self._name else label, self._text
