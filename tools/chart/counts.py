"""Histograms and heat maps: what falls into a bin or a cell. In the worker."""

from __future__ import annotations

from typing import Any

from manus.state.errors import ToolError
from manus.tools.chart.drawing import Channels, Drawing, color, drawn, labels
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import categories, numbers
from manus.tools.chart.thinning import top


def histogram(chart: Chart, table: Any, order: list[str], _: list[str]) -> Drawing:
    """How many rows have a value from here to there."""
    import numpy as np
    import pandas as pd

    values = numbers(table["x"], chart.x or "", "x")
    table = table.assign(x=values).dropna()
    if table.empty:
        raise ToolError(f"The column `{chart.x}` holds no numbers.")
    edges = np.histogram_bin_edges(table["x"], bins=chart.bins)
    groups = table.groupby("color") if "color" in table else [(None, table)]
    parts = []
    for name, part in groups:
        count, _edges = np.histogram(part["x"], bins=edges)
        parts.append(pd.DataFrame({"x": edges[:-1], "x2": edges[1:], "y": count, "color": name}))
    rows = pd.concat(parts)
    if "color" not in table:
        rows = rows.drop(columns="color")
    encoding = {
        "x": {
            "field": "x",
            "bin": {"binned": True},
            "type": "quantitative",
            "title": chart.x_title or chart.x,
        },
        "x2": {"field": "x2"},
        "y": {"field": "y", "type": "quantitative", "title": chart.y_title or "count"},
    }
    return drawn({"type": "bar"}, {**encoding, **color(chart, rows, order)}, rows)


def heatmap(chart: Chart, table: Any, _: list[str], notes: list[str]) -> Drawing:
    """A cell for each pair of categories, coloured by what its rows come to."""
    along: dict[str, list[str]] = {}
    for axis in ("x", "y"):
        table[axis], along[axis] = categories(table[axis])
    if "value" in table:
        table["value"] = numbers(table["value"], chart.value or "", "value")
        how = chart.aggregate or "mean"
        name = f"{how} of {chart.value}"
    else:
        table["value"], how, name = 1.0, "sum", "count"
    table = table.dropna().groupby(["x", "y"], as_index=False)["value"].agg(how)
    table = top(top(table, "x", chart, notes), "y", chart, notes)
    order = {axis: _shown(along[axis], table[axis]) for axis in ("x", "y")}
    x = _axis("x", chart.x_title or chart.x, order["x"])
    x["axis"] = labels(order["x"], chart.width)
    y = _axis("y", chart.y_title or chart.y, order["y"])
    cell = {"field": "value", "type": "quantitative", "title": name}
    return drawn({"type": "rect"}, {"x": x, "y": y, "color": cell}, table)


def _axis(field: str, title: str | None, order: list[str]) -> Channels:
    return {"field": field, "type": "ordinal", "title": title, "sort": order}


def _shown(order: list[str], values: Any) -> list[str]:
    there = set(values)
    return [name for name in order if name in there]
