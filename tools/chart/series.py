"""Lines, bars, areas, points: a height for each `x`. In the worker."""

from __future__ import annotations

from typing import Any

from manus.tools.chart.drawing import Channels, Drawing, color, drawn, labels
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import numbers, scale, time_labels
from manus.tools.chart.thinning import every, extremes, thinned, top

_MARKED = 60
"""Points of a line that are marked each."""
CATEGORIES = ("nominal", "ordinal")


def series(chart: Chart, table: Any, order: list[str], notes: list[str]) -> Drawing:
    """A line, bar, area or scatter chart."""
    table, kind = _along(chart, table)
    table, name = _heights(chart, table)
    table = _fewer(chart, table, kind, notes)
    beside = _beside(chart, table, kind, notes)
    encoding = {
        "x": _x(chart, table, kind),
        "y": _y(chart, name, stacked=chart.stack or not beside),
        **beside,
        **color(chart, table, order),
    }
    return drawn(_mark(chart, table, kind), encoding, table)


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


def _heights(chart: Chart, table: Any) -> tuple[Any, str]:
    """The table with its `y`, one for each `x` where that is asked for, and the name of it."""
    if "y" not in table or chart.aggregate == "count":
        table["y"], how, name = 1.0, "sum", "count"
    else:
        table["y"] = numbers(table["y"], chart.y or "", "y")
        how = chart.aggregate or ("sum" if chart.type == "bar" else "")
        name = f"{how} of {chart.y}" if chart.aggregate else chart.y or ""
    keys = [key for key in ("x", "color") if key in table]
    table = table.dropna(subset=[*keys, "y"])
    if how:
        table = table.groupby(keys, as_index=False, sort=True)["y"].agg(how)
    return table, name


def _fewer(chart: Chart, table: Any, kind: str, notes: list[str]) -> Any:
    if kind in CATEGORIES:
        table = top(table, "x", chart, notes)
    elif chart.type in ("line", "area"):
        table = table.sort_values("x", kind="stable")
    if chart.type == "scatter" or kind == "nominal":
        return thinned(table, notes)
    if chart.type == "area" and "color" in table:
        table = every(table, notes)
        return _filled(table) if chart.stack else table
    return extremes(table, notes)


def _filled(table: Any) -> Any:
    """A zero where a series has no value: without it the areas above would fall through."""
    if table.duplicated(["x", "color"]).any():
        return table
    wide = table.pivot(index="x", columns="color", values="y").fillna(0.0).reset_index()
    return wide.melt(id_vars="x", var_name="color", value_name="y")


def _beside(chart: Chart, table: Any, kind: str, notes: list[str]) -> Channels:
    """The channel that puts bars side by side, where they are not to be stacked."""
    if chart.type != "bar" or "color" not in table or chart.stack or chart.color == chart.x:
        return {}
    if kind not in CATEGORIES:
        notes.append(
            f"The series are stacked: there is room for bars side by side of up to {chart.top} "
            f"values of `{chart.x}`."
        )
        return {}
    return {"xOffset": {"field": "color", "type": "nominal"}}


def _x(chart: Chart, table: Any, kind: str) -> Channels:
    x: Channels = {"field": "x", "type": kind, "title": chart.x_title or chart.x}
    if kind in CATEGORIES:
        by_value = {"field": "y", "op": "sum", "order": "descending"}
        x["sort"] = by_value if chart.sort == "value" else "ascending"
        x["axis"] = labels(table["x"].unique(), chart.width)
    if chart.type == "scatter":
        x["scale"] = {"zero": False}
    return x


def _y(chart: Chart, name: str, *, stacked: bool) -> Channels:
    y: Channels = {"field": "y", "type": "quantitative", "title": chart.y_title or name}
    if chart.type == "scatter":
        y["scale"] = {"zero": False}
    if chart.type == "area":
        y["stack"] = "zero" if chart.stack else None
    if chart.type == "bar":
        y["stack"] = "zero" if stacked else None
    return y


def _mark(chart: Chart, table: Any, kind: str) -> dict[str, Any]:
    if chart.type == "scatter":
        opacity = 0.65 if len(table) <= 1_000 else 0.35
        return {"type": "point", "filled": True, "opacity": opacity, "size": 28}
    if chart.type == "line":
        return {"type": "line", "point": len(table) <= _MARKED}
    if chart.type == "area":
        over = "color" in table and not chart.stack
        return {"type": "area", "opacity": 0.35 if over else 0.85, "line": over}
    if kind in CATEGORIES:
        return {"type": "bar"}
    broad = 0.8 * chart.width / max(table["x"].nunique(), 1)
    return {"type": "bar", "size": min(max(broad, 1), 40)}
