"""Build a Vega-Lite specification from a chart and a table with altair. Runs in the worker process.

Rows are aggregated first and columns renamed to `x`, `y`, …: the page contains only what is drawn,
and no column name is ever evaluated as a Vega expression.
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
    as_axis_values,
    as_categories,
    as_numbers,
    compute_heights,
    compute_slices,
    count_bins,
    get_column,
    is_ambiguous_date,
    keep_largest,
    limit_rows,
    order_texts,
    sample_rows,
)

_COLORS = re.findall(
    r"\w+",
    "4c78a8 f58518 e45756 72b7b2 54a24b eeca3b b279a2 ff9da6 9d755d bab0ac "
    "9ecae9 ffbf79 ff9d98 83bcb6 88d27a f2cf5b d6a5c9 fcbfd2 d8b5a5 79706e",
)
"""Ten colors that are easy to tell apart, and a paler variant of each."""
_PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
"""The period aliases of pandas."""
_MAX_MARKED_POINTS = 60
"""Maximum number of points of a line that has a marker at each point."""
_MAX_BOX_ROWS = 50_000
"""Maximum number of rows of a box plot; the page contains all of them."""
_MIN_LABELLED_SHARE = 0.03
"""Minimum share of a slice with room for a label."""


def specify(chart: Chart, frame: Any, colors: dict[str, int]) -> tuple[dict[str, Any], list[str]]:
    """Return the Vega-Lite specification and notes for the model.

    `colors` maps series names to color indexes; new names are added to it.

    Raises:
        ToolError: a column is missing or unsuitable.
    """
    alt.data_transformers.disable_max_rows()  # charts have their own limit
    alt.data_transformers.consolidate_datasets = False  # keep the rows inside the chart
    notes: list[str] = []
    frame = frame.reset_index(drop=True)  # the index of a file may have duplicates
    chart, frame = _melt_columns(chart, frame, notes)
    columns = {}
    for channel in COLUMNS:
        if name := getattr(chart, channel):
            columns[channel] = get_column(frame, name, channel)
    table = pd.DataFrame(columns)
    if "color" in table:
        table["color"], _ = as_categories(table["color"])
    draw = {
        "histogram": _draw_histogram,
        "heatmap": _draw_heatmap,
        "box": _draw_box,
        "pie": _draw_pie,
    }
    picture = draw.get(chart.type, _draw_series)(chart, table, notes)
    size = {"width": chart.width, "height": chart.height, "title": chart.title}
    spec: dict[str, Any] = picture.properties(**size, config=CONFIG).to_dict()
    _assign_colors(spec, colors)
    return spec, notes


def _melt_columns(chart: Chart, frame: Any, notes: list[str]) -> tuple[Chart, Any]:
    """Melt several `y` columns into one, with their names as the series."""
    if not isinstance(chart.y, list):
        return chart, frame
    if chart.type not in ("line", "bar", "area", "scatter", "box") or chart.color:
        raise ToolError("Several `y` need a line, bar, area, scatter or box chart without `color`.")
    columns = {name: get_column(frame, name, "y") for name in chart.y}
    table = frame.assign(
        **{name: as_numbers(values, name, "y", notes) for name, values in columns.items()}
    )
    keys = [chart.x] if chart.x else []
    table = table.rename(columns={get_column(frame, n, "x").name: n for n in keys})
    table = table.melt(keys, chart.y, var_name="series", value_name="value")
    return chart.model_copy(update={"y": "value", "color": "series"}), table


def _make_chart(rows: Any) -> alt.Chart:
    if rows.empty:
        raise ToolError("Nothing is left to draw: every row lacks a value in the selected columns.")
    return alt.Chart(rows)


def _assign_colors(spec: dict[str, Any], colors: dict[str, int]) -> None:
    """Give each series its color in earlier charts, and a new series the next color."""
    channel = spec.get("layer", [spec])[0]["encoding"].get("color", {})
    if channel.get("type") != "nominal":
        return
    values = {row[channel["field"]] for row in spec["data"]["values"]}
    names = channel.get("sort") or sorted(values, key=lambda name: (isinstance(name, str), name))
    used: list[int] = []
    for name in names:
        color = colors.setdefault(str(name), len(colors)) % len(_COLORS)
        while color in used and len(used) < len(_COLORS):
            color = (color + 1) % len(_COLORS)
        used.append(color)
    channel["scale"] = {"domain": names, "range": [f"#{_COLORS[color]}" for color in used]}


def _color_channel(chart: Chart, rows: Any) -> dict[str, Any]:
    """Return the color channel; without a legend if the axis already names the series."""
    if "color" not in rows:
        return {}
    is_on_axis = chart.color == chart.x and chart.type in ("bar", "box")
    options: dict[str, Any] = {}
    if is_on_axis:
        options["legend"] = None
    return {"color": alt.Color("color:N", title=chart.color, **options)}


def _draw_series(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """Draw a line, bar, area or scatter chart: a `y` value for each `x`."""
    table, kind = _prepare_x(chart, table, notes)
    table, name = compute_heights(chart, table, notes)
    table = keep_largest(table, "color", chart, notes)
    table = limit_rows(chart, table, kind, notes)
    beside = _offset_channel(chart, table, kind, notes)
    y: dict[str, Any] = {}
    if chart.type == "scatter":
        y["scale"] = alt.Scale(zero=False)
    if chart.log:
        y["scale"] = _log_scale(chart, table)
    if chart.type in ("bar", "area"):
        # bars that are not side by side must be stacked, or one hides the other
        stack = chart.stack or (chart.type == "bar" and not beside)
        y = {"stack": "zero" if stack else None}
    if chart.type == "area" and chart.stack and "color" in table:
        y["impute"] = alt.ImputeParams(value=0)  # the series above needs a value under it
    axes = (_x_axis(chart, table, kind), alt.Y("y:Q", title=chart.y_title or name, **y))
    marks = _add_marks(chart, _make_chart(table), table, kind)
    return marks.encode(*axes, **beside, **_color_channel(chart, table))


def _log_scale(chart: Chart, table: Any) -> alt.Scale:
    if chart.type not in ("line", "scatter"):
        raise ToolError(
            "`log` is for a line or scatter: a bar starts at zero, which a log scale lacks."
        )
    if (table["y"] <= 0).any():
        raise ToolError("`log` cannot show values of zero or below; omit `log`, or these values.")
    return alt.Scale(type="log")


def _prepare_x(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, str]:
    """Return the table with `x` as axis values, and their Vega-Lite type."""
    original = table["x"]
    table["x"], kind = as_axis_values(original)
    if is_ambiguous_date(original):
        notes.append(
            f"`{chart.x}` may be day/month/year or month/day/year, so it is drawn as text; "
            "write the dates as YYYY-MM-DD."
        )
    if chart.per:
        if kind != "temporal":
            raise ToolError(f"`per` needs dates, and `{chart.x}` has none that can be parsed.")
        table["x"] = table["x"].dt.to_period(_PERIODS[chart.per]).dt.start_time
    if chart.type == "bar" and table["x"].nunique() <= chart.top:
        # as categories, the bars of points in time use the available width
        table["x"], kind = as_categories(table["x"])
    return table, kind


def _offset_channel(chart: Chart, table: Any, kind: str, notes: list[str]) -> dict[str, Any]:
    """Return the channel that puts bars side by side; empty if they are stacked."""
    if chart.type != "bar" or "color" not in table or chart.stack or chart.color == chart.x:
        return {}
    if kind in CATEGORIES:
        return {"xOffset": alt.XOffset("color:N", title=chart.color)}
    notes.append(f"The series are stacked: at most {chart.top} `{chart.x}` fit side by side.")
    return {}


def _x_axis(chart: Chart, table: Any, kind: str) -> alt.X:
    """Return the `x` axis."""
    options: dict[str, Any] = {}
    if chart.type == "scatter":
        options["scale"] = alt.Scale(zero=False)
    if kind in CATEGORIES:
        names = table["x"].dropna().unique()
        options["axis"] = label_axis(names, chart.width)
        if kind == "nominal":
            options["sort"] = order_texts(table["x"])
        if chart.sort == "value" and chart.type not in ("heatmap", "box"):
            options["sort"] = alt.EncodingSortField(field="y", op="sum", order="descending")
    elif kind == "quantitative" and (table["x"] % 1 == 0).all() and table["x"].max() < 10_000:
        options["axis"] = alt.Axis(format="d", tickMinStep=1)  # years above all: not `2,024.5`
    return alt.X("x", type=kind, title=chart.x_title or chart.x, **options)


def label_axis(names: Sequence[Any], width: float) -> alt.Axis:
    """Return an axis with horizontal labels if they fit, otherwise with slanted ones."""
    available = width / max(len(names), 1)
    widest = max((cell_len(str(name)) for name in names), default=0)
    if 6.4 * widest + 8 <= available:  # pixels
        return alt.Axis(labelAngle=0)
    return alt.Axis(labelAngle=-40, labelLimit=300, labelOverlap=available < 12)


def _add_marks(chart: Chart, base: alt.Chart, table: Any, kind: str) -> alt.Chart:
    if chart.type == "scatter":
        opacity = 0.65 if len(table) <= 1_000 else 0.35
        return base.mark_point(filled=True, opacity=opacity, size=28)
    if chart.type == "line":
        return base.mark_line(point=len(table) <= _MAX_MARKED_POINTS)
    if chart.type == "area":
        is_overlapping = "color" in table and not chart.stack
        return base.mark_area(opacity=0.35 if is_overlapping else 0.85, line=is_overlapping)
    if kind in CATEGORIES:
        return base.mark_bar()
    return base.mark_bar(size=max(0.8 * chart.width / table["x"].nunique(), 1))


def _draw_histogram(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """Draw the number of rows in each bin of `x`."""
    rows = count_bins(chart, keep_largest(table, "color", chart, notes), notes)
    x = alt.X("x:Q", bin=alt.BinParams(binned=True), title=chart.x_title or chart.x)
    y = alt.Y("y:Q", title=chart.y_title or "count")
    return _make_chart(rows).mark_bar().encode(x=x, x2="x2", y=y, **_color_channel(chart, rows))


def _draw_heatmap(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """Draw a cell for each pair of categories, colored by the aggregate of its rows."""
    table["x"], x_kind = as_categories(table["x"])
    table["y"], y_kind = as_categories(table["y"])
    y_order = order_texts(table["y"]) if y_kind == "nominal" else "ascending"
    aggregate = "sum"
    name = "count"
    if "value" in table:
        table["value"] = as_numbers(table["value"], chart.value or "", "value", notes)
        aggregate = chart.aggregate or "mean"
        name = f"{aggregate} of {chart.value}"
    else:
        table["value"] = 1.0
    table = table.dropna().groupby(["x", "y"], as_index=False, sort=False)["value"].agg(aggregate)
    table = keep_largest(keep_largest(table, "x", chart, notes), "y", chart, notes)
    y = alt.Y("y", type=y_kind, sort=y_order, title=chart.y_title or chart.y)
    color = alt.Color("value:Q", title=name)
    return _make_chart(table).mark_rect().encode(_x_axis(chart, table, x_kind), y, color)


def _draw_box(chart: Chart, table: Any, notes: list[str]) -> alt.Chart:
    """Draw quartiles, Tukey whiskers and outliers for each `x`."""
    table["y"] = as_numbers(table["y"], str(chart.y), "y", notes)
    axes: dict[str, Any] = {}
    if "x" in table:
        table["x"], kind = as_categories(table["x"])
        table = keep_largest(table, "x", chart, notes)
        axes["x"] = _x_axis(chart, table, kind)
    count = max(table["x"].nunique(), 1) if axes else 1
    table = sample_rows(keep_largest(table, "color", chart, notes).dropna(), notes, _MAX_BOX_ROWS)
    if "color" in table and chart.color != chart.x:
        axes["xOffset"] = alt.XOffset("color:N", title=chart.color)
        count *= max(table["color"].nunique(), 1)
    y = alt.Y("y:Q", title=chart.y_title or chart.y, scale=alt.Scale(zero=False))
    marks = _make_chart(table).mark_boxplot(size=min(0.6 * chart.width / count, 90))
    return marks.encode(y=y, **axes, **_color_channel(chart, table))


def _draw_pie(chart: Chart, table: Any, notes: list[str]) -> alt.LayerChart:
    """Draw the shares of the total; small slices are combined, none is left out."""
    table["x"], _ = as_categories(table["x"])
    rows, name = compute_heights(chart, table.drop(columns="color", errors="ignore"), notes)
    rows = compute_slices(chart, rows, notes)
    rows["label"] = rows["share"].where(rows["y"] >= _MIN_LABELLED_SHARE * rows["y"].sum(), "")
    rows["rank"] = range(len(rows))
    radius = max(min(chart.width, chart.height) / 2 - 26, 20)
    title = chart.x_title or chart.x
    size = chart.y_title or name
    base = _make_chart(rows).encode(alt.Theta("y:Q", stack=True), alt.Order("rank:Q"))
    arcs = base.mark_arc(outerRadius=radius).encode(
        color=alt.Color("x:N", title=title, sort=list(rows["x"])),
        tooltip=[alt.Tooltip("x:N", title=title), alt.Tooltip("y:Q", title=size), "share:N"],
    )
    return alt.layer(arcs, base.mark_text(radius=radius + 20).encode(text="label:N"))
