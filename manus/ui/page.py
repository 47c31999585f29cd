"""The page of a conversation: the report's parts, in the order in which things were said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader
from langgraph.types import Interrupt
from markupsafe import Markup

from manus.graph.outcome import draft_of_change, question_of
from manus.run_report import page as report
from manus.threads import Thread
from manus.trace.model import Run

_FOLDER = Path(__file__).parent / "templates"
_CHOICES = {
    "approve": {
        "yes": "Yes",
        "run": "Yes, for this run",
        "always": "Always in this folder",
        "no": "No",
    },
    "plan": {"yes": "Approve the plan", "cancel": "Cancel"},
}
"""Answers that are a button, by the kind of the question."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a thread stands, which decides what can be done with it."""

    state: Literal["new", "running", "elsewhere", "waiting", "early", "ended"]
    """`elsewhere`: another process works on it; `early`: it could go on."""
    questions: tuple[Interrupt, ...] = ()
    problem: str = ""


def thread_page(
    thread_id: str,
    runs: Sequence[Run],
    threads: Sequence[Thread],
    stand: Stand,
    place: str,
    workspace: str,
) -> tuple[str, str]:
    """The page as text, and its content security policy. Blocking."""
    style = report.style() + _asset("ui.css")
    script = report.asset("page.js") + _asset("ui.js")
    policy = report.policy(style, script, is_live=True)
    policy = policy.replace("img-src", "img-src 'self'")  # what the browser shows
    html = (
        _environment()
        .get_template("ui.html")
        .render(
            thread_id=thread_id,
            runs=report.reports_of(runs),
            threads=threads,
            stand=stand,
            asked=[
                (q.id, question_of(q), _choices(q), draft_of_change(q)) for q in stand.questions
            ],
            place=place,
            workspace=workspace,
            is_live=True,
            style=style,
            script=script,
            policy=policy,
        )
    )
    return html, policy


def _choices(question: Interrupt) -> dict[str, str]:
    kind = question.value.get("kind") if isinstance(question.value, dict) else None
    return _CHOICES.get(str(kind), {})


@cache
def _environment() -> Environment:
    made = report.environment()
    return made.overlay(loader=FileSystemLoader([_FOLDER, report.FOLDER]))


@cache
def _asset(name: str) -> Markup:
    return Markup((_FOLDER / name).read_text("utf-8"))
