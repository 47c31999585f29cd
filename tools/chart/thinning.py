"""Fewer rows where more could not be told apart; what was left out is noted. In the worker."""

from __future__ import annotations

from typing import Any

from manus.tools.chart.spec import Chart

POINTS = 5_000
"""Points of a scatter, of a box plot or of all lines that are drawn; of more a part is taken."""


def top(table: Any, key: str, chart: Chart, notes: list[str]) -> Any:
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


def thinned(table: Any, notes: list[str], what: str = "points") -> Any:
    """Rows taken at random, always the same ones."""
    if len(table) <= POINTS:
        return table
    notes.append(f"{POINTS:,} of {len(table):,} {what} are drawn, taken at random.")
    return table.sample(POINTS, random_state=0).sort_index()


def every(table: Any, notes: list[str]) -> Any:
    """The rows of one `x` in so many: areas can be stacked only where each has a value."""
    if len(table) <= POINTS:
        return table
    step = -(-len(table) // POINTS)
    notes.append(f"Every {step}th `x` is drawn; use `aggregate` on a coarser column to see all.")
    return table[table["x"].isin(table["x"].drop_duplicates().iloc[::step])]


def extremes(table: Any, notes: list[str]) -> Any:
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
