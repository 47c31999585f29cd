"""A chart and a table as a Vega-Lite specification, written with altair. In the worker's process.

Everything is counted and summed up before, and columns get plain names: the page holds only what
is drawn, and no name of a column is ever read as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
from rich.cells import cell_len

from manus.state.errors import ToolError
from manus.tools.chart.spec import COLUMNS, CONFIG, Chart
from manus.tools.chart.table import (
    CATEGORIES,
    bins,
    calendar_order,
    categories,
    column,
    fewer,
    heights,
    may_be_either,
    numbers,
    scale,
    slices,
    thinned,
    time_labels,
    top,
)

_COLORS = re.findall(
    r"\w+",
    "4c78a8 f58518 e45756 72b7b2 54a24b eeca3b b279a2 ff9da6 9d755d bab0ac "
    "9ecae9 ffbf79 ff9d98 83bcb6 88d27a f2cf5b d6a5c9 fcbfd2 d8b5a5 79706e",
)
"""Ten colours that are told apart well, and their paler sisters."""
_SPANS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""The names that pandas has for spans of time."""
_MARKED = 60
"""Points of a line that are marked each."""
_BOXED = 50_000
"""Rows of a box plot: the page holds them all."""
_NAMED = 0.03
"""Share of a pie from which on there is room for the figure beside the slice."""


def specify(chart: Chart, frame: Any, colors: dict[str, int]) -> tuple[dict[str, Any], list[str]]:
    """The specification, and what the model should know about it.

    `colors` says which colour a name has; names that are new get the next ones there.

    Raises:
        ToolError: a column is missing or does not fit.
    """
    alt.data_transformers.disable_max_rows()  # a chart has a limit of its own
    alt.data_transformers.consolidate_datasets = False  # rows stand where they are drawn
    chart, frame = _one_y(chart, frame)
    given = {n: getattr(chart, n) for n in COLUMNS if getattr(chart, n)}
    table = pd.DataFrame({n: column(frame, name, n) for n, name in given.items()})
    table = table.reset_index(drop=True)  # a file may bring an index with doubles
    if "color" in table:
        table["color"] = categories(table["color"])
    notes: list[str] = []
    draw = {"histogram": _histogram, "heatmap": _heatmap, "box": _box, "pie": _pie}
    drawn = draw.get(chart.type, _series)(chart, table, notes)
    size = {"width": chart.width, "height": chart.height, "title": chart.title}
    spec: dict[str, Any] = drawn.properties(**size, config=CONFIG).to_dict()
    _paint(spec, colors)
    return spec, notes


def _one_y(chart: Chart, frame: Any) -> tuple[Chart, Any]:
    """Several columns of numbers as one, with their names as the series."""
    if not isinstance(chart.y, list):
        return chart, frame
    if chart.type not in ("line", "bar", "area", "scatter", "box") or chart.color:
        raise ToolError("Several `y` are series of a line, bar, area, scatter or box; no `color`.")
    table = frame.assign(**{name: column(frame, name, "y") for name in chart.y})
    kept = [chart.x] if chart.x else []
    table = table.rename(columns={column(frame, n, "x").name: n for n in kept})
    table = table.melt(kept, chart.y, var_name="series", value_name="value")
    return chart.model_copy(update={"y": "value", "color": "series"}), table


def _chart(rows: Any) -> alt.Chart:
    if rows.empty:
        raise ToolError("Nothing is left to draw: every row lacks a value in the columns chosen.")
    return alt.Chart(rows)


def _paint(spec: dict[str, Any], colors: dict[str, int]) -> None:
    """Give each name the colour that it has had in earlier charts, a new name the next one."""
    channel = spec.get("layer", [spec])[0]["encoding"].get("color", {})
    if channel.get("type") != "nominal":
        return
    found = {row[channel["field"]] for row in spec["data"]["values"]}
    names = channel.get("sort") or sorted(found, key=lambda name: (isinstance(name, str), name))
    taken: list[int] = []
    for name in names:
        place = colors.setdefault(str(name), len(colors)) % len(_COLORS)
        while place in taken and len(taken) < len(_COLORS):
            place = (place + 1) % len(_COLORS)
        taken.append(place)
    channel["scale"] = {"domain": names, "range": [f"#{_COLORS[place]}" for place in taken]}


