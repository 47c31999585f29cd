"""Questions that a key answers: a line of choices, with arrows and Enter, or an answer in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from manus.cli.prompt_session import build_session

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPress

_SIGN = "  » "
_REASON = "no: "


class Choice(NamedTuple):
    """A key, the words beside it, and the answer that it gives."""

    key: str
    label: str
    answer: str


YES = Choice("y", "yes", "yes")
NO = Choice("n", "no", "no")
EDIT = Choice("e", "edit", "edit")


class ChoiceLine:
    """Asks for one of several choices, or for an answer in words.

    The key of a choice, or an arrow, selects it; Enter answers. No key answers by itself: it may be
    the first letter of a word, however slowly that is typed. Enter without a selection does
    nothing.
    """

    def __init__(
        self, choices: Sequence[Choice], *, default: Choice | None = None, reason: str = ""
    ) -> None:
        self._choices = choices
        self._position = choices.index(default) if default else -1
        """The choice that the arrows have selected; -1 for none."""
        self._reason = reason
        """What Tab asks for: the text after `no: `; empty if Tab does nothing."""
        self._session = self._build_session()

    async def ask_async(self) -> str:
        """Return the answer; raise EOFError at the end of input."""
        with set_aside_typed():
            return self._answer(await self._session.prompt_async(self._render, handle_sigint=False))

    def ask(self) -> str:
        """Return the answer; raise EOFError at the end of input. Blocking."""
        return self._answer(self._session.prompt(self._render))

    def _answer(self, text: str) -> str:
        choice = self._selected(text)
        return choice.answer if choice else text.strip()

    def _selected(self, text: str) -> Choice | None:
        """Return the choice whose key was typed, or that of the arrows; None for other words."""
        typed = text.strip().lower()
        if not typed and self._position >= 0:
            return self._choices[self._position]
        return next((each for each in self._choices if typed in (each.key, each.answer)), None)

    def _build_session(self) -> PromptSession[str]:
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.keys import Keys

        session = build_session(is_line=lambda text: self._selected(text) is not None)
        keys: Any = session.key_bindings
        is_empty = Condition(lambda: not session.default_buffer.text.strip())
        for key, step in (("left", -1), ("up", -1), ("right", 1), ("down", 1)):
            keys.add(key, filter=is_empty)(partial(self._move, step))
        has_selection = Condition(lambda: self._position >= 0)
        keys.add(Keys.ControlM, filter=is_empty & ~has_selection)(lambda _: None)
        if self._reason:
            keys.add(Keys.ControlI, filter=is_empty)(_start_reason)
        return session

    def _move(self, step: int, _: Any) -> None:
        start = self._position if self._position >= 0 or step > 0 else 0
        self._position = (start + step) % len(self._choices)

    def _render(self) -> StyleAndTextTuples:
        """Return the line of choices, or the sign before a text that is being typed."""
        from prompt_toolkit.formatted_text import fragment_list_width

        text = self._session.default_buffer.text
        selected = self._selected(text)
        if text and selected is None:
            return [("bold", _SIGN)]
        width = self._session.output.get_size().columns - len(text)
        parts: StyleAndTextTuples = []
        for choice in self._choices:
            style = "reverse" if choice is selected else ""
            parts += [("", "  "), (f"bold {style}", choice.key), (style, f" {choice.label}")]
        hints = [("Tab", f" {self._reason}"), ("Ctrl-D", " later")] if self._reason else []
        for key, label in [("Enter", " answers")] if selected else hints:
            if fragment_list_width([*parts, ("", f"  {key}{label}  ")]) <= width:
                parts += [("", "  "), ("bold", key), ("", label)]
        return [*parts, ("", "  ")]


def ask_yes(yes: str = "yes", no: str = "no") -> bool:
    """Ask for yes or no until the answer is one of them; an empty line means no. Blocking.

    `yes` and `no` are what the two mean here.

    Other words complete the line that the person was typing when the question came.
    """
    from prompt_toolkit.key_binding import KeyPress
    from prompt_toolkit.keys import Keys

    choices = YES._replace(label=yes), NO._replace(label=no)
    line = ChoiceLine(choices, default=choices[1])
    with set_aside_typed() as typed:
        try:
            while (answer := line.ask()) not in (YES.answer, NO.answer):
                if typed and typed[-1].key not in ("c-m", "c-j"):
                    typed += [*as_keys(answer), KeyPress(Keys.ControlM)]
        except EOFError:
            return False
    return answer == YES.answer


@contextmanager
def set_aside_typed() -> Iterator[list[KeyPress]]:
    """Keep what was typed before a question from answering it; the next prompt gets it."""
    from prompt_toolkit.input import create_input
    from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead

    source = create_input(sys.stdin)
    keys: list[KeyPress] = get_typeahead(source)
    with source.raw_mode():
        while pressed := source.read_keys():
            keys += pressed
    keys += source.flush_keys()
    try:
        yield keys
    finally:
        store_typeahead(source, [*keys, *get_typeahead(source)])


def as_keys(text: str) -> list[KeyPress]:
    """Return the keys that type a text; Alt-Enter for the end of a line."""
    from prompt_toolkit.key_binding import KeyPress
    from prompt_toolkit.keys import Keys

    keys: list[Keys | str] = []
    for char in text:
        keys += [Keys.Escape, Keys.ControlM] if char == "\n" else [char]
    return [KeyPress(key) for key in keys]


def _start_reason(event: Any) -> None:
    event.current_buffer.insert_text(_REASON)
