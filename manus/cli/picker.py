"""A list to pick from with arrows and Enter; typed text narrows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from manus.cli.choices import set_aside_typed
from manus.cli.prompt_session import build_session
from manus.prompts.formatting import clean, fit

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

_HEIGHT = 10
"""Rows of the list that are visible at once."""


class Row(NamedTuple):
    """A value to pick, and the text that describes it."""

    value: str
    label: str


class Picker:
    """Asks for one row of a list."""

    def __init__(self, rows: Sequence[Row], *, current: str = "") -> None:
        self._rows = rows
        values = [row.value for row in rows]
        self._position = values.index(current) if current in values else 0
        self._session = build_session(_leave, lambda _: True, erase_when_done=True)
        keys: Any = self._session.key_bindings
        keys.add("up")(lambda _: self._move(-1))
        keys.add("down")(lambda _: self._move(1))
        keys.add("escape", eager=True)(_leave)

    def ask(self) -> str | None:
        """Return the picked value; None if the user leaves the list. Blocking."""
        self._session.default_buffer.on_text_changed += lambda _: self._move(0)
        try:
            with set_aside_typed():
                self._session.prompt(self._render)
        except EOFError:
            return None
        rows = self._visible()
        return rows[self._position].value if rows else None

    def _visible(self) -> list[Row]:
        words = self._session.default_buffer.text.lower().split()
        return [row for row in self._rows if all(word in row.label.lower() for word in words)]

    def _move(self, step: int) -> None:
        last = max(len(self._visible()) - 1, 0)
        self._position = min(max(self._position + step, 0), last)

    def _render(self) -> StyleAndTextTuples:
        rows = self._visible()
        start = min(max(self._position - _HEIGHT // 2, 0), max(len(rows) - _HEIGHT, 0))
        width = self._session.output.get_size().columns - 1
        parts: StyleAndTextTuples = []
        for number, row in enumerate(rows[start : start + _HEIGHT], start):
            style, mark = ("reverse", "›") if number == self._position else ("", " ")
            label = " ".join(clean(row.label).splitlines())
            parts += [(style, fit(f"{mark} {label}", width)), ("", "\n")]
        hint = f"  {len(rows)} of {len(self._rows)}, Enter picks, Esc leaves » "
        return [*parts, ("bold", hint)]


def _leave(event: Any) -> None:
    event.app.exit(exception=EOFError)
