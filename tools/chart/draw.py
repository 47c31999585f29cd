"""A chart and a table as a Vega-Lite specification, written with altair. In the worker's process.

Everything is counted and summed up before, and columns get plain names: the page holds only what
is drawn, and no name of a column is ever read as an expression.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from manus.state.errors import ToolError
from manus.tools.chart.rows import (
    bins,
    boxes,
    extremes,
    heights,
    slices,
    stacked,
    thinned,
    top,
)
from manus.tools.chart.spec import COLUMNS, Chart
from manus.tools.chart.table import categories, column, numbers, scale, time_labels
from manus.tools.chart.theme import config, labels

if TYPE_CHECKING:
    import altair as alt

_MARKED = 60
"""Points of a line that are marked each."""
_FEW = 10
"""Series that have a colour of their own in the usual palette; of more the colours are paler."""
_BROADEST = 90
"""Pixels of a box."""
_NAMED = 0.03
"""Share of a pie from which on there is room for the figure beside the slice."""
_CATEGORIES = ("nominal", "ordinal")


def specify(chart: Chart, frame: Any) -> tuple[dict[str, Any], list[str]]:
    """The specification, and what the model should know about it.

    Raises:
        ToolError: a column is missing or does not fit.
    """
    import altair as alt
    import pandas as pd

    alt.data_transformers.consolidate_datasets = False  # rows stand where they are drawn
    given = {n: getattr(chart, n) for n in COLUMNS if getattr(chart, n)}
    table = pd.DataFrame({n: column(frame, name, n) for n, name in given.items()})
    table = table.reset_index(drop=True)  # a file may bring an index with doubles
    notes: list[str] = []
    order: list[str] = []
    if chart.color and chart.type not in ("heatmap", "pie"):
        table["color"], order = categories(table["color"])
        table = top(table, "color", chart, notes)
    draw = {"histogram": _histogram, "heatmap": _heatmap, "box": _box, "pie": _pie}
    drawn = draw.get(chart.type, _series)(chart, table, order, notes)
    size = {"width": chart.width, "height": chart.height, "title": chart.title}
    spec: dict[str, Any] = drawn.properties(**size, config=config()).to_dict()
    return spec, notes


def _data(rows: Any) -> alt.Data:
    import altair as alt

    _demand(rows)
    text = rows.to_json(orient="records", date_format="iso", force_ascii=False)
    return alt.Data(values=json.loads(text))


def _demand(rows: Any) -> None:
    if rows.empty:
        raise ToolError("Nothing is left to draw: every row lacks a value in the columns chosen.")


def _tips(**titles: str | None) -> list[alt.Tooltip]:
    """What is shown of a mark that is pointed at: fields with the columns' own names."""
    import altair as alt

    shown = {title: alt.Tooltip(field=f, title=title) for f, title in titles.items() if title}
    return list(shown.values())


def _color(chart: Chart, rows: Any, order: list[str]) -> dict[str, Any]:
    """The channel of the series, in their order; without a legend where the axis says it all."""
    import altair as alt

    if "color" not in rows:
        return {}
    names = set(rows["color"])
    more: dict[str, Any] = {"sort": [name for name in order if name in names]}
    if len(names) > _FEW:
        more["scale"] = alt.Scale(scheme="tableau20")
    if chart.color == chart.x and chart.type in ("bar", "box"):
        more["legend"] = None
    return {"color": alt.Color(field="color", type="nominal", title=chart.color, **more)}


def _series(chart: Chart, table: Any, order: list[str], notes: list[str]) -> alt.Chart:
    """A line, bar, area or scatter chart: a height for each `x`."""
    import altair as alt

    table, kind = _along(chart, table)
    table, name = heights(chart, table)
    table = _fewer(chart, table, kind, notes)
    beside = _beside(chart, table, kind, notes)
    y: dict[str, Any] = {"scale": alt.Scale(zero=False)} if chart.type == "scatter" else {}
    if chart.type in ("bar", "area"):
        # bars that no channel puts side by side have to be stacked, or one hides the other
        y = {"stack": "zero" if chart.stack or (chart.type == "bar" and not beside) else None}
    title = chart.y_title or name
    return _mark(chart, alt.Chart(_data(table)), table, kind).encode(
        x=_x(chart, table, kind),
        y=alt.Y(field="y", type="quantitative", title=title, **y),
        tooltip=_tips(x=chart.x_title or chart.x, y=title, color=chart.color),
        **beside,
        **_color(chart, table, order),
    )


