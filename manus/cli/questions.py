"""Ask the user at the terminal: for the request, answers to a run's questions, yes or no.

Input is read with prompt_toolkit, which takes pasted text with line breaks as one input.
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
from manus.state.errors import UsageError
from manus.state.request import Request, typed_request

if TYPE_CHECKING:
    from langgraph.types import Interrupt
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer

Answers = dict[str, str]
"""Answers by interrupt id."""
LEAVE = ("/exit", "/quit")
"""Inputs that leave a conversation, or a question unanswered."""
_YES = ("y", "yes")
_PIPE_NOTICE_DELAY = 2.0
"""Seconds until a message reports that the program is waiting for stdin."""


def is_interactive() -> bool:
    """Return whether a person can type at stdin."""
    return sys.stdin.isatty()


def read_request(words: Sequence[str]) -> Request:
    """Return the request from the arguments and piped text, or typed at the terminal.

    Without words, or with `-`, piped text is the request; otherwise it is attached to the words.

    Raises:
        UsageError: there is no request.
    """
    typed = _join_words(words)
    piped = _read_pipe()
    if piped.strip():
        return _piped_request(typed, piped)
    if not typed and is_interactive():
        typed = _ask_or_empty("What should be done? ")
    if not typed:
        raise UsageError(
            "There is no request; pass it as an argument, type it when prompted, or pipe it to "
            "stdin."
        )
    return typed_request(typed)


def read_requests(words: Sequence[str]) -> list[Request]:
    """Return one request for each line of the piped text, or of the words without a pipe.

    Raises:
        UsageError: there is no request.
    """
    typed = _join_words(words)
    piped = [line for line in _read_pipe().splitlines() if line.strip()]
    if piped:
        return [_piped_request(typed, line) for line in piped]
    if not typed:
        raise UsageError("There is no request; pipe one per line to stdin.")
    return [typed_request(line.strip()) for line in typed.splitlines() if line.strip()]


def _join_words(words: Sequence[str]) -> str:
    typed = _replace_undecodable(" ".join(words)).strip()
    return "" if typed == "-" else typed


def _piped_request(typed: str, piped: str) -> Request:
    """Return piped text as the request, or attached to the one that was typed."""
    if not typed:
        return Request(piped.strip(), "")
    text = f"{typed}\n\n<stdin>\n{piped.rstrip()}\n</stdin>"
    return Request(text, typed, is_tainted=True)


def _read_pipe() -> str:
    """Read all of a pipe or file at stdin; return an empty string for a terminal."""
    if sys.stdin.isatty():
        return ""
    if not select.select([sys.stdin], [], [], _PIPE_NOTICE_DELAY)[0]:
        sys.stderr.write("Waiting for input from the pipe (Ctrl-C cancels) …\n")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _replace_undecodable(text: str) -> str:
    """Replace bytes that are not UTF-8, so that the request can be encoded."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def take_typed() -> str:
    """Return what was typed at the terminal before anything asked for it."""
    import termios
    import tty

    if not sys.stdin.isatty():
        return ""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    typed = b""
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)  # a line without its end can be read, too
        while select.select([descriptor], [], [], 0)[0] and (chunk := os.read(descriptor, 4096)):
            typed += chunk
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
    return typed.decode("utf-8", "replace")


def ask_text(question: str, *, hidden: bool = False, choices: Sequence[str] = ()) -> str:
    """Ask for a line, with Tab completion of `choices`; raise EOFError at the end of input."""
    from prompt_toolkit.completion import WordCompleter

    completer = WordCompleter(list(choices), sentence=True)
    answer: str = _session(completer=completer).prompt(question, is_password=hidden)
    return answer.strip()


def ask_yes(question: str) -> bool:
    """Ask a yes/no question; an empty line and the end of input mean no."""
    return _ask_or_empty(f"{question} [y/N] ").lower() in _YES


def _ask_or_empty(question: str) -> str:
    """Ask for a line as `ask_text` does; return an empty string at the end of input."""
    try:
        return _replace_undecodable(ask_text(question))
    except EOFError:
        return ""


async def ask_for_more_steps(screen: Screen, steps: int) -> bool:
    """Ask whether a run that reached its step limit may take `steps` more."""
    screen.release()
    try:
        answer = await _session().prompt_async(f"{steps} more steps? [Y/n] ", handle_sigint=False)
    except EOFError:
        return False
    return answer.strip().lower() in ("", *_YES)


async def ask_all(
    screen: Screen, questions: Sequence[Interrupt], visible_plan: str = ""
) -> tuple[Answers, bool]:
    """Ask the questions one by one; return the answers, and whether all were answered.

    The end of input (Ctrl-D) leaves that question and the following ones open. A plan at the start
    of a question is not repeated if it was just displayed as `visible_plan`.
    """
    from manus.graph.outcome import draft_change, format_question

    screen.release()
    answers: Answers = {}
    session = _session()
    for question in questions:
        text = format_question(question).removeprefix(visible_plan).strip()
        screen.paragraph(f"\nThe agent asks: {text}", "bold", always=True)
        answer = await _answer(session, draft_change(question))
        if not answer:
            return answers, False
        answers[question.id] = answer
    return answers, True


async def _answer(session: PromptSession[str], draft: str) -> str:
    """Ask for an answer, or let the user edit the draft; return "" at the end of input."""
    ask = partial(session.prompt_async, handle_sigint=False)
    answer = ""
    try:
        while not answer:
            answer = (await ask("Your answer (Ctrl-D to answer later): ", default="")).strip()
            if answer.lower() in LEAVE:
                return ""
            if draft and answer.lower() in ("e", "edit"):
                answer = (await ask("Edit the draft: ", default=draft)).strip()
    except EOFError:
        return ""
    return answer


def request_session(completer: Completer) -> PromptSession[str]:
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
    return _session(clear, history=history, completer=completer, complete_while_typing=True)


def _stop(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _session(on_interrupt: Callable[[Any], None] = _stop, **options: Any) -> PromptSession[str]:
    """Build a multi-line prompt: Enter submits, Alt-Enter starts a new line."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        # Further input in the queue means a paste, from a terminal without bracketed paste.
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
        output.enable_cpr = False  # the terminal's reply could arrive when nobody reads it
    return PromptSession(key_bindings=keys, output=output, **options)
