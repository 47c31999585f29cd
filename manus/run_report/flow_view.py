"""A flow as HTML: the plan over time, and each execution of a step with its agent's steps."""

from __future__ import annotations

import re

from manus.run_report.charts import axis, bar, lane, legend, step_bars
from manus.run_report.clock import Clock
from manus.run_report.facts import Row, RunFacts
from manus.run_report.markup import Html, block, join, tag
from manus.run_report.prose import prose
from manus.run_report.step_view import notice, plan_view, steps_view
from manus.run_report.usage import total_of
from manus.run_report.words import moment, span
from manus.text import count

_SIGNS = {"completed": "✓", "blocked": "!", "in_progress": "→", "not_started": "·", "": ""}
_TAG = re.compile(r"^\[[\w-]+\]\s*")
_WORDS = {
    "completed": "completed",
    "blocked": "blocked",
    "in_progress": "in progress",
    "not_started": "not begun",
}


def flow_timeline(run: RunFacts, clock: Clock, key: str) -> Html | None:
    """The rows of the plan with their bars, side by side where they were at work together."""
    if not run.rows:
        return None
    rows = [_line(row, clock, place, key) for place, row in enumerate(run.rows)]
    foot = tag("div", tag("span"), axis(clock), class_="row foot")
    return tag("section", tag("h2", "Plan"), tag("div", *rows, foot, class_="timeline"), _legend())


def _legend() -> Html:
    kinds = (
        ("think", "a model answers"),
        ("act", "tools work"),
        ("bad", "a call failed"),
        ("whole", "a step of the plan"),
    )
    return legend(kinds)


def _line(row: Row, clock: Clock, place: int, key: str) -> Html:
    link = f"#{row_key(key, place)}"
    name = named(row)
    small = [tag("small", text) for text in (row.executor, _after(row)) if text]
    title = tag(
        "a",
        tag("span", _SIGNS.get(row.status, ""), class_=f"mark {row.status}"),
        tag("span", name, *small, class_="name"),
        href=link,
        title=row.title,
    )
    return tag(
        "div", title, _bars(row, clock, key, place), class_=f"row of-{row.kind} {row.status}"
    )


def named(row: Row) -> str:
    """A row with its number, and without the tag that names its executor, which is told beside."""
    if row.index is None:
        return row.title
    return f"{row.index}. {_TAG.sub('', row.title) or row.title}"


def _after(row: Row) -> str:
    if not row.depends_on:
        return ""
    places = [str(place) for place in row.depends_on]
    last = places.pop()
    return f"after {', '.join(places)} and {last}" if places else f"after {last}"


def _bars(row: Row, clock: Clock, key: str, place: int) -> Html:
    if row.began is None:
        return lane(clock, [], f"{row.title}: not begun", "empty")
    ended = row.ended or row.began
    begin, end = clock.place(row.began), clock.place(ended)
    passed = span(max(clock.seconds(ended) - clock.seconds(row.began), 0))
    words = f"{row.title}: {_WORDS.get(row.status, 'done')}, {passed}"
    if row.kind != "step":
        return lane(clock, [bar(begin, end, "think", words)], words)
    parts = [bar(begin, end, f"whole {row.status}", words, 16)]
    if row.talk is not None:
        parts += step_bars(clock, row.talk, row_key(key, place))
    return lane(clock, parts, words)


def row_key(key: str, place: int) -> str:
    """Where a row of the plan is on the page."""
    return f"{key}-p{place}"


def flow_rows(run: RunFacts, clock: Clock, key: str) -> Html:
    """What was done in each row."""
    rows = [_row(row, clock, row_key(key, place)) for place, row in enumerate(run.rows)]
    told = block("div", f"{key}-told", tag("h2", "Steps"), *map(notice, run.talk.loose))
    return tag("section", told, *rows, id=f"{key}-work", data_c=True)


def _row(row: Row, clock: Clock, key: str) -> Html:
    head = block("div", f"{key}-head", _row_head(row, clock), class_="phead")
    parts: list[Html | None] = [head]
    if row.talk is not None:
        parts.append(steps_view(row.talk, clock, key))
    return tag(
        "article",
        *parts,
        id=key,
        class_=f"planstep of-{row.kind} {row.status}",
        data_c=True,
        tabindex="-1",
    )


def _row_head(row: Row, clock: Clock) -> Html:
    name = named(row)
    mark = tag("span", _SIGNS.get(row.status, ""), class_=f"mark {row.status}")
    facts = [_WORDS.get(row.status, ""), f"by {row.executor}" if row.executor else "", _after(row)]
    if row.began is not None:
        passed = span(clock.seconds(row.ended or row.began) - clock.seconds(row.began))
        facts.append(f"at {clock.label(row.began)} for {passed}")
    if row.talk is not None:
        facts.append(count(len(row.talk.steps), "step"))
        facts.append(count(total_of(row.talk.points).total, "token"))
    when = moment(row.began) if row.began is not None else None
    line = tag("p", " · ".join(fact for fact in facts if fact), class_="measures", title=when)
    return join([tag("h3", mark, name), line, *_outcome(row)])


def _outcome(row: Row) -> list[Html]:
    parts = []
    if row.notes:
        parts.append(tag("p", row.notes, class_="why", dir="auto"))
    if row.result and not row.notes:
        parts.append(tag("div", prose(row.result), class_="result"))
    if row.files:
        parts.append(tag("p", f"Files: {', '.join(row.files)}", class_="measures"))
    if row.plan:
        parts.append(plan_view(row.plan))
    if row.talk is not None:
        told = tag("pre", row.talk.request, class_="words", dir="auto")
        parts.append(tag("details", tag("summary", "What it was told"), told, class_="more"))
    return parts