def _along(chart: Chart, table: Any) -> tuple[Any, str]:
    """The table with its `x` as it goes along the axis, and of what kind that is."""
    table["x"], kind = scale(table["x"])
    if chart.type == "bar" and table["x"].nunique() <= chart.top:
        # a bar for each point in time: as categories they are as broad as there is room
        if kind == "temporal":
            table["x"], kind = time_labels(table["x"]), "ordinal"
        elif kind == "quantitative":
            kind = "ordinal"
    return table, kind


def _fewer(chart: Chart, table: Any, kind: str, notes: list[str]) -> Any:
    if kind in _CATEGORIES:
        table = top(table, "x", chart, notes)
    elif chart.type in ("line", "area"):
        table = table.sort_values("x", kind="stable")
    if chart.type == "scatter" or kind == "nominal":
        return thinned(table, notes)
    if chart.type == "area" and "color" in table and chart.stack:
        return stacked(table, notes)
    return extremes(table, notes)


def _beside(chart: Chart, table: Any, kind: str, notes: list[str]) -> dict[str, Any]:
    """The channel that puts bars side by side, where they are not to be stacked."""
    import altair as alt

    if chart.type != "bar" or "color" not in table or chart.stack or chart.color == chart.x:
        return {}
    if kind not in _CATEGORIES:
        notes.append(
            f"The series are stacked: there is room for bars side by side of up to {chart.top} "
            f"values of `{chart.x}`."
        )
        return {}
    return {"xOffset": alt.XOffset(field="color", type="nominal")}


def _x(chart: Chart, table: Any, kind: str) -> alt.X:
    import altair as alt

    more: dict[str, Any] = {"scale": alt.Scale(zero=False)} if chart.type == "scatter" else {}
    if kind in _CATEGORIES:
        by_value = alt.EncodingSortField(field="y", op="sum", order="descending")
        more["sort"] = by_value if chart.sort == "value" else "ascending"
        more["axis"] = alt.Axis(**labels(table["x"].unique(), chart.width))
    return alt.X(field="x", type=kind, title=chart.x_title or chart.x, **more)


def _mark(chart: Chart, drawn: alt.Chart, table: Any, kind: str) -> alt.Chart:
    if chart.type == "scatter":
        opacity = 0.65 if len(table) <= 1_000 else 0.35
        return drawn.mark_point(filled=True, opacity=opacity, size=28)
    if chart.type == "line":
        return drawn.mark_line(point=len(table) <= _MARKED)
    if chart.type == "area":
        over = "color" in table and not chart.stack
        return drawn.mark_area(opacity=0.35 if over else 0.85, line=over)
    if kind in _CATEGORIES:
        return drawn.mark_bar()
    broad = 0.8 * chart.width / max(table["x"].nunique(), 1)
    return drawn.mark_bar(size=min(max(broad, 1), 40))


def _histogram(chart: Chart, table: Any, order: list[str], _: list[str]) -> alt.Chart:
    """How many rows have a value from here to there."""
    import altair as alt

    rows = bins(chart, table)
    count = chart.y_title or "count"
    binned = alt.BinParams(binned=True)
    return (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X(field="x", type="quantitative", bin=binned, title=chart.x_title or chart.x),
            x2=alt.X2(field="x2"),
            y=alt.Y(field="y", type="quantitative", title=count),
            tooltip=_tips(x="from", x2="to", y=count, color=chart.color),
            **_color(chart, rows, order),
        )
    )


