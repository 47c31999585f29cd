"""Box plots, worked out here: of any number of rows the page holds only what is drawn."""

from __future__ import annotations

from typing import Any

from manus.tools.chart.drawing import Channels, Drawing, color, labels, tooltip, values
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import categories, numbers
from manus.tools.chart.thinning import thinned, top

_REACH = 1.5
"""Heights of the box that a whisker reaches at most (Tukey)."""
_BROADEST = 90
"""Pixels."""


def box(chart: Chart, table: Any, order: list[str], notes: list[str]) -> Drawing:
    """A box from quartile to quartile, whiskers, and what lies beyond them, for each `x`."""
    table["y"] = numbers(table["y"], chart.y or "", "y")
    along: list[str] = [""]
    if "x" in table:
        table["x"], along = categories(table["x"])
    else:
        table["x"] = ""
    table = top(table.dropna(), "x", chart, notes)
    if table.empty:
        return Drawing(table, {})
    keys = ["x", "color"] if "color" in table and chart.color != chart.x else ["x"]
    if chart.color == chart.x and "color" in table:
        table["color"] = table["x"]
        order = along
    boxes = _boxes(table, keys)
    if "color" in table and "color" not in boxes:
        boxes["color"] = boxes["x"]
    beyond = thinned(_beyond(table, boxes, keys), notes, "points beyond the whiskers")
    shown = set(boxes["x"])
    encoding = _encoding(chart, boxes, [name for name in along if name in shown])
    layers = _layers(chart, boxes, beyond, color(chart, boxes, order))
    return Drawing(boxes, {"layer": layers, "encoding": encoding})


def _boxes(table: Any, keys: list[str]) -> Any:
    grouped = table.groupby(keys)["y"]
    boxes = grouped.quantile([0.25, 0.5, 0.75]).unstack().reset_index()
    boxes.columns = [*keys, "q1", "median", "q3"]
    boxes["rows"] = grouped.size().to_numpy()
    reach = _REACH * (boxes["q3"] - boxes["q1"])
    fences = boxes.assign(bottom=boxes["q1"] - reach, ceiling=boxes["q3"] + reach)
    all_rows = table.merge(fences[[*keys, "bottom", "ceiling"]], on=keys)
    within = all_rows[all_rows["y"].between(all_rows["bottom"], all_rows["ceiling"])]
    ends = within.groupby(keys)["y"].agg(low="min", high="max").reset_index()
    return boxes.merge(ends, on=keys)


def _beyond(table: Any, boxes: Any, keys: list[str]) -> Any:
    rows = table.merge(boxes[[*keys, "low", "high"]], on=keys)
    outside = rows[(rows["y"] < rows["low"]) | (rows["y"] > rows["high"])]
    return outside[[name for name in ("x", "color", "y") if name in outside]]


def _encoding(chart: Chart, boxes: Any, along: list[str]) -> Channels:
    x: Channels = {
        "field": "x",
        "type": "nominal",
        "title": chart.x_title or chart.x,
        "sort": along,
        "axis": labels(along, chart.width) if chart.x else None,
    }
    beside = {}
    if "color" in boxes and chart.color != chart.x:
        beside = {"xOffset": {"field": "color", "type": "nominal"}}
    return {"x": x, **beside}


def _layers(chart: Chart, boxes: Any, beyond: Any, series: Channels) -> list[dict[str, Any]]:
    side_by_side = boxes["color"].nunique() if "color" in boxes and chart.color != chart.x else 1
    broad = min(0.6 * chart.width / max(boxes["x"].nunique() * side_by_side, 1), _BROADEST)
    said = {"title": chart.y_title or chart.y, "scale": {"zero": False}}

    def height(field: str) -> Channels:
        return {"field": field, "type": "quantitative", **said}

    names = {"x": chart.x, "color": chart.color, **{n: n for n in _TOLD}}
    told = tooltip({n: {"field": n, "title": t} for n, t in names.items() if t and n in boxes})
    layers: list[dict[str, Any]] = [
        {"mark": "rule", "encoding": {"y": height("low"), "y2": {"field": "high"}}},
        {
            "mark": {"type": "bar", "size": broad},
            "encoding": {"y": height("q1"), "y2": {"field": "q3"}, **series, **told},
        },
        {
            "mark": {"type": "tick", "size": broad, "thickness": 2},
            "encoding": {"y": height("median")},
        },
    ]
    if not beyond.empty:
        layers.append(
            {
                "data": {"values": values(beyond)},
                "mark": {"type": "point", "size": 14, "opacity": 0.45},
                "encoding": {"y": height("y"), **series},
            }
        )
    return layers


_TOLD = ("high", "q3", "median", "q1", "low", "rows")
