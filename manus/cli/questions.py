"""What a person is asked at the terminal: the request, questions of a run, and yes or no.

Each is read by prompt_toolkit, which takes what is pasted as one text, line breaks and all.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from manus.cli.screen import Screen
from manus.config.files import make_private_file, make_private_folder
from manus.runs.attachments import Request, typed_request
from manus.state.errors import UsageError

if TYPE_CHECKING:
    from langgraph.types import Interrupt
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer

Answers = dict[str, str]
"""Answers by the id of the interrupt that asked."""
LEAVE = ("/exit", "/quit")
"""What leaves a conversation, and a question open."""
_YES = ("y", "yes")
_MOMENT = 2.0
"""Seconds until a person is told that stdin is waited for."""


def someone_is_there() -> bool:
    """Whether a person sits at stdin to be asked."""
    return sys.stdin.isatty()


def read_request(words: Sequence[str]) -> Request:
    """Return the words and what is piped; with neither, what is typed at the terminal.

    Piped text is the request itself where there are no words, or `-`; else it is attached.

    Raises:
        UsageError: there is none.
    """
    said = _decoded(" ".join(words)).strip()
    said = "" if said == "-" else said
    if (piped := _piped()).strip():
        if said:
            text = f"{said}\n\n<stdin>\n{piped.rstrip()}\n</stdin>"
            return Request(text, said, is_tainted=True)
        return Request(piped.strip(), "")
    request = said or (_asked("What is to be done? ") if someone_is_there() else "")
    if not request:
        raise UsageError(
            "There is no request: give it as an argument, type it when asked, or send it to stdin."
        )
    return typed_request(request)


def _piped() -> str:
    """All of a pipe or a file; nothing of a terminal, or of what else stdin may be."""
    if sys.stdin.isatty():
        return ""
    if not select.select([sys.stdin], [], [], _MOMENT)[0]:
        sys.stderr.write("Waiting for what is piped in (Ctrl-C ends it) …\n")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _decoded(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced; a request must be encodable."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def ask_text(question: str, *, hidden: bool = False, choices: Sequence[str] = ()) -> str:
    """A line from a person, whose choices Tab completes; EOFError at the end of input."""
    from prompt_toolkit.completion import WordCompleter

    known = WordCompleter(list(choices), sentence=True)
    said: str = _session(completer=known).prompt(question, is_password=hidden)
    return said.strip()


def ask_yes(question: str) -> bool:
    """A person's yes or no; an empty line and the end of input are a no."""
    return _asked(f"{question} [y/N] ").lower() in _YES


def _asked(question: str) -> str:
    """The same as `ask_text`, empty at the end of input."""
    try:
        return _decoded(ask_text(question))
    except EOFError:
        return ""


async def ask_for_more_steps(screen: Screen, steps: int) -> bool:
    """Whether a run that used up its steps shall have so many more."""
    screen.release()
    try:
        said = await _session().prompt_async(f"{steps} more steps? [Y/n] ", handle_sigint=False)
    except EOFError:
        return False
    return said.strip().lower() in ("", *_YES)


async def ask_all(
    screen: Screen, questions: Sequence[Interrupt], shown: str = ""
) -> tuple[Answers, bool]:
    """Ask the questions one by one. The answers, and whether there was one to each.

    The end of input (Ctrl-D) leaves a question and those after it open. A question does not repeat
    a plan at its beginning that is `shown` above it.
    """
    from manus.graph.outcome import draft_of_change, question_of

    screen.release()
    answers: Answers = {}
    session = _session()
    for question in questions:
        asked = question_of(question).removeprefix(shown).strip()
        screen.paragraph(f"\nThe agent asks: {asked}", "bold", always=True)
        answer = await _answer(session, draft_of_change(question))
        if not answer:
            return answers, False
        answers[question.id] = answer
    return answers, True


async def _answer(session: PromptSession[str], draft: str) -> str:
    """An answer, or what the person makes of its draft; empty at the end of input."""
    ask = partial(session.prompt_async, handle_sigint=False)
    answer = ""
    try:
        while not answer:
            answer = (await ask("Your answer (Ctrl-D to answer later): ", default="")).strip()
            if answer.lower() in LEAVE:
                return ""
            if draft and answer.lower() in ("e", "edit"):
                answer = (await ask("Change it: ", default=draft)).strip()
    except EOFError:
        return ""
    return answer


def request_session(completer: Completer) -> PromptSession[str]:
    """Reads the requests of a conversation, with those of earlier ones at the arrow keys.

    Ctrl-C drops what is typed; where nothing is, `prompt` raises KeyboardInterrupt.
    """
    from platformdirs import user_state_path
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    def drop(event: Any) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    file = user_state_path("manus", appauthor=False) / "history"
    history: History = InMemoryHistory()  # where no file can be written
    with contextlib.suppress(OSError):
        make_private_folder(file.parent)
        make_private_file(file)
        history = FileHistory(str(file))
    return _session(drop, history=history, completer=completer, complete_while_typing=True)


def _stop(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _session(on_interrupt: Callable[[Any], None] = _stop, **options: Any) -> PromptSession[str]:
    """Reads a text of any number of lines; Enter ends it, Alt-Enter breaks a line."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        # More that came along with it was pasted, by a terminal that does not mark what is.
        if event.key_processor.input_queue:
            event.current_buffer.newline(copy_margin=False)
        else:
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.newline(copy_margin=False)

    keys.add("c-c")(on_interrupt)
    output = create_output(sys.stderr if sys.stderr.isatty() else sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # the terminal's answer could come when nobody reads it
    return PromptSession(key_bindings=keys, output=output, **options)
