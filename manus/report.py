"""What came of a run, told to a person or to a program."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from manus.screen import Screen
from manus.spent import in_words
from manus.text import clean, count

if TYPE_CHECKING:
    from graph.outcome import Outcome
    from state.agent import Usage

_STATUS = {
    "terminated": "finished",
    "answered": "finished",
    "completed": "finished",
    "max_steps": "stopped at the step limit",
    "budget": "stopped: a budget is used up",
    "stuck": "stopped: it went round in circles",
    "interrupted": "waiting for an answer",
    "error": "failed",
    "plan_incomplete": "not everything in the plan was done",
}


def print_output(text: str) -> None:
    """Results to stdout, fit for a terminal."""
    if text.strip():
        sys.stdout.write(clean(text).rstrip("\n") + "\n")
        sys.stdout.flush()


def print_json(data: Any) -> None:
    """One JSON value on one line of stdout; ASCII alone, so that no encoding can spoil it."""
    sys.stdout.write(json.dumps(data, default=str) + "\n")
    sys.stdout.flush()


def print_summary(outcome: Outcome, screen: Screen, took: str, workspace: str) -> None:
    """What a run took and how it goes on, on stderr."""
    screen.paragraph(f"{headline(outcome)}: {took}", "bold")
    screen.paragraph(f"Thread {outcome.thread_id}, files in {workspace}", "dim")
    if hint := how_to_go_on(outcome):
        screen.paragraph(hint, always=True)


def headline(outcome: Outcome) -> str:
    """The state of a run in a few words."""
    if outcome.stop_reason is None:
        return "Not finished"
    said = _STATUS.get(outcome.stop_reason, outcome.stop_reason)
    if said == "finished" and not outcome.success:
        said = "finished without success"
    return said[:1].upper() + said[1:]


def how_to_go_on(outcome: Outcome) -> str:
    """The command that goes on with a run that did not finish; empty for one that did."""
    thread = shlex.quote(outcome.thread_id)
    if outcome.questions:
        if len(outcome.questions) == 1:
            return f"Answer with: manus resume {thread} --answer TEXT"
        ways = (f"manus resume {thread} --answer {q.id[:8]}=TEXT" for q in outcome.questions)
        return "Answer with:\n  " + "\n  ".join(ways)
    if outcome.stop_reason is None:
        return f"Go on with: manus resume {thread}"
    if outcome.stop_reason in ("terminated", "answered", "completed"):
        return ""
    return f"Go on with: manus run --thread {thread} PROMPT"


def exit_code(outcome: Outcome) -> int:
    """0 only for a run that finished with success."""
    return 0 if outcome.status == "finished" and outcome.success else 1


def summary_of(steps: int, usage: Usage, currency: str = "$") -> str:
    """What a run took: `4 steps, 12,345 tokens, $0.0123, 8.3 s`."""
    spent = in_words({**usage}, currency) or count(0, "token")
    return ", ".join([count(steps, "step"), spent, f"{usage['seconds']:.1f} s"])