def _heatmap(chart: Chart, table: Any, _: list[str], notes: list[str]) -> alt.Chart:
    """A cell for each pair of categories, coloured by what its rows come to."""
    import altair as alt

    along: dict[str, list[str]] = {}
    for axis in ("x", "y"):
        table[axis], along[axis] = categories(table[axis])
    how, name = "sum", "count"
    if "value" in table:
        table["value"] = numbers(table["value"], chart.value or "", "value")
        how = chart.aggregate or "mean"
        name = f"{how} of {chart.value}"
    else:
        table["value"] = 1.0
    table = table.dropna().groupby(["x", "y"], as_index=False)["value"].agg(how)
    table = top(top(table, "x", chart, notes), "y", chart, notes)
    order = {axis: [n for n in along[axis] if n in set(table[axis])] for axis in along}
    titles = {"x": chart.x_title or chart.x, "y": chart.y_title or chart.y}
    axis = alt.Axis(**labels(order["x"], chart.width))
    return (
        alt.Chart(_data(table))
        .mark_rect()
        .encode(
            x=alt.X(field="x", type="ordinal", title=titles["x"], sort=order["x"], axis=axis),
            y=alt.Y(field="y", type="ordinal", title=titles["y"], sort=order["y"]),
            color=alt.Color(field="value", type="quantitative", title=name),
            tooltip=_tips(**titles, value=name),
        )
    )


def _box(chart: Chart, table: Any, order: list[str], notes: list[str]) -> alt.LayerChart:
    """A box from quartile to quartile, whiskers, and what lies beyond them, for each `x`.

    Worked out here: of any number of rows the page holds only what is drawn.
    """
    import altair as alt

    table["y"] = numbers(table["y"], chart.y or "", "y")
    table["x"], along = categories(table["x"]) if "x" in table else ("", [""])
    table = top(table.dropna(), "x", chart, notes)
    _demand(table)
    beside = "color" in table and chart.color != chart.x
    found, beyond = boxes(table, ["x", "color"] if beside else ["x"])
    if "color" in table and not beside:
        order, found["color"], beyond["color"] = along, found["x"], beyond["x"]
    side_by_side = found["color"].nunique() if beside else 1
    broad = min(0.6 * chart.width / max(found["x"].nunique() * side_by_side, 1), _BROADEST)
    color = _color(chart, found, order)
    title = chart.y_title or chart.y
    names = {"x": chart.x, "color": chart.color}
    tips = _tips(**names, **{n: n for n in ("high", "q3", "median", "q1", "low", "rows")})

    def height(field: str) -> alt.Y:
        return alt.Y(field=field, type="quantitative", title=title, scale=alt.Scale(zero=False))

    base = alt.Chart(_data(found))
    layers: list[Any] = [
        base.mark_rule().encode(y=height("low"), y2=alt.Y2(field="high")),
        base.mark_bar(size=broad).encode(
            y=height("q1"), y2=alt.Y2(field="q3"), tooltip=tips, **color
        ),
        base.mark_tick(size=broad, thickness=2).encode(y=height("median")),
    ]
    if not beyond.empty:
        points = alt.Chart(_data(thinned(beyond, notes, "points beyond the whiskers")))
        layers.append(points.mark_point(size=14, opacity=0.45).encode(y=height("y"), **color))
    shown = [name for name in along if name in set(found["x"])]
    axis = alt.Axis(**labels(shown, chart.width)) if chart.x else None
    x = alt.X(field="x", type="nominal", title=chart.x_title or chart.x, sort=shown, axis=axis)
    offset = {"xOffset": alt.XOffset(field="color", type="nominal")} if beside else {}
    return alt.layer(*(layer.encode(x=x, **offset) for layer in layers))


def _pie(chart: Chart, table: Any, _: list[str], notes: list[str]) -> alt.LayerChart:
    """Shares of a whole, so that nothing may be left out of it."""
    import altair as alt

    table["x"], _order = categories(table["x"])
    rows, name = heights(chart, table)
    rows = slices(chart, rows, notes)
    rows["label"] = rows["share"].where(rows["y"] >= _NAMED * rows["y"].sum(), "")
    rows["rank"] = range(len(rows))
    radius = max(min(chart.width, chart.height) / 2 - 26, 20)
    titles = {"x": chart.x_title or chart.x, "y": chart.y_title or name}
    more = {"scale": alt.Scale(scheme="tableau20")} if len(rows) > _FEW else {}
    color = alt.Color(field="x", type="nominal", title=titles["x"], sort=list(rows["x"]), **more)
    base = alt.Chart(_data(rows)).encode(
        theta=alt.Theta(field="y", type="quantitative", stack=True),
        order=alt.Order(field="rank", type="quantitative"),
    )
    return alt.layer(
        base.mark_arc(outerRadius=radius).encode(
            color=color, tooltip=_tips(**titles, share="share")
        ),
        base.mark_text(radius=radius + 20).encode(text=alt.Text(field="label", type="nominal")),
    )
