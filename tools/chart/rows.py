"""The rows that a chart draws: counted, summed up, and no more than can be told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from manus.state.errors import ToolError
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import numbers

CATEGORIES = ("nominal", "ordinal")
"""Kinds of `x` of which each value has a place of its own."""
POINTS = 5_000
"""Points that are drawn at most; of more a part is taken, and the model is told which."""
SLICES = 12
"""Slices of a pie that can be told apart; what is smaller is one slice together."""


def heights(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, str]:
    """The table with its `y`, one for each `x` where that is asked for, and the name of `y`."""
    if "y" not in table or chart.aggregate == "count":
        table["y"], how, name = 1.0, "sum", "count"
    else:
        of = chart.y if isinstance(chart.y, str) else "value"
        table["y"] = numbers(table["y"], of, "y")
        how = chart.aggregate or ("sum" if chart.type in ("bar", "pie") else "")
        name = f"{how} of {of}" if chart.aggregate else of
    keys = [key for key in ("x", "color") if key in table]
    whole = table.dropna(subset=[*keys, "y"])
    if left := len(table) - len(whole):
        notes.append(f"{left:,} of {len(table):,} rows lack a value and are left out.")
    if not how and chart.type in ("line", "area"):
        _require_one_each(chart, whole, keys)
    table = whole
    return (table.groupby(keys, as_index=False)["y"].agg(how) if how else table), name


def _require_one_each(chart: Chart, table: Any, keys: list[str]) -> None:
    """Refuse a line that would go up and down at one place."""
    many = table[table.duplicated(keys)]
    if not many.empty:
        first = many["x"].iloc[0]
        raise ToolError(
            f"`{chart.x}` {str(first).removesuffix(' 00:00:00')} has "
            f"{int((table['x'] == first).sum())} rows. Should they be summed up, or are they "
            "several series? Give `aggregate` (such as `sum` or `mean`), or `color`, the column "
            "that tells them apart."
        )


def top(table: Any, key: str, chart: Chart, notes: list[str]) -> Any:
    """The rows of the largest categories of a column, where there are more than can be shown."""
    if key not in table or table[key].nunique() <= chart.top:
        return table
    by = next((n for n in ("value", "y") if n in table and n != key), None)
    groups = table.groupby(key)
    sizes = groups[by].sum() if by and table[by].dtype == float else groups.size()
    notes.append(
        f"Of {len(sizes):,} values of `{getattr(chart, key)}` the top {chart.top} are shown."
    )
    return table[table[key].isin(sizes.nlargest(chart.top).index)]


def fewer(chart: Chart, table: Any, kind: str, notes: list[str]) -> Any:
    """The rows of a line, bar, area or scatter chart, along an `x` of some kind."""
    is_line = chart.type in ("line", "area")  # has to have all its points
    if kind in CATEGORIES:
        return table if is_line else top(table, "x", chart, notes)
    if chart.type == "scatter":
        return thinned(table, notes)
    if chart.type == "area" and chart.stack and "color" in table and len(table) > POINTS:
        raise ToolError(
            f"{len(table):,} points are too many for stacked areas, which need all series at the "
            "same places; use `aggregate` on a coarser column, or `stack`: false."
        )
    return extremes(table.sort_values("x", kind="stable") if is_line else table, notes)


def thinned(table: Any, notes: list[str], most: int = POINTS) -> Any:
    """Rows taken at random, always the same ones."""
    if len(table) <= most:
        return table
    notes.append(f"{most:,} of {len(table):,} points are drawn, taken at random.")
    return table.sample(most, random_state=0).sort_index()


def extremes(table: Any, notes: list[str]) -> Any:
    """Of a long line the lowest and the highest point of each stretch, so that no peak is lost."""
    if len(table) <= POINTS:
        return table
    notes.append(f"Of {len(table):,} points the extremes of each stretch are drawn.")
    table = table.reset_index(drop=True).assign(_series=table.get("color", default=""))
    stretch = table.groupby("_series").cumcount() // max(2 * len(table) // POINTS, 1)
    groups = table.groupby(["_series", stretch])["y"]
    return table.loc[sorted({*groups.idxmin(), *groups.idxmax()})].drop(columns="_series")


def bins(chart: Chart, table: Any) -> Any:
    """How many rows have a value from `x` to `x2`."""
    table = table.assign(x=numbers(table["x"], chart.x or "", "x")).dropna()
    if table.empty:
        raise ToolError(f"The column `{chart.x}` holds no numbers.")
    edges = np.histogram_bin_edges(table["x"], bins=chart.bins)
    parts = []
    for name, part in table.groupby("color") if "color" in table else [(None, table)]:
        count, _ = np.histogram(part["x"], bins=edges)
        parts.append(pd.DataFrame({"x": edges[:-1], "x2": edges[1:], "y": count, "color": name}))
    rows = pd.concat(parts)
    return rows if "color" in table else rows.drop(columns="color")


def slices(chart: Chart, table: Any, notes: list[str]) -> Any:
    """The slices of a pie by size, the rest of them last, each with its share in per cent."""
    if (table["y"] < 0).any():
        raise ToolError("A pie cannot show values below zero; use a `bar`.")
    rows = table.sort_values("y", ascending=False, kind="stable").reset_index(drop=True)
    most = min(chart.top, SLICES)
    if len(rows) > most:
        rest = rows.iloc[most - 1 :]
        notes.append(f"The {len(rest):,} smallest values of `{chart.x}` are one slice together.")
        last = pd.DataFrame({"x": [f"other ({len(rest):,})"], "y": [rest["y"].sum()]})
        rows = pd.concat([rows.head(most - 1), last], ignore_index=True)
    if not rows.empty and rows["y"].sum() == 0:
        raise ToolError("A pie of sizes that are all zero has no slices; use a `bar`.")
    rows["share"] = (rows["y"] / rows["y"].sum()).map("{:.1%}".format)
    return rows
