"""Ask the user at the terminal: for the request, answers to a run's questions, yes or no.

Input is read with prompt_toolkit, which takes pasted text with line breaks as one input.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from manus.cli.choices import EDIT, NO, YES, Choice, ChoiceLine
from manus.cli.drafts import build_draft, edit
from manus.cli.prompt_session import build_session
from manus.cli.screen import DONE, FAILED, Screen
from manus.prompts.visible import visible
from manus.state.errors import UsageError
from manus.state.request import Request, typed_request

if TYPE_CHECKING:
    from langgraph.types import Interrupt

Answers = dict[str, str]
"""Answers by interrupt id."""
LEAVE = ("/exit", "/quit")
"""Inputs that leave a conversation, or a question unanswered."""
_ANOTHER = Choice("n", "another plan", "no")
_CANCEL = Choice("c", "cancel", "cancel")
_SCOPES = {
    "run": Choice("r", "this run", "run"),
    "always": Choice("a", "always here", "always"),
    "web": Choice("w", "any host", "web"),
}
"""Choices of lasting decisions, by the scope that a question offers."""
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


def ask_text(question: str, *, hidden: bool = False, choices: Sequence[str] = ()) -> str:
    """Ask for a line, with Tab completion of `choices`; raise EOFError at the end of input."""
    from prompt_toolkit.completion import WordCompleter

    completer = WordCompleter(list(choices), sentence=True)
    answer: str = build_session(completer=completer).prompt(question, is_password=hidden)
    return answer.strip()


def _ask_or_empty(question: str) -> str:
    """Ask for a line as `ask_text` does; return an empty string at the end of input."""
    try:
        return _replace_undecodable(ask_text(question))
    except EOFError:
        return ""


async def ask_for_more_steps(screen: Screen, steps: int) -> bool:
    """Ask whether a run that reached its step limit may take `steps` more."""
    from manus.prompts.formatting import count

    screen.release()
    more = YES._replace(label=count(steps, "more step"))
    try:
        answer = await ChoiceLine((more, NO), default=more).ask_async()
    except EOFError:
        return False
    return answer == YES.answer


async def ask_all(
    screen: Screen, questions: Sequence[Interrupt], visible_plan: str = ""
) -> tuple[Answers, bool]:
    """Ask the questions one by one; return the answers, and whether all were answered.

    The end of input (Ctrl-D) leaves that question and the following ones open. A plan at the start
    of a question is not repeated if it was just displayed as `visible_plan`.
    """
    from manus.graph.outcome import format_question, get_subject

    screen.release()
    answers: Answers = {}
    for question in questions:
        value = question.value if isinstance(question.value, dict) else {}
        has_keys = value.get("kind") in ("approve", "plan")
        text = get_subject(question) if has_keys else f"The agent asks: {format_question(question)}"
        _print_card(screen, text.removeprefix(visible_plan).strip())
        try:
            answer = await (_ask_by_keys(screen, value) if has_keys else _ask_in_words())
        except EOFError:
            answer = ""
        if not answer or answer.lower() in LEAVE:
            return answers, False
        answers[question.id] = answer
    return answers, True


def _print_card(screen: Screen, text: str) -> None:
    """Print what is asked; a diff in it has colors."""
    is_diff = "\n  │ @@" in text
    screen.paragraph("", always=True)
    for line in text.splitlines():
        if line.startswith("  │"):
            sign = line[4:5] if is_diff else ""
            screen.paragraph(line, {"+": DONE, "-": FAILED}.get(sign, ""), always=True)
        else:
            screen.paragraph(line, "bold", always=True)


async def _ask_in_words() -> str:
    answer = ""
    while not answer:
        ask = build_session().prompt_async
        answer = (await ask("Your answer (Ctrl-D to answer later): ", handle_sigint=False)).strip()
    return answer


async def _ask_by_keys(screen: Screen, question: Mapping[str, Any]) -> str:
    """Return the answer to a question about a call or a plan, by a key, in words, or as an edit."""
    if rules := question.get("rules"):
        allowed = visible(", ".join(rules))
        screen.paragraph(f"  r and a allow: {allowed}", "dim", always=True)
    draft = build_draft(question)
    choices = _list_choices(question)
    reason = "changes" if question["kind"] == "plan" else "reason"
    while True:
        answer = await ChoiceLine(choices, reason=reason).ask_async()
        if answer != EDIT.answer:
            return answer
        try:
            answer = await edit(draft, screen)
        except click.ClickException as error:
            screen.paragraph(f"  {error}", FAILED, always=True)
        else:
            if answer:
                return answer


def _list_choices(question: Mapping[str, Any]) -> tuple[Choice, ...]:
    if question["kind"] == "plan":
        return YES._replace(label="execute"), _ANOTHER, EDIT, _CANCEL
    scopes = [_SCOPES[scope] for scope in question.get("scopes", ())]
    [review] = question["review_configs"]
    is_editable = "edit" in review["allowed_decisions"]
    return (YES, NO, *scopes, *[EDIT] * is_editable)