def _color(chart: Chart, rows: Any) -> dict[str, Any]:
    """The channel of the series; without a legend where the axis says it all."""
    if "color" not in rows:
        return {}
    is_said = chart.color == chart.x and chart.type in ("bar", "box")
    more: dict[str, Any] = {"legend": None} if is_said else {}
    return {"color": alt.Color("color:N", title=chart.color, **more)}


def _series(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """A line, bar, area or scatter chart: a height for each `x`."""
    table, kind = _along(chart, table, notes)
    table, name = heights(chart, table, notes)
    table = top(table, "color", chart, notes)
    table = fewer(chart, table, kind, notes)
    beside = _beside(chart, table, kind, notes)
    y: dict[str, Any] = {"scale": alt.Scale(zero=False)} if chart.type == "scatter" else {}
    if chart.log:
        y["scale"] = _log(chart, table)
    if chart.type in ("bar", "area"):
        # bars that no channel puts side by side have to be stacked, or one hides the other
        stack = chart.stack or (chart.type == "bar" and not beside)
        y = {"stack": "zero" if stack else None}
    if chart.type == "area" and chart.stack and "color" in table:
        y["impute"] = alt.ImputeParams(value=0)  # the series above stands on a gap, too
    axes = (_x(chart, table, kind), alt.Y("y:Q", title=chart.y_title or name, **y))
    drawn = _mark(chart, _chart(table), table, kind)
    return drawn.encode(*axes, **beside, **_color(chart, table))


def _log(chart: Chart, table: Any) -> alt.Scale:
    if chart.type not in ("line", "scatter"):
        raise ToolError("`log` is for a line or scatter: a bar has no foot on such a scale.")
    if (table["y"] <= 0).any():
        raise ToolError("`log` cannot show values of zero or below; leave it out, or the values.")
    return alt.Scale(type="log")


def _along(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, str]:
    """The table with its `x` as it goes along the axis, and of what kind that is."""
    given = table["x"]
    table["x"], kind = scale(given)
    if kind == "temporal" and may_be_either(given):
        notes.append(f"`{chart.x}` was read as month/day/year; write YYYY-MM-DD if it is not.")
    if chart.per:
        if kind != "temporal":
            raise ToolError(f"`per` is for dates, and `{chart.x}` holds none that can be read.")
        table["x"] = table["x"].dt.to_period(_SPANS[chart.per]).dt.start_time
    is_text = kind == "nominal" and calendar_order(table["x"].dropna().unique()) is None
    if is_text and chart.type in ("line", "area"):
        notes.append(f"`{chart.x}` holds no dates or numbers: the axis is in alphabetical order.")
    if chart.type == "bar" and table["x"].nunique() <= chart.top:
        # a bar for each point in time: as categories they are as broad as there is room
        table["x"] = time_labels(table["x"]) if kind == "temporal" else table["x"]
        kind = "ordinal"
    return table, kind


def _beside(chart: Chart, table: Any, kind: str, notes: list[str]) -> dict[str, Any]:
    """The channel that puts bars side by side, where they are not to be stacked."""
    if chart.type != "bar" or "color" not in table or chart.stack or chart.color == chart.x:
        return {}
    if kind in CATEGORIES:
        return {"xOffset": alt.XOffset("color:N", title=chart.color)}
    notes.append(f"The series are stacked: {chart.top} `{chart.x}` at most fit side by side.")
    return {}


def _x(chart: Chart, table: Any, kind: str) -> alt.X:
    """The axis along the bottom; categories in their own order, or by what they come to."""
    more: dict[str, Any] = {"scale": alt.Scale(zero=False)} if chart.type == "scatter" else {}
    if kind in CATEGORIES:
        names = table["x"].dropna().unique()
        more["axis"] = labels(names, chart.width)
        if order := calendar_order(names):
            more["sort"] = order
        if chart.sort == "value" and chart.type not in ("heatmap", "box"):
            more["sort"] = alt.EncodingSortField(field="y", op="sum", order="descending")
    elif kind == "quantitative" and (table["x"] % 1 == 0).all() and table["x"].max() < 10_000:
        more["axis"] = alt.Axis(format="d", tickMinStep=1)  # years, above all: not `2,024.5`
    return alt.X("x", type=kind, title=chart.x_title or chart.x, **more)


def labels(names: Sequence[Any], width: float) -> alt.Axis:
    """An axis whose labels lie flat where there is room for them, and are slanted elsewhere."""
    room = width / max(len(names), 1)
    widest = max((cell_len(str(name)) for name in names), default=0)
    if 6.4 * widest + 8 <= room:  # pixels
        return alt.Axis(labelAngle=0)
    return alt.Axis(labelAngle=-40, labelLimit=300, labelOverlap=room < 12)


def _mark(chart: Chart, drawn: alt.Chart, table: Any, kind: str) -> alt.Chart:
    if chart.type == "scatter":
        return drawn.mark_point(filled=True, opacity=0.65 if len(table) <= 1_000 else 0.35, size=28)
    if chart.type == "line":
        return drawn.mark_line(point=len(table) <= _MARKED)
    if chart.type == "area":
        over = "color" in table and not chart.stack
        return drawn.mark_area(opacity=0.35 if over else 0.85, line=over)
    if kind in CATEGORIES:
        return drawn.mark_bar()
    return drawn.mark_bar(size=max(0.8 * chart.width / table["x"].nunique(), 1))


def _histogram(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """How many rows have a value from here to there."""
    rows = bins(chart, top(table, "color", chart, notes))
    x = alt.X("x:Q", bin=alt.BinParams(binned=True), title=chart.x_title or chart.x)
    y = alt.Y("y:Q", title=chart.y_title or "count")
    return _chart(rows).mark_bar().encode(x=x, x2="x2", y=y, **_color(chart, rows))


def _heatmap(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """A cell for each pair of categories, coloured by what its rows come to."""
    table["x"] = categories(table["x"])
    table["y"] = categories(table["y"])
    how = "sum"
    name = "count"
    if "value" in table:
        table["value"] = numbers(table["value"], chart.value or "", "value")
        how = chart.aggregate or "mean"
        name = f"{how} of {chart.value}"
    else:
        table["value"] = 1.0
    table = table.dropna().groupby(["x", "y"], as_index=False)["value"].agg(how)
    table = top(top(table, "x", chart, notes), "y", chart, notes)
    y = alt.Y("y:O", title=chart.y_title or chart.y)
    color = alt.Color("value:Q", title=name)
    return _chart(table).mark_rect().encode(_x(chart, table, "ordinal"), y, color)


def _box(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """A box from quartile to quartile, whiskers (Tukey), and what lies beyond, for each `x`."""
    table["y"] = numbers(table["y"], str(chart.y), "y")
    axes: dict[str, Any] = {}
    if "x" in table:
        table["x"] = categories(table["x"])
        table = top(table, "x", chart, notes)
        axes["x"] = _x(chart, table, "nominal")
    count = max(table["x"].nunique(), 1) if axes else 1
    table = thinned(top(table, "color", chart, notes).dropna(), notes, _BOXED)
    if "color" in table and chart.color != chart.x:
        axes["xOffset"] = alt.XOffset("color:N", title=chart.color)
        count *= max(table["color"].nunique(), 1)
    y = alt.Y("y:Q", title=chart.y_title or chart.y, scale=alt.Scale(zero=False))
    drawn = _chart(table).mark_boxplot(size=min(0.6 * chart.width / count, 90))
    return drawn.encode(y=y, **axes, **_color(chart, table))


def _pie(chart: Chart, table: Any, notes: list[str]) -> alt.LayerChart:
    """Shares of a whole, so that nothing may be left out of it."""
    table["x"] = categories(table["x"])
    rows, name = heights(chart, table.drop(columns="color", errors="ignore"), notes)
    rows = slices(chart, rows, notes)
    rows["label"] = rows["share"].where(rows["y"] >= _NAMED * rows["y"].sum(), "")
    rows["rank"] = range(len(rows))
    radius = max(min(chart.width, chart.height) / 2 - 26, 20)
    title = chart.x_title or chart.x
    size = chart.y_title or name
    base = _chart(rows).encode(alt.Theta("y:Q", stack=True), alt.Order("rank:Q"))
    arcs = base.mark_arc(outerRadius=radius).encode(
        color=alt.Color("x:N", title=title, sort=list(rows["x"])),
        tooltip=[alt.Tooltip("x:N", title=title), alt.Tooltip("y:Q", title=size), "share:N"],
    )
    return alt.layer(arcs, base.mark_text(radius=radius + 20).encode(text="label:N"))
