"""Drawings in SVG: bars over time, and what was used. All widths are shares of the page's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manus.run_report.clock import Clock
from manus.run_report.facts import AgentStep, Conversation, Point
from manus.run_report.markup import Html, join, tag
from manus.run_report.words import short, span

_LANE = 18
"""Height of a lane in pixels."""
_CHART = 120
_WIDE = 1_000
_THINNEST = 0.2
"""Share of the width, in percent, that the shortest bar has."""


def percent(share: float) -> str:
    """A share as SVG wants it."""
    return f"{100 * share:.2f}%"


def axis(clock: Clock) -> Html:
    """The times below or above lanes."""
    marks = []
    for second in clock.ticks():
        place = second / clock.length
        words = clock.label_of(second)
        anchor = "start" if place < 0.04 else "end" if place > 0.96 else "middle"
        marks.append(tag("text", words, x=percent(place), y=12, text_anchor=anchor))
    return tag("svg", *marks, class_="axis", height=16, aria_hidden="true")


def lane(clock: Clock, parts: Iterable[Html], label: str, kind: str = "") -> Html:
    """One row of bars, with lines where the clock has its ticks and where it stood still."""
    lines = [_line(second / clock.length, "tick") for second in clock.ticks()]
    pauses = [
        tag("g", _line(place, "pause"), tag("title", f"stopped for {span(seconds)}"))
        for place, seconds in clock.pauses
    ]
    return tag(
        "svg",
        *lines,
        *parts,
        *pauses,
        class_=f"lane {kind}".strip(),
        height=_LANE,
        role="img",
        aria_label=label,
    )


def bar(begin: float, end: float, kind: str, title: str = "", height: int = 10) -> Html:
    """A bar between two places; the height in pixels."""
    width = max(100 * (end - begin), _THINNEST)
    begin = min(100 * begin, 100 - width)
    inside = tag("title", title) if title else None
    return tag(
        "rect",
        inside,
        x=f"{begin:.2f}%",
        width=f"{width:.2f}%",
        y=_LANE // 2 - height // 2,
        height=height,
        rx=height // 4,
        class_=kind,
    )


def step_bars(clock: Clock, talk: Conversation, key: str) -> list[Html]:
    """The steps of an agent: thinking light, acting dark; each leads to its text."""
    return [_step_bar(clock, step, key) for step in talk.steps]


def _step_bar(clock: Clock, step: AgentStep, key: str) -> Html:
    ended = step.ended or step.thought_at
    begin, thought, end = map(clock.place, (step.began, step.thought_at, ended))
    acted = "act bad" if step.has_error else "act"
    names = ", ".join(call.name for call in step.calls) or "answer"
    title = f"Step {step.number}: {names}, {span(clock.seconds(ended) - clock.seconds(step.began))}"
    parts = [bar(begin, thought, "think")]
    if end > thought and step.calls:
        parts.append(bar(thought, end, acted))
    return tag("a", *parts, tag("title", title), href=f"#{key}-s{step.number}", tabindex="-1")


def _line(place: float, kind: str) -> Html:
    x = percent(place)
    return tag("line", x1=x, x2=x, y1=0, y2=_LANE, class_=kind)


def legend(kinds: Sequence[tuple[str, str]]) -> Html:
    """What colours mean."""
    parts = [tag("span", tag("i", class_=f"key {kind}"), words) for kind, words in kinds]
    return tag("p", *parts, class_="legend")


def calls_chart(clock: Clock, points: Sequence[Point]) -> Html:
    """The input of each model call, which grows with the history and falls when it is cut."""
    calls = [p for p in points if p.tokens.input]
    most = max((p.tokens.input for p in calls), default=1)
    width = min(18.0, max(1.5, _WIDE / max(len(calls), 1) * 0.6))
    bars = []
    for point in calls:
        x = clock.place(point.at) * (_WIDE - width)
        height = _CHART * point.tokens.input / most
        known = _CHART * min(point.tokens.cached, point.tokens.input) / most
        bars.append(_column(x, width, height, "input"))
        if known:
            bars.append(_column(x, width, known, "cached"))
    cached = " Light: what the server had cached." if any(p.tokens.cached for p in calls) else ""
    label = f"Input tokens of {len(calls)} model calls; the largest has {most:,}.{cached}"
    return _chart(bars, label, short(most), "0")


def total_chart(clock: Clock, points: Sequence[Point]) -> Html:
    """Tokens so far: input, and output on top of it."""
    places, inputs, totals = [0.0], [0.0], [0.0]
    for point in points:
        places.append(clock.place(point.at) * _WIDE)
        inputs.append(inputs[-1] + point.tokens.input)
        totals.append(totals[-1] + point.tokens.total)
    most = totals[-1] or 1
    areas = [_area(places, totals, most, "output"), _area(places, inputs, most, "input")]
    label = f"{totals[-1]:,.0f} tokens in all, {inputs[-1]:,.0f} of them input."
    return _chart(areas, label, short(totals[-1]), "0")


def cost_chart(clock: Clock, points: Sequence[Point]) -> Html:
    """Money so far, in the price table's currency."""
    places, costs = [0.0], [0.0]
    for point in points:
        places.append(clock.place(point.at) * _WIDE)
        costs.append(costs[-1] + (point.tokens.cost or 0.0))
    area = _area(places, costs, costs[-1] or 1, "cost")
    return _chart([area], f"{costs[-1]:.4f} in all.", f"{costs[-1]:.4f}", "0")


def _column(x: float, width: float, height: float, kind: str) -> Html:
    return tag(
        "rect",
        x=f"{x:.1f}",
        y=f"{_CHART - height:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        class_=kind,
    )


def _area(places: Sequence[float], values: Sequence[float], most: float, kind: str) -> Html:
    """What is below a line of steps: a call's tokens come all at once."""
    heights = [_CHART - (_CHART - 2) * value / most for value in values]
    path = [f"M0 {_CHART}"]
    for place, height in zip(places, heights, strict=True):
        path.append(f"H{place:.1f}V{height:.1f}")
    path.append(f"H{_WIDE}V{_CHART}Z")
    return tag("path", d="".join(path), class_=kind)


def _chart(shapes: Sequence[Html], label: str, top: str, bottom: str) -> Html:
    drawing = tag(
        "svg",
        join(shapes),
        viewBox=f"0 0 {_WIDE} {_CHART}",
        preserveAspectRatio="none",
        width="100%",
        height=_CHART,
        y=8,
    )
    lines = [tag("line", x1="0", x2="100%", y1=y, y2=y, class_="grid") for y in (8, 8 + _CHART / 2)]
    base = tag("line", x1="0", x2="100%", y1=8 + _CHART, y2=8 + _CHART, class_="base")
    words = [
        tag("text", top, x="0", y=21, class_="value"),
        tag("text", bottom, x="0", y=_CHART + 4, class_="value") if bottom != "0" else None,
    ]
    return tag(
        "svg",
        join(lines),
        drawing,
        base,
        join(words),
        class_="chart",
        height=_CHART + 10,
        role="img",
        aria_label=label,
    )
