"""Pies: shares of a whole, so that nothing may be left out of it. In the worker."""

from __future__ import annotations

from typing import Any

from manus.state.errors import ToolError
from manus.tools.chart.drawing import Channels, Drawing, tooltip
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import categories, numbers

SLICES = 12
"""Slices that can be told apart; what is smaller is one slice together."""
_NAMED = 0.03
"""Share from which on there is room for the figure beside the slice."""


def pie(chart: Chart, table: Any, _: list[str], notes: list[str]) -> Drawing:
    """Slices by size, the rest of them last, each with its share in per cent."""
    table["x"], _order = categories(table["x"])
    table["y"] = numbers(table["y"], chart.y or "", "y") if "y" in table else 1.0
    how = chart.aggregate if chart.y and chart.aggregate else "sum"
    table = table.dropna().groupby("x", as_index=False)["y"].agg(how)
    if (table["y"] < 0).any():
        raise ToolError("A pie cannot show values below zero; use a `bar`.")
    rows = _with_rest(table.sort_values("y", ascending=False, kind="stable"), chart, notes)
    whole = rows["y"].sum()
    if not rows.empty and whole == 0:
        raise ToolError("A pie of sizes that are all zero has no slices; use a `bar`.")
    share = rows["y"] / whole
    rows["share"] = share.map("{:.1%}".format)
    rows["label"] = rows["share"].where(share >= _NAMED, "")
    rows["rank"] = range(len(rows))
    return Drawing(rows, _body(chart, rows))


def _with_rest(rows: Any, chart: Chart, notes: list[str]) -> Any:
    import pandas as pd

    most = min(chart.top, SLICES)
    if len(rows) <= most:
        return rows.reset_index(drop=True)
    rest = rows.iloc[most - 1 :]
    notes.append(f"The {len(rest):,} smallest values of `{chart.x}` are one slice together.")
    last = pd.DataFrame({"x": [f"other ({len(rest):,})"], "y": [rest["y"].sum()]})
    return pd.concat([rows.head(most - 1), last], ignore_index=True)


def _body(chart: Chart, rows: Any) -> dict[str, Any]:
    radius = max(min(chart.width, chart.height) / 2 - 26, 20)
    slices: Channels = {
        "field": "x",
        "type": "nominal",
        "title": chart.x_title or chart.x,
        "sort": rows["x"].tolist(),
    }
    if len(rows) > 10:
        slices["scale"] = {"scheme": "tableau20"}
    size = {"field": "y", "type": "quantitative", "title": chart.y_title or chart.y or "count"}
    told = tooltip({"x": slices, "y": size, "share": {"field": "share", "title": "share"}})
    return {
        "encoding": {
            "theta": {"field": "y", "type": "quantitative", "stack": True},
            "order": {"field": "rank", "type": "quantitative"},
        },
        "layer": [
            {"mark": {"type": "arc", "outerRadius": radius}, "encoding": {"color": slices, **told}},
            {
                "mark": {"type": "text", "radius": radius + 20},
                "encoding": {"text": {"field": "label", "type": "nominal"}},
            },
        ],
    }
