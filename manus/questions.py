"""Questions that a run waits with, and the person's answers."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manus.screen import Screen
from manus.state.errors import UsageError

if TYPE_CHECKING:
    from langgraph.types import Interrupt

Answers = dict[str, str]
"""Answers by the id of the interrupt that asked."""
_SHORTEST_ID = 6
_LIKE_AN_ID = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{8,}=")
"""How an answer with an id begins: of no open question it is a slip, and no text for another."""
_LARGEST_LINE = 1 << 16


def someone_is_there() -> bool:
    """Whether a person sits at stdin to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


async def ask_all(screen: Screen, questions: Sequence[Interrupt]) -> tuple[Answers, bool]:
    """Ask the questions one by one. The answers, and whether there was one to each.

    The end of input (Ctrl-D) leaves a question and those after it open.
    """
    from manus.graph.outcome import question_of

    answers: Answers = {}
    for question in questions:
        screen.paragraph(f"\nThe agent asks: {question_of(question)}", "bold", always=True)
        answer = await _answer(screen)
        if answer is None:
            return answers, False
        answers[question.id] = answer
    return answers, True


async def _answer(screen: Screen) -> str | None:
    while True:
        screen.prompt("Your answer (Ctrl-D to answer later): ")
        line = await read_line()
        if line is None:
            screen.paragraph("", always=True)
            return None
        if line:
            return line


async def read_line() -> str | None:
    """A line from the terminal, stripped; None at the end of input.

    Read from the descriptor when there is something, so that a signal can interrupt the waiting;
    a thread that reads could not be stopped.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    handle = sys.stdin.fileno()
    loop.add_reader(handle, _set, ready)
    try:
        await ready
    finally:
        loop.remove_reader(handle)
    line = os.read(handle, _LARGEST_LINE)
    return line.decode("utf-8", "replace").strip() if line else None


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def match_answers(texts: Sequence[str], questions: Sequence[Interrupt], thread_id: str) -> Answers:
    """Answers given with `--answer`: `ID=TEXT` to that question, `TEXT` to the first open one.

    Raises:
        UsageError: there are more answers than questions, or no open question has the id.
    """
    answers: Answers = {}
    for text in texts:
        left = [q.id for q in questions if q.id not in answers]
        if not left:
            raise UsageError(_too_many(thread_id, len(questions)))
        begin, equals, rest = text.partition("=")
        named = [i for i in left if equals and len(begin) >= _SHORTEST_ID and i.startswith(begin)]
        if len(named) == 1:
            answers[named[0]] = rest
        elif _LIKE_AN_ID.match(text):
            raise UsageError(_not_open(begin, thread_id, left))
        else:
            answers[left[0]] = text
    return answers


def _not_open(given: str, thread_id: str, left: Sequence[str]) -> str:
    known = " and ".join(name[:8] for name in left)
    return (
        f"No open question of the thread {thread_id} has the id {given}; open is {known}. An "
        f"answer that begins so is given as `{left[0][:8]}={given}=…`."
    )


def _too_many(thread_id: str, questions: int) -> str:
    if not questions:
        return (
            f"No question is open on the thread {thread_id}, so there is nothing to answer; "
            f"`manus resume {thread_id}` goes on without an answer."
        )
    return f"There are more answers than open questions ({questions}) on the thread {thread_id}."
