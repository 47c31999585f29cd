"""A chart and a table as a Vega-Lite specification. Runs in the worker's process.

Everything is counted and summed up here and columns get plain names, so that the page holds only
what is drawn and no name of a column is ever read as an expression.
"""

from __future__ import annotations

from typing import Any

from manus.state.errors import ToolError
from manus.tools.chart.box import box
from manus.tools.chart.counts import heatmap, histogram
from manus.tools.chart.drawing import values
from manus.tools.chart.pie import pie
from manus.tools.chart.series import series
from manus.tools.chart.spec import COLUMNS, Chart
from manus.tools.chart.table import categories, column
from manus.tools.chart.theme import config
from manus.tools.chart.thinning import top

_SHAPES = {"histogram": histogram, "heatmap": heatmap, "box": box, "pie": pie}


def specify(chart: Chart, frame: Any) -> tuple[dict[str, Any], list[str]]:
    """The specification, and what the model should know about it.

    Raises:
        ToolError: a column is missing or does not fit.
    """
    import pandas as pd

    given = {n: getattr(chart, n) for n in COLUMNS if getattr(chart, n)}
    table = pd.DataFrame({n: column(frame, name, n) for n, name in given.items()})
    table = table.reset_index(drop=True)  # a file may bring an index with doubles
    notes: list[str] = []
    order: list[str] = []
    if chart.color and chart.type not in ("heatmap", "pie"):
        table["color"], order = categories(table["color"])
        table = top(table, "color", chart, notes)
    drawing = _SHAPES.get(chart.type, series)(chart, table, order, notes)
    if drawing.rows.empty:
        raise ToolError("Nothing is left to draw: every row lacks a value in the columns chosen.")
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": chart.width,
        "height": chart.height,
        "title": chart.title,
        "data": {"values": values(drawing.rows)},
        **drawing.body,
        "config": config(),
    }
    return spec, notes
