"""A chart and a table as a Vega-Lite specification. Runs in the worker's process.

Everything is counted and summed up here and columns get plain names, so that the page holds only
what is drawn and no name of a column is ever read as an expression.
"""

from __future__ import annotations

from typing import Any

from state.errors import ToolError
from tools.chart.spec import COLUMNS, Chart
from tools.chart.table import column, numbers, scale

POINTS = 5_000
"""Points of a scatter, of a box plot or of all lines that are drawn; of more a part is taken."""
FONT = "'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"


def specify(chart: Chart, frame: Any) -> tuple[dict[str, Any], list[str]]:
    """The specification, and what the model should know about it.

    Raises:
        ToolError: a column is missing or does not fit.
    """
    import pandas as pd

    given = {n: getattr(chart, n) for n in COLUMNS if getattr(chart, n)}
    table = pd.DataFrame({n: column(frame, name, n) for n, name in given.items()})
    notes: list[str] = []
    if chart.color and chart.type not in ("heatmap", "pie"):
        table["color"] = _text(table["color"])
        table = _top(table, "color", chart, notes)
    shape = {"histogram": _histogram, "heatmap": _heatmap, "box": _box, "pie": _pie}
    mark, encoding, rows = shape.get(chart.type, _series)(chart, table, notes)
    if rows.empty:
        raise ToolError("Nothing is left to draw: every row lacks a value in the columns chosen.")
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": chart.width,
        "height": chart.height,
        "title": chart.title,
        "data": {"values": _values(rows)},
        "mark": mark,
        "encoding": encoding,
        "config": {"font": FONT, "axis": {"labelLimit": 220}, "legend": {"labelLimit": 220}},
    }
    return spec, notes


def _series(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, dict[str, Any], Any]:
    table["x"], kind = scale(table["x"])
    if chart.type == "bar" and kind == "quantitative" and table["x"].nunique() <= chart.top:
        kind = "ordinal"
    if "y" not in table or chart.aggregate == "count":
        table["y"], how = 1.0, "sum"
        name = "count"
    else:
        table["y"] = numbers(table["y"], chart.y or "", "y")
        how = chart.aggregate or ("sum" if chart.type == "bar" else "")
        name = f"{how} of {chart.y}" if chart.aggregate else chart.y or ""
    keys = [key for key in ("x", "color") if key in table]
    table = table.dropna(subset=[*keys, "y"])
    if how:
        table = table.groupby(keys, as_index=False, sort=True)["y"].agg(how)
    if kind in ("nominal", "ordinal"):
        table = _top(table, "x", chart, notes)
    elif chart.type in ("line", "area"):
        table = table.sort_values("x", kind="stable")
    if chart.type == "scatter" or kind == "nominal":
        table = _thinned(table, notes)
    elif chart.type == "area" and "color" in table:
        table = _every(table, notes)
    else:
        table = _extremes(table, notes)
    sort = {"field": "y", "op": "sum", "order": "descending"} if chart.sort == "value" else None
    x: dict[str, Any] = {"field": "x", "type": kind, "title": chart.x_title or chart.x}
    if kind in ("nominal", "ordinal"):
        x["sort"] = sort if sort else "ascending"
    y: dict[str, Any] = {"field": "y", "type": "quantitative", "title": chart.y_title or name}
    if chart.type == "scatter":
        x["scale"] = y["scale"] = {"zero": False}
    if chart.type in ("bar", "area"):
        y["stack"] = "zero" if chart.stack else None
    if chart.type == "bar" and "color" in table and not chart.stack:
        extra = {"xOffset": {"field": "color", "type": "nominal"}}
    else:
        extra = {}
    mark: dict[str, Any] = {"type": "point" if chart.type == "scatter" else chart.type}
    if chart.type == "scatter":
        mark.update(filled=True, opacity=0.6, size=25)
    return mark, {"x": x, "y": y, **extra, **_color(chart, table), **_tooltip(table)}, table


def _histogram(chart: Chart, table: Any, _: list[str]) -> tuple[Any, dict[str, Any], Any]:
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
    return {"type": "bar"}, {**encoding, **_color(chart, rows), **_tooltip(rows)}, rows


def _heatmap(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, dict[str, Any], Any]:
    for axis in ("x", "y"):
        table[axis] = _text(table[axis])
    if "value" in table:
        table["value"] = numbers(table["value"], chart.value or "", "value")
        how = chart.aggregate or "mean"
        name = f"{how} of {chart.value}"
    else:
        table["value"], how, name = 1.0, "sum", "count"
    table = table.dropna().groupby(["x", "y"], as_index=False)["value"].agg(how)
    table = _top(_top(table, "x", chart, notes), "y", chart, notes)
    encoding = {
        "x": {"field": "x", "type": "ordinal", "title": chart.x_title or chart.x},
        "y": {"field": "y", "type": "ordinal", "title": chart.y_title or chart.y},
        "color": {"field": "value", "type": "quantitative", "title": name},
    }
    return {"type": "rect"}, {**encoding, **_tooltip(table)}, table


