"""The shapes of the charts; the templates draw them. Lengths are in units of the drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from manus.formatting import short
from manus.run_report.clock import Clock
from manus.trace.model import Tokens

HEIGHT = 120
WIDTH = 1_000
_THINNEST = 0.2
"""Share of the width, in percent, that the shortest bar has."""


class Column(NamedTuple):
    """A bar of a chart."""

    x: float
    width: float
    height: float
    kind: str


class Area(NamedTuple):
    """What is below a line of steps, as an SVG path."""

    path: str
    kind: str


class Chart(NamedTuple):
    """A chart."""

    title: str
    label: str
    """What it says, in words."""
    top: str
    columns: Sequence[Column] = ()
    areas: Sequence[Area] = ()


def box(begin: float, end: float) -> tuple[float, float]:
    """Place and width of a bar in percent; it is never too thin to be seen."""
    width = max(100 * (end - begin), _THINNEST)
    return min(100 * begin, 100 - width), width


def charts_of(clock: Clock, points: Sequence[Tokens]) -> list[Chart]:
    """What was used over time; nothing where a curve would say nothing."""
    if len(points) < 2:
        return []
    charts = [_calls(clock, points), _total(clock, points)]
    costs = list(_sums(point.cost or 0.0 for point in points))
    if costs[-1]:
        area = _area(clock, points, costs, costs[-1], "cost")
        total = f"{costs[-1]:.4f}"
        charts.append(Chart("Cost so far", f"{total} in all.", total, areas=[area]))
    return charts


def _calls(clock: Clock, points: Sequence[Tokens]) -> Chart:
    """The input of each model call, which grows with the history and falls when it is cut."""
    calls = [p for p in points if p.input]
    most = max((p.input for p in calls), default=1)
    width = min(18.0, max(1.5, WIDTH / max(len(calls), 1) * 0.6))
    columns = []
    for point in calls:
        x = clock.place(point.at) * (WIDTH - width)
        known = min(point.cached, point.input)
        columns.append(Column(x, width, HEIGHT * point.input / most, "input"))
        columns.append(Column(x, width, HEIGHT * known / most, "cached"))
    label = f"Input tokens of {len(calls)} model calls; the largest has {most:,}."
    return Chart("Input of each model call", label, short(most), columns)


def _total(clock: Clock, points: Sequence[Tokens]) -> Chart:
    """Tokens so far: input, and output on top of it."""
    totals = list(_sums(p.total for p in points))
    inputs = list(_sums(p.input for p in points))
    areas = [
        _area(clock, points, totals, totals[-1], "output"),
        _area(clock, points, inputs, totals[-1], "input"),
    ]
    label = f"{totals[-1]:,.0f} tokens in all, {inputs[-1]:,.0f} of them input."
    return Chart("Tokens so far", label, short(totals[-1]), areas=areas)


def _sums(values: Iterable[float]) -> Iterable[float]:
    total = 0.0
    for value in values:
        total += value
        yield total


def _area(
    clock: Clock, points: Sequence[Tokens], values: Sequence[float], most: float, kind: str
) -> Area:
    steps = (
        f"H{clock.place(point.at) * WIDTH:.1f}V{HEIGHT - (HEIGHT - 2) * value / (most or 1):.1f}"
        for point, value in zip(points, values, strict=True)
    )
    return Area(f"M0 {HEIGHT}{''.join(steps)}H{WIDTH}V{HEIGHT}Z", kind)
