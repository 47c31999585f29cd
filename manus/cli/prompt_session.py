"""Input lines at the terminal, which take pasted text with line breaks as one input."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from manus.config.files import make_private_file, make_private_folder

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer

_MAX_PASTED_LINES = 5
"""Lines of a paste that are shown as they are."""
_COMMAND = re.compile(r"\s*(!|/[\w:-]+(\s|$))")


class FoldedPastes:
    """Long pasted texts, each of which one mark stands for in the line."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        """The pasted texts by their mark."""

    def insert(self, event: Any) -> None:
        """Insert a pasted text, or a mark for many lines."""
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines > _MAX_PASTED_LINES:
            mark = f"[paste {len(self._texts) + 1}: {lines} lines]"
            self._texts[mark] = text
            text = mark
        event.current_buffer.insert_text(text)

    def unfold(self, line: str) -> str:
        """Return the line with the pasted texts in place of their marks."""
        for mark, text in self._texts.items():
            line = line.replace(mark, text)
        return line


def request_session(completer: Completer, pastes: FoldedPastes) -> PromptSession[str]:
    """Build the prompt of a conversation, with a history of earlier requests.

    Ctrl-C clears the line; on an empty line, `prompt` raises KeyboardInterrupt.
    """
    from platformdirs import user_state_path
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    def clear(event: Any) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    file = user_state_path("manus", appauthor=False) / "history"
    history: History = InMemoryHistory()  # if the file cannot be written
    with contextlib.suppress(OSError):
        make_private_folder(file.parent)
        make_private_file(file)
        history = FileHistory(str(file))
    session = build_session(
        clear, is_command, history=history, completer=completer, complete_while_typing=True
    )
    keys: Any = session.key_bindings
    keys.add("<bracketed-paste>")(pastes.insert)
    return session


def is_command(text: str) -> bool:
    """Return whether a text is a command, which Enter ends even if more was typed after it."""
    return _COMMAND.match(text) is not None


def _stop(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def build_session(
    on_interrupt: Callable[[Any], None] = _stop,
    is_line: Callable[[str], bool] = lambda _: False,
    **options: Any,
) -> PromptSession[str]:
    """Build a multi-line prompt: Enter submits, Alt-Enter starts a new line.

    `is_line` returns whether a text is a whole input: what follows is for the next prompt. Enter in
    other texts starts a new line if more input has arrived with it.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        # Further input in the queue may be a paste, from a terminal without bracketed paste.
        if event.key_processor.input_queue and not is_line(event.current_buffer.text):
            event.current_buffer.newline(copy_margin=False)
        else:
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.newline(copy_margin=False)

    keys.add("c-c")(on_interrupt)
    output = create_output(sys.stderr if sys.stderr.isatty() else sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # the terminal's reply could arrive when nobody reads it
    return PromptSession(key_bindings=keys, output=output, **options)
