"""A data file as a table, and the rows of it that a chart draws. Runs in the worker's process."""

from __future__ import annotations

import calendar
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manus.execution.safe_open import open_file
from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.chart.spec import Chart

_DATE = r"\d{4}-\d{2}$|\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)"
_FORMS = (
    *("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y"),
    *("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %Y", "%B %Y", "%b-%y"),
    *("%m/%Y", "%Y%m%d"),
)
"""Dates as people write them, beside those that begin with the year."""
_QUARTER = r"^(?:Q([1-4])[ -/]?(\d{4})|(\d{4})[ -/]?Q([1-4]))$"
_CALENDAR = [
    {form.lower(): rank for names in forms for rank, form in enumerate(names)}
    for forms in (
        (calendar.month_name, calendar.month_abbr),
        (calendar.day_name, calendar.day_abbr),
    )
]
"""The rank of each name, long and short: of months, and of weekdays."""
_SAID = 30
"""Names of columns that an error lists."""
CATEGORIES = ("nominal", "ordinal")
"""Kinds of `x` of which each value has a place of its own."""
POINTS = 5_000
"""Points that are drawn at most; of more a part is taken, and the model is told which."""
SLICES = 12
"""Slices of a pie that can be told apart; what is smaller is one slice together."""


def read_table(path: Path, shown: str, sheet: str | None) -> Any:
    """The file as a data frame whose columns are named by texts.

    Raises:
        ToolError: it is not tabular, or of another kind.
        ModuleNotFoundError: a package that reads this kind is not installed.
    """
    readers = {
        ".csv": partial(pd.read_csv, encoding="utf-8-sig"),
        ".tsv": partial(pd.read_csv, sep="\t", encoding="utf-8-sig"),
        ".json": pd.read_json,
        ".jsonl": partial(pd.read_json, lines=True),
        ".ndjson": partial(pd.read_json, lines=True),
        ".parquet": pd.read_parquet,
        ".xlsx": partial(pd.read_excel, sheet_name=sheet or 0, engine="openpyxl"),
    }
    kind = path.suffix.lower()
    if kind not in readers:
        raise ToolError(f"{shown} is of a kind that is not known; there are: {', '.join(readers)}.")
    try:
        with open_file(path) as file:
            frame: Any = readers[kind](file)
    except ImportError as error:  # pandas has a text of its own for what it lacks
        lacking = {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(kind, "")
        raise ModuleNotFoundError(name=error.name or lacking) from error
    except Exception as error:  # whatever a reader of the format raises
        said = one_line(str(error), 200)
        why = f"{shown} cannot be read as a table of rows and columns ({said})"
        raise ToolError(f"{why}; bring it into that form first.") from error
    frame.columns = [str(column) for column in frame.columns]
    if frame.empty:
        raise ToolError(f"{shown} has no rows; a chart needs some.")
    return frame


def column(frame: Any, name: str, argument: str) -> Any:
    """A column by its name, in any letter case; a `ToolError` lists those there are."""
    names = list(frame.columns)
    found = [name] if name in names else [n for n in names if n.strip().lower() == name.lower()]
    if not found:
        there = ", ".join(names[:_SAID]) + (" …" if len(names) > _SAID else "")
        raise ToolError(f"There is no column `{name}` for `{argument}`; the columns are: {there}.")
    chosen = frame[found[0]]
    return chosen.iloc[:, 0] if chosen.ndim > 1 else chosen  # two columns of one name


def numbers(values: Any, name: str, argument: str) -> Any:
    """A column as numbers, else a `ToolError`; a few cells that are none become missing."""
    found = pd.to_numeric(values, errors="coerce").astype(float)
    if found.notna().sum() < max(1, 0.5 * values.notna().sum()):
        example = next((str(v) for v in values.dropna().head(1)), "")[:40]
        why = f"`{argument}` needs a column of numbers, and `{name}` holds text such as `{example}`"
        raise ToolError(f"{why}; choose another, or clean it first.")
    return found.replace([float("inf"), float("-inf")], float("nan"))


def scale(values: Any) -> tuple[Any, str]:
    """A column as it goes along an axis, and its Vega-Lite type."""
    if pd.api.types.is_bool_dtype(values):
        return values.astype(str), "nominal"
    if pd.api.types.is_datetime64_any_dtype(values):
        return values, "temporal"
    is_numeric = pd.api.types.is_numeric_dtype(values)
    may_be_dates = not is_numeric or values.between(19_000_101, 21_001_231).all()
    if may_be_dates and (times := _dates(values)) is not None:
        return times, "temporal"
    if is_numeric:
        return values.astype(float), "quantitative"
    return values.where(values.isna(), values.astype(str)), "nominal"


def _dates(values: Any) -> Any:
    """A column as points in time, where all of it is written in one of the usual forms."""
    texts = values.dropna().astype(str).str.strip()
    if texts.empty:
        return None
    quarters = texts.str.replace(_QUARTER, lambda m: f"{m[2] or m[3]}Q{m[1] or m[4]}", regex=True)
    if quarters.str.fullmatch(r"\d{4}Q[1-4]").all():
        times = pd.PeriodIndex(quarters, freq="Q").to_timestamp()
        return pd.Series(times, index=texts.index).reindex(values.index)
    begins_with_year = texts.head(200).str.match(_DATE).all()
    for form in ("mixed", *_FORMS) if begins_with_year else _FORMS:
        times = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
        if times.notna().all():
            return times.dt.tz_localize(None).reindex(values.index)
    return None


def may_be_either(values: Any) -> bool:
    """Whether dates with slashes fit day first as well as month first."""
    parts = values.dropna().astype(str).str.extract(r"^\s*(\d+)/(\d+)/\d+\s*$").astype(float)
    return bool((parts <= 12).all(axis=None))


def calendar_order(names: Any) -> list[str] | None:
    """The names of months or weekdays in their order; None if they are others."""
    known = {str(name): str(name).strip().lower() for name in names}
    for words in _CALENDAR:
        if known and words.keys() >= set(known.values()):
            return sorted(known, key=lambda name: words[known[name]])
    return None


def categories(values: Any) -> Any:
    """A column as names of categories; numbers stay numbers, and are ordered as such."""
    values, kind = scale(values)
    return time_labels(values) if kind == "temporal" else values


def time_labels(times: Any) -> Any:
    """Points in time as texts that are no longer than is needed to tell them apart."""
    texts = times.dt.strftime("%Y-%m-%d %H:%M:%S")
    for end in (":00", " 00:00", "-01", "-01"):
        there = texts.dropna()
        if not there.str.endswith(end).all() or (end == "-01" and there.nunique() < 2):
            break
        texts = texts.str.removesuffix(end)
    return texts


def heights(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, str]:
    """The table with its `y`, one for each `x` where that is asked for, and the name of `y`."""
    if "y" not in table or chart.aggregate == "count":
        table["y"] = 1.0
        how = "sum"
        name = "count"
    else:
        table["y"] = numbers(table["y"], str(chart.y), "y")
        how = chart.aggregate or ("sum" if chart.type in ("bar", "pie") else "")
        name = f"{how} of {chart.y}" if chart.aggregate else str(chart.y)
    keys = [key for key in ("x", "color") if key in table]
    whole = table.dropna(subset=[*keys, "y"])
    if left := len(table) - len(whole):
        notes.append(f"{left:,} of {len(table):,} rows lack a value and are left out.")
    if how:
        return whole.groupby(keys, as_index=False)["y"].agg(how), name
    many = whole["x"][whole.duplicated(keys)]
    if chart.type in ("line", "area") and not many.empty:  # it would go up and down at one place
        first = str(many.iloc[0]).removesuffix(" 00:00:00")
        raise ToolError(
            f"`{chart.x}` {first} has several rows: give `aggregate` "
            "(such as `sum` or `mean`), or `color`, the column that tells them apart."
        )
    return whole, name


def top(table: Any, key: str, chart: Chart, notes: list[str]) -> Any:
    """The rows of the largest categories of a column, where there are more than can be shown."""
    if key not in table or table[key].nunique() <= chart.top:
        return table
    by = next((n for n in ("value", "y") if n in table and n != key), None)
    groups = table.groupby(key)
    sizes = groups[by].sum() if by and table[by].dtype == float else groups.size()
    said = f"Of {len(sizes):,} values of `{getattr(chart, key)}` the top {chart.top} are shown."
    notes.append(said)
    return table[table[key].isin(sizes.nlargest(chart.top).index)]


def fewer(chart: Chart, table: Any, kind: str, notes: list[str]) -> Any:
    """The rows of a line, bar, area or scatter chart, along an `x` of some kind."""
    is_line = chart.type in ("line", "area")  # has to have all its points
    if kind in CATEGORIES:
        return table if is_line else top(table, "x", chart, notes)
    if chart.type == "scatter":
        return thinned(table, notes)
    if chart.type == "area" and chart.stack and "color" in table and len(table) > POINTS:
        many = f"{len(table):,} points are too many for stacked areas"
        raise ToolError(f"{many}; use `aggregate` on a coarser column, or `stack`: false.")
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
    place = np.digitize(table["x"], edges[1:-1])
    keys = {"x": edges[place], "x2": edges[place + 1]}
    if "color" in table:
        keys["color"] = table["color"].to_numpy()
    counts = pd.DataFrame(keys).groupby(list(keys), as_index=False).size()
    return counts.rename(columns={"size": "y"})


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