def _box(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, dict[str, Any], Any]:
    table["y"] = numbers(table["y"], chart.y or "", "y")
    table["x"] = _text(table["x"]) if "x" in table else ""
    table = _top(table.dropna(), "x", chart, notes)
    encoding = {
        "x": {"field": "x", "type": "nominal", "title": chart.x_title or chart.x},
        "y": {
            "field": "y",
            "type": "quantitative",
            "title": chart.y_title or chart.y,
            "scale": {"zero": False},
        },
    }
    rows = table if len(table) <= 20 * POINTS else _thinned(table, notes)
    return {"type": "boxplot"}, {**encoding, **_color(chart, rows)}, rows


def _pie(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, dict[str, Any], Any]:
    table["x"] = _text(table["x"])
    table["y"] = numbers(table["y"], chart.y or "", "y") if "y" in table else 1.0
    how = chart.aggregate if chart.y and chart.aggregate else "sum"
    table = table.dropna().groupby("x", as_index=False)["y"].agg(how)
    if (table["y"] < 0).any():
        raise ToolError("A pie cannot show values below zero; use a `bar`.")
    table = _top(table.sort_values("y", ascending=False), "x", chart, notes)
    encoding = {
        "theta": {"field": "y", "type": "quantitative", "stack": True},
        "color": {
            "field": "x",
            "type": "nominal",
            "title": chart.x_title or chart.x,
            "sort": table["x"].tolist(),
        },
        "order": {"field": "y", "type": "quantitative", "sort": "descending"},
    }
    return {"type": "arc"}, {**encoding, **_tooltip(table)}, table


def _text(values: Any) -> Any:
    return values.where(values.isna(), values.astype(str))


def _top(table: Any, key: str, chart: Chart, notes: list[str]) -> Any:
    """The rows of the largest categories of a column, where there are more than can be shown."""
    sizes = table.groupby(key).sum(numeric_only=True) if key in table else None
    if sizes is None or len(sizes) <= chart.top:
        return table
    by = next((name for name in ("y", "value") if name in sizes), None)
    order = sizes[by].sort_values(ascending=False) if by else table[key].value_counts()
    notes.append(
        f"Of {len(sizes):,} values of `{getattr(chart, key)}` the top {chart.top} are shown."
    )
    return table[table[key].isin(order.head(chart.top).index)]


def _thinned(table: Any, notes: list[str]) -> Any:
    """Rows taken at random, always the same ones, where there are too many to be told apart."""
    if len(table) <= POINTS:
        return table
    notes.append(f"{POINTS:,} of {len(table):,} points are drawn, taken at random.")
    return table.sample(POINTS, random_state=0).sort_index()


def _every(table: Any, notes: list[str]) -> Any:
    """The rows of one `x` in so many: areas can be stacked only where each has a value."""
    if len(table) <= POINTS:
        return table
    step = -(-len(table) // POINTS)
    notes.append(f"Every {step}th `x` is drawn; use `aggregate` on a coarser column to see all.")
    return table[table["x"].isin(table["x"].drop_duplicates().iloc[::step])]


def _extremes(table: Any, notes: list[str]) -> Any:
    """Of a long line the lowest and the highest point of each stretch, so that no peak is lost."""
    import numpy as np

    if len(table) <= POINTS:
        return table
    notes.append(f"Of {len(table):,} points the extremes of each stretch are drawn.")
    keys = ["color"] if "color" in table else []
    size = max(2 * len(table) // POINTS, 1)
    stretch = (table.groupby(keys).cumcount() if keys else np.arange(len(table))) // size
    groups = table.reset_index(drop=True).assign(_s=np.asarray(stretch)).groupby([*keys, "_s"])["y"]
    keep = sorted({*groups.idxmin(), *groups.idxmax()})
    return table.reset_index(drop=True).iloc[keep]


def _color(chart: Chart, rows: Any) -> dict[str, Any]:
    if "color" not in rows:
        return {}
    return {"color": {"field": "color", "type": "nominal", "title": chart.color}}


def _tooltip(rows: Any) -> dict[str, Any]:
    return {"tooltip": [{"field": name} for name in rows.columns]}


def _values(rows: Any) -> list[dict[str, Any]]:
    import json

    found: list[dict[str, Any]] = json.loads(
        rows.to_json(orient="records", date_format="iso", force_ascii=False)
    )
    return found
