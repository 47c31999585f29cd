"""One run as HTML: what was asked, what came of it, the drawings, the steps, the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manus.run_report.charts import (
    axis,
    calls_chart,
    cost_chart,
    lane,
    legend,
    step_bars,
    total_chart,
)
from manus.run_report.clock import Clock
from manus.run_report.diff_view import diff_view
from manus.run_report.edits import sum_of
from manus.run_report.facts import FileFacts, Point, RunFacts
from manus.run_report.flow_runs import REVISED
from manus.run_report.flow_view import flow_rows, flow_timeline
from manus.run_report.markup import Html, block, join, tag
from manus.run_report.prose import prose
from manus.run_report.step_view import picture, plan_view, steps_view
from manus.run_report.usage import total_of
from manus.run_report.words import moment, reason, size, span, state
from manus.text import clean, count

_TITLE = 160
"""Characters of a request that make a heading; the whole of a longer one is folded below it."""
_FEW = 2
"""Points below which a curve would say nothing."""


def run_view(run: RunFacts, *, alone: bool) -> Html:
    """A run; its place on the page is `rNUMBER`."""
    key = f"r{run.number}"
    clock = Clock(run.talk.began, run.talk.ended or run.talk.began, run.talk.pauses)
    body = [
        block("div", f"{key}-facts", _facts(run, clock)),
        block("div", f"{key}-answer", _answer(run)),
        block("div", f"{key}-time", _time(run, clock, key)),
        block("div", f"{key}-used", _used(clock, run.talk.points)),
        _work(run, clock, key),
        block("div", f"{key}-files", _files(run)),
    ]
    head = block("div", f"{key}-head", _head(run, alone=alone))
    if run.is_newest:
        inside = [head, *body]
    else:
        folded = tag("details", tag("summary", "This earlier run"), *body, class_="earlier")
        inside = [head, folded]
    return tag("section", *inside, id=key, class_="run", data_c=True)


def _head(run: RunFacts, *, alone: bool) -> Html:
    words = clean(run.talk.request).strip() or "(no request)"
    title = words.splitlines()[0]
    is_long = len(title) > _TITLE or title != words
    shown = title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
    said, tone = state(run)
    parts = ([] if alone else [f"Run {run.number}"]) + [run.kind]
    parts += [run.talk.profile] if run.kind == "agent" and run.talk.profile else []
    return join(
        [
            tag("p", " · ".join(parts), class_="eyebrow"),
            tag("h1" if run.is_newest else "h2", shown, dir="auto", class_="request"),
            _folded("The whole request", tag("pre", words, class_="words", dir="auto"))
            if is_long
            else None,
            *(picture(p, "an image of the request") for p in run.talk.pictures),
            tag("p", tag("span", said, class_=f"pill {tone}"), " ", reason(run), class_="state"),
        ]
    )


def _folded(title: str, *inside: Html) -> Html:
    return tag("details", tag("summary", title), *inside, class_="more")


def _facts(run: RunFacts, clock: Clock) -> Html:
    used = total_of(run.talk.points)
    counted = run.talk.usage.get("seconds") if run.talk.stop_reason else None
    seconds = counted or clock.length
    idle = sum(length for _, length in clock.pauses)
    calls = sum(len(step.calls) for talk in run.conversations for step in talk.steps)
    limit = f" of {run.talk.max_steps}" if run.talk.max_steps and run.kind == "agent" else ""
    told: list[tuple[str, str, str]] = [
        *_plan_facts(run),
        ("Steps", f"{run.steps}{limit}", f"{calls} tool calls"),
        ("Time", span(seconds), f"and {span(idle)} of waiting" if idle >= 1 else "of work"),
        ("Tokens", f"{used.total:,}", f"{used.input:,} in, {used.output:,} out{_estimated(run)}"),
    ]
    if used.cached:
        share = round(100 * used.cached / max(used.input, 1))
        told.append(("Cached", f"{share} %", f"{used.cached:,} of the input"))
    if used.written:
        told.append(("Written to the cache", f"{used.written:,}", "of the input"))
    if used.cost is not None:
        told.append(("Cost", f"{used.cost:.4f}", "by the price table"))
    if run.models:
        told.append(("Model", ", ".join(run.models), ""))
    told.append(("Began", moment(run.talk.began), f"in {run.talk.workspace or 'no workspace'}"))
    cells = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", more) if more else None))
        for name, value, more in told
    ]
    return tag("dl", *cells, class_="facts")


def _estimated(run: RunFacts) -> str:
    is_so = any(talk.usage.get("estimated") for talk in run.conversations)
    return ", partly estimated" if is_so else ""


def _plan_facts(run: RunFacts) -> list[tuple[str, str, str]]:
    """How much of a flow's plan is done."""
    steps = (run.talk.plan or {}).get("steps", []) if run.kind == "flow" else []
    if not steps:
        return []
    done = sum(step["status"] == "completed" for step in steps)
    revised = sum(row.title == REVISED for row in run.rows)
    return [("Plan", f"{done} of {len(steps)} done", count(revised, "revision") if revised else "")]


_NO_STEP = {True: "No step has been done yet.", False: "No step was done."}


