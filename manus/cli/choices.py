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
_WORD_PAUSE = 0.3
"""Seconds after a key until it is the answer, rather than the first letter of a word."""
_REASON = "no: "
_YES = ("y", "yes")
_NO = ("n", "no")


class Choice(NamedTuple):
    """A key, the words beside it, and the answer that it gives."""

    key: str
    label: str
    answer: str


YES = Choice("y", "yes", "yes")
NO = Choice("n", "no", "no")
EDIT = Choice("e", "edit", "edit")


class ChoiceLine:
    """Asks for one of several choices; the answer may also be typed in words.

    A key counts only if no other follows at once: the first letter of "you must not" is no yes.
    Enter without a selected choice does nothing.
    """

    def __init__(
        self, choices: Sequence[Choice], *, default: Choice | None = None, reason: str = ""
    ) -> None:
        self._choices = choices
        self._selected = choices.index(default) if default else -1
        self._reason = reason
        """What Tab asks for: the text after `no: `; empty if Tab does nothing."""
        self._session = self._build_session()

    async def ask_async(self) -> str:
        """Return the answer; raise EOFError at the end of input."""
        with set_aside_typed():
            answer = await self._session.prompt_async(self._render, handle_sigint=False)
        return answer.strip()

    def ask(self) -> str:
        """Return the answer; raise EOFError at the end of input. Blocking."""
        return self._session.prompt(self._render).strip()

    def _build_session(self) -> PromptSession[str]:
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.keys import Keys

        session = build_session()
        session.app.timeoutlen = _WORD_PAUSE
        keys: Any = session.key_bindings
        is_empty = Condition(lambda: not session.default_buffer.text)
        for choice in self._choices:
            for key in (choice.key, choice.key.upper()):
                keys.add(key, filter=is_empty)(partial(_decide, choice.answer))
                keys.add(key, Keys.Any, filter=is_empty)(_start_word)
        for key, step in (("left", -1), ("up", -1), ("right", 1), ("down", 1)):
            keys.add(key, filter=is_empty)(partial(self._move, step))

        keys.add(Keys.ControlM, filter=is_empty)(self._take_selected)
        if self._reason:
            keys.add(Keys.ControlI, filter=is_empty)(_start_reason)
        return session

    def _take_selected(self, event: Any) -> None:
        if self._selected >= 0:
            _decide(self._choices[self._selected].answer, event)

    def _move(self, step: int, _: Any) -> None:
        start = self._selected if self._selected >= 0 or step > 0 else 0
        self._selected = (start + step) % len(self._choices)

    def _render(self) -> StyleAndTextTuples:
        """Return the line of choices, or the sign before a text that is being typed."""
        from prompt_toolkit.formatted_text import fragment_list_width

        if self._session.default_buffer.text:
            return [("bold", _SIGN)]
        width = self._session.output.get_size().columns
        parts: StyleAndTextTuples = []
        for number, choice in enumerate(self._choices):
            style = "reverse" if number == self._selected else ""
            parts += [("", "  "), (f"bold {style}", choice.key), (style, f" {choice.label}")]
        hints = [("Tab", f" {self._reason}"), ("Ctrl-D", " later")] if self._reason else []
        for key, label in hints:
            if fragment_list_width([*parts, ("", f"  {key}{label}  ")]) <= width:
                parts += [("", "  "), ("bold", key), ("", label)]
        return [*parts, ("", "  ")]


def ask_yes(yes: str = "yes", no: str = "no") -> bool:
    """Ask for yes or no until the answer is one of them; an empty line means no. Blocking.

    `yes` and `no` are what the two mean here.

    Other words complete the line that the person was typing when the question came.
    """
    choices = YES._replace(label=yes), NO._replace(label=no)
    line = ChoiceLine(choices, default=choices[1])
    with set_aside_typed() as typed:
        try:
            while (answer := line.ask()).lower() not in (*_YES, *_NO):
                if typed and typed[-1].key not in ("c-m", "c-j"):
                    typed += as_keys(f"{answer}\n")
        except EOFError:
            return False
    return answer.lower() in _YES


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
        store_typeahead(source, keys)


def as_keys(text: str) -> list[KeyPress]:
    """Return the keys that type a text."""
    from prompt_toolkit.key_binding import KeyPress
    from prompt_toolkit.keys import Keys

    return [KeyPress(Keys.ControlM if char == "\n" else char) for char in text]


def _decide(answer: str, event: Any) -> None:
    event.current_buffer.text = answer
    event.current_buffer.validate_and_handle()


def _start_word(event: Any) -> None:
    first, second = event.key_sequence
    event.current_buffer.insert_text(first.data)
    event.key_processor.feed(second, first=True)


def _start_reason(event: Any) -> None:
    event.current_buffer.insert_text(_REASON)
