"""The whole page: one HTML file that asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from manus.run_report.facts import AgentStep, RunFacts, ThreadFacts
from manus.run_report.flow_view import named, row_key
from manus.run_report.markup import Html, block, join, tag
from manus.run_report.run_view import run_view
from manus.run_report.words import moment, state
from manus.text import first_line, main_argument

_ENTRY = 60
"""Characters of an entry of the outline; more do not fit."""
_TELLING = 12
"""Characters of an argument that tell of a call without the tool's name."""
_KEYS = (
    ("j k", "next, previous step"),
    ("/", "filter"),
    ("e", "unfold all"),
    ("x", "failed steps only"),
    ("t", "light or dark"),
)


def page(facts: ThreadFacts) -> str:
    """The page as text."""
    style, script = asset("page.css"), asset("page.js")
    request = first_line(facts.runs[-1].talk.request)[:80] if facts.runs else ""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(live=facts.is_live)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{request} – manus" if request else f"{facts.thread_id} – manus"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    ]
    body = [
        tag("a", "To the content", href="#main", class_="skip"),
        _bar(facts),
        tag("div", _outline(facts), main(facts), class_="frame"),
        tag("script", Html(script)),
    ]
    root = tag("html", tag("head", *head), tag("body", *body), lang="en")
    return f"<!doctype html>\n{root}\n"


def main(facts: ThreadFacts) -> Html:
    """The part of the page that changes while a run goes on."""
    alone = len(facts.runs) == 1
    runs = [run_view(run, alone=alone) for run in facts.runs]
    if not runs:
        words = f"Nothing has been done on the thread {facts.thread_id} yet."
        runs = [block("section", "empty", tag("p", words, class_="quiet"))]
    foot = block("footer", "foot", *_foot(facts))
    return tag("main", _runs(facts), *runs, foot, id="main", data_c=True)


def _runs(facts: ThreadFacts) -> Html | None:
    """A way to each run, where there are several."""
    if len(facts.runs) < 2:
        return None
    links = [_run_link(run) for run in facts.runs]
    return block("nav", "runs", tag("ol", *links), aria_label="Runs of this thread", class_="runs")


def _run_link(run: RunFacts) -> Html:
    said, tone = state(run)
    request = first_line(run.talk.request)[:100]
    pill = tag("span", said, class_=f"pill {tone}")
    return tag("li", tag("a", tag("span", request, dir="auto"), pill, href=f"#r{run.number}"))


def _bar(facts: ThreadFacts) -> Html:
    tools = tag(
        "div",
        tag(
            "input",
            id="filter",
            type="search",
            placeholder="Filter steps",
            aria_label="Filter steps",
            autocomplete="off",
            spellcheck="false",
        ),
        tag("output", id="found", for_="filter"),
        tag("button", "Failed", id="failed", type="button", aria_pressed="false"),
        tag("button", "Unfold", id="unfold", type="button", aria_pressed="false"),
        tag("button", "Theme", id="theme", type="button"),
        id="tools",
        hidden=True,
    )
    thread = tag("span", facts.thread_id, class_="thread", title="The thread")
    live = tag("span", "live", id="live", class_="live") if facts.is_live else None
    return tag("div", tag("b", "manus"), thread, live, tools, class_="bar")


def _outline(facts: ThreadFacts) -> Html:
    """The newest run's steps, one line each."""
    entries = list(_entries(facts.runs[-1])) if facts.runs else []
    inside = tag("ol", *entries)
    return block("nav", "outline", inside, aria_label="Steps", class_="outline")


def _entries(run: RunFacts) -> Iterable[Html]:
    key = f"r{run.number}"
    if run.kind == "flow":
        for place, row in enumerate(run.rows):
            number, _, words = named(row).partition(". ") if row.kind == "step" else ("", "", "")
            words = first_line(words or row.title)
            yield _entry(row_key(key, place), number, words, f"of-{row.kind} {row.status}")
        return
    for step in run.talk.steps:
        kind = "blocked" if step.has_error else ""
        yield _entry(f"{key}-s{step.number}", str(step.number), _in_short(step), kind)


def _in_short(step: AgentStep) -> str:
    if not step.calls:
        return first_line(step.thought)[:_ENTRY]
    call = step.calls[0]
    words = main_argument(call.args)
    return (words if len(words) > _TELLING else f"{call.name} {words}")[:_ENTRY]


def _entry(place: str, number: str, words: str, kind: str) -> Html:
    link = tag("a", tag("b", number), tag("span", words), href=f"#{place}")
    return tag("li", link, class_=kind or None)


def _foot(facts: ThreadFacts) -> Iterable[Html]:
    told = f"Thread {facts.thread_id}, from {facts.place}" if facts.place else facts.thread_id
    if facts.branches:
        told += f"; {facts.branches} checkpoints on other branches are not shown"
    if not facts.is_live:
        told += f"; written {moment(facts.gathered)}"
    yield tag("p", f"{told}.")
    keys = [tag("span", tag("kbd", key), f" {words}") for key, words in _KEYS]
    yield tag("p", *keys, class_="keys", id="keys")


def policy(*, live: bool = False) -> str:
    """The content security policy: the page's own style and script, images in it, no address."""
    parts = [
        "default-src 'none'",
        "img-src data:",
        f"style-src {_digest(asset('page.css'))}",
        f"script-src {_digest(asset('page.js'))}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*parts, "connect-src 'self'"] if live else parts)


def _digest(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return resources.files("manus.run_report").joinpath("assets", name).read_text("utf-8")


def content(facts: ThreadFacts) -> str:
    """The parts of the page that change while a run goes on."""
    return join([_outline(facts), main(facts)])