def _answer(run: RunFacts) -> Html | None:
    if not run.talk.output.strip():
        return None
    title = "Answer" if run.talk.success else "What it said last"
    # Why a run failed is no Markdown of a model: it may be a difference, and its lines count.
    failed = run.talk.stop_reason == "error"
    title = "What went wrong" if failed else title
    words = tag("pre", run.talk.output, class_="words", dir="auto") if failed else None
    return tag("section", tag("h2", title), words or prose(run.talk.output), class_="answer")


def _time(run: RunFacts, clock: Clock, key: str) -> Html | None:
    if run.kind == "flow":
        return flow_timeline(run, clock, key)
    if not run.talk.steps:
        return None
    bars = step_bars(clock, run.talk, key)
    label = f"{len(run.talk.steps)} steps over {span(clock.length)}"
    return tag(
        "section",
        tag("h2", "Time"),
        tag("div", lane(clock, bars, label, "tall"), axis(clock), class_="strip"),
        _legend(run),
    )


def _legend(run: RunFacts) -> Html:
    kinds = [("think", "the model answers"), ("act", "tools work")]
    if any(step.has_error for step in run.talk.steps):
        kinds.append(("bad", "a call failed"))
    return legend(kinds)


def _used(clock: Clock, points: Sequence[Point]) -> Html | None:
    calls = [p for p in points if p.tokens.total]
    if len(calls) < _FEW:
        return None
    charts = [
        ("Input of each model call", calls_chart(clock, calls)),
        ("Tokens so far", total_chart(clock, calls)),
    ]
    if any(p.tokens.cost for p in calls):
        charts.append(("Cost so far", cost_chart(clock, calls)))
    figures = [
        tag("figure", tag("figcaption", title), chart, axis(clock)) for title, chart in charts
    ]
    return tag(
        "section",
        tag("h2", "Tokens"),
        tag("div", *figures, class_="charts"),
        _legend_of_tokens(calls),
        _folded("The same as a table", _table(clock, calls)),
    )


def _legend_of_tokens(points: Sequence[Point]) -> Html:
    kinds = [("input", "input"), ("output", "output")]
    if any(p.tokens.cached for p in points):
        kinds.insert(1, ("cached", "input that the server had cached"))
    return legend(kinds)


def _table(clock: Clock, points: Sequence[Point]) -> Html:
    has_cost = any(p.tokens.cost is not None for p in points)
    wrote = any(p.tokens.written for p in points)
    names = ["Time", "Input", "Cached", *(["Written"] if wrote else []), "Output", "So far"]
    names += ["Cost"] if has_cost else []
    rows, total = [], 0
    for point in points:
        used = point.tokens
        total += used.total
        written = [used.written] if wrote else []
        counted = _numbers(used.input, used.cached, *written, used.output)
        cells = [clock.label(point.at), *counted]
        cells += [f"{total:,}", *([f"{used.cost or 0:.5f}"] if has_cost else [])]
        rows.append(tag("tr", *(tag("td", cell) for cell in cells)))
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("div", tag("table", head, tag("tbody", *rows)), class_="scroll")


def _numbers(*numbers: int) -> list[str]:
    return [f"{number:,}" for number in numbers]


def _work(run: RunFacts, clock: Clock, key: str) -> Html | None:
    if run.kind == "flow":
        return flow_rows(run, clock, key)
    if not run.talk.steps and not run.talk.loose:
        return block(
            "div", f"{key}-work", tag("p", _NO_STEP[run.talk.stop_reason is None], class_="quiet")
        )
    kept = [tag("h3", "Its own plan"), plan_view(run.talk.plan)] if run.talk.plan else []
    return tag(
        "section",
        block("div", f"{key}-plan", *kept, tag("h2", "Steps")),
        steps_view(run.talk, clock, key),
        id=f"{key}-work",
        data_c=True,
    )


def _files(run: RunFacts) -> Html | None:
    if not run.files and not run.files_note:
        return None
    note = tag("p", run.files_note, class_="quiet") if run.files_note else None
    return tag("section", tag("h2", "Files"), *map(_file, run.files), note, class_="files")


def _file(file: FileFacts) -> Html:
    added, removed = sum_of(file.edits)
    counts = tag(
        "span",
        tag("span", f"+{added}", class_="plus"),
        " ",
        tag("span", f"−{removed}", class_="minus"),
        class_="counts",
    )
    length = "not there any more" if file.size is None else size(file.size)
    head = [
        tag("span", file.path, class_="path"),
        counts if file.edits else None,
        tag("span", length, class_="size"),
        tag("span", file.note, class_="size") if file.note else None,
    ]
    if file.picture is not None:
        return join([tag("p", *head, class_="file"), picture(file.picture, file.path)])
    if not file.edits:
        return tag("p", *head, class_="file")
    return tag("details", tag("summary", *head), *_diffs(file), class_="file")


def _diffs(file: FileFacts) -> Iterable[Html]:
    if file.diff:
        yield diff_view(file.diff)
        return
    for edit in file.edits:
        yield tag("p", edit.command, class_="label")
        yield diff_view(edit.diff)
