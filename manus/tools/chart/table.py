"""Read a data file and compute the rows that a chart draws. Runs in the worker process."""

from __future__ import annotations

import calendar
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.chart.numbers import read_numbers
from manus.tools.chart.spec import Chart
from manus.workspace.safe_open import open_file
from manus.workspace.text_encoding import decode

_ISO_DATE = r"\d{4}-\d{2}$|\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)"
_DATE_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
"""The formats that are read besides ISO dates."""
_SLASH_DATE = r"^\s*(\d+)/(\d+)/\d+\s*$"
_MONTHS = {name.lower(): rank for rank, name in enumerate(calendar.month_name)}
_MONTHS |= {name.lower(): rank for rank, name in enumerate(calendar.month_abbr)}
_WEEKDAYS = {name.lower(): rank for rank, name in enumerate(calendar.day_name)}
_WEEKDAYS |= {name.lower(): rank for rank, name in enumerate(calendar.day_abbr)}
_HEAD_BYTES = 2**20
"""Size of the beginning of a text file from which its encoding is decided."""
_MAX_WRONG_SHARE = 0.1
"""Maximum share of the cells of a column of numbers that are left out as something else."""
_MAX_CELLS = 8
"""Maximum number of such cells that are listed."""
_MAX_LISTED = 30
"""Maximum number of column names in an error."""
CATEGORIES = ("nominal", "ordinal")
"""Types of `x` values that have one discrete position each: texts; numbers and dates."""
MAX_POINTS = 5_000
"""Maximum number of points drawn; beyond it points are sampled, and a note says how."""
MAX_SLICES = 12
"""Maximum number of slices of a pie; the smaller ones are combined into one."""


def read_table(path: Path, path_text: str, sheet: str | None) -> Any:
    """Return the file as a data frame whose column names are strings.

    Raises:
        ToolError: the file is not tabular, or its format is not supported.
        ModuleNotFoundError: a package that reads this format is not installed.
    """
    readers = {
        ".csv": _read_csv,
        ".tsv": partial(_read_csv, sep="\t"),
        ".json": pd.read_json,
        ".jsonl": partial(pd.read_json, lines=True),
        ".ndjson": partial(pd.read_json, lines=True),
        ".parquet": pd.read_parquet,
        ".xlsx": partial(pd.read_excel, sheet_name=sheet or 0, engine="openpyxl"),
    }
    kind = path.suffix.lower()
    if kind not in readers:
        raise ToolError(
            f"{path_text} has an unsupported format; supported are: {', '.join(readers)}."
        )
    try:
        with open_file(path) as file:
            frame: Any = readers[kind](file)
    except ImportError as error:  # pandas raises its own message
        package = {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(kind, "")
        raise ModuleNotFoundError(name=error.name or package) from error
    except Exception as error:  # readers raise errors of many types
        reason = one_line(str(error), 200)
        why = f"Cannot read {path_text} as a table of rows and columns ({reason})"
        raise ToolError(f"{why}; convert it first.") from error
    frame.columns = [str(get_column) for get_column in frame.columns]
    if frame.empty:
        raise ToolError(f"{path_text} has no rows; a chart needs at least one.")
    return frame


def _read_csv(file: BinaryIO, sep: str | None = None) -> Any:
    """Read a text file whose encoding and separator are found by its first lines."""
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    text = decode(head[: head.rfind(b"\n") + 1]) or decode(head)
    if text is None:
        raise ValueError("it is not text")
    if sep is None:
        lines = text.text.split("\n", 10)[:10]
        sep = max(";\t|,", key=lambda mark: min(line.count(mark) for line in lines if line))
    encoding = "utf-16" if text.encoding.startswith("utf-16") and text.mark else text.encoding
    return pd.read_csv(file, sep=sep, encoding="utf-8-sig" if encoding == "utf-8" else encoding)


def get_column(frame: Any, name: str, argument: str) -> Any:
    """Return a column by its name, in any letter case; a `ToolError` lists the columns."""
    names = list(frame.columns)
    matches = [name] if name in names else []
    matches += [existing for existing in names if existing.strip().lower() == name.lower()]
    if not matches:
        listed = ", ".join(names[:_MAX_LISTED])
        if len(names) > _MAX_LISTED:
            listed += " …"
        raise ToolError(f"There is no column `{name}` for `{argument}`; the columns are: {listed}.")
    column_values = frame[matches[0]]
    if column_values.ndim > 1:  # two columns of one name
        return column_values.iloc[:, 0]
    return column_values


def as_numbers(values: Any, name: str, argument: str, notes: list[str]) -> Any:
    """Convert a column to numbers; a note lists the few cells that are not numbers.

    Raises:
        ToolError: more cells than a few are not numbers.
    """
    converted = pd.to_numeric(values, errors="coerce").astype(float)
    texts = values[converted.isna() & values.notna()].astype(str)
    if texts.str.strip().any():
        texts = values.dropna().astype(str)
        texts = texts[texts.str.strip() != ""]
        numbers, _ = read_numbers(texts.to_list())
        converted = pd.Series(numbers, texts.index, float).reindex(values.index)
        wrong = texts[converted[texts.index].isna()]
        if len(wrong) > _MAX_WRONG_SHARE * len(texts):
            raise ToolError(
                f"`{argument}` needs a column of numbers, and `{name}` has {len(wrong):,} of "
                f"{len(texts):,} cells that are none, or of another unit: {_list_cells(wrong)}. "
                "Choose another column, or clean it first."
            )
        if not wrong.empty:
            notes.append(f"Cells of `{name}` that are not numbers: {_list_cells(wrong)}.")
    return converted.replace([float("inf"), float("-inf")], float("nan"))


def _list_cells(cells: Any) -> str:
    """List the first cells of a column by their rows; the header is row 1."""
    first = cells.head(_MAX_CELLS)
    listed = [f"row {row + 2} `{one_line(cell, 40)}`" for row, cell in first.items()]
    return ", ".join(listed) + (" …" if len(cells) > len(first) else "")


def as_axis_values(values: Any) -> tuple[Any, str]:
    """Return a column as axis values, and their Vega-Lite type."""
    if pd.api.types.is_bool_dtype(values):
        return values.astype(str), "nominal"
    if pd.api.types.is_datetime64_any_dtype(values):
        return values, "temporal"
    if pd.api.types.is_numeric_dtype(values):
        return values.astype(float), "quantitative"
    times = _parse_dates(values)
    if times is not None:
        return times, "temporal"
    texts = values.dropna().astype(str)
    numbers, unit = read_numbers(texts.to_list())
    is_spelled = not texts.str.isalnum().all()  # `1,200`, but not `2024` or `007`
    if is_spelled and None not in numbers and not any(map(str.isalpha, unit)):
        return pd.Series(numbers, texts.index, float).reindex(values.index), "quantitative"
    return values.where(values.isna(), values.astype(str)), "nominal"


def _parse_dates(values: Any) -> Any:
    """Return a column as points in time; None unless all its values have one supported format."""
    texts = values.dropna().astype(str).str.strip()
    if texts.empty or is_ambiguous_date(texts):
        return None
    is_iso = texts.head(200).str.match(_ISO_DATE).all()
    for date_format in ("mixed",) if is_iso else _DATE_FORMATS:
        times = pd.to_datetime(texts, format=date_format, errors="coerce", utc=True)
        if times.notna().all():
            return times.dt.tz_localize(None).reindex(values.index)
    return None


def is_ambiguous_date(values: Any) -> bool:
    """Return whether dates with slashes can be read both day first and month first."""
    parts = values.dropna().astype(str).str.extract(_SLASH_DATE).astype(float)
    return not parts.empty and bool((parts <= 12).all(axis=None))


def order_texts(texts: Any) -> list[str]:
    """Return distinct texts in file order; months and weekdays in calendar order."""
    names = [str(name) for name in texts.dropna().unique()]
    lowered = [name.strip().lower() for name in names]
    for ranks in (_MONTHS, _WEEKDAYS):
        if ranks.keys() >= set(lowered):
            return sorted(names, key=lambda name: ranks[name.strip().lower()])
    return names


def as_categories(values: Any) -> tuple[Any, str]:
    """Return a column as categories, and their Vega-Lite type; numbers stay numbers."""
    values, kind = as_axis_values(values)
    if kind == "nominal":
        return values, kind
    return (format_times(values) if kind == "temporal" else values), "ordinal"


def format_times(times: Any) -> Any:
    """Format points in time, without the parts that are the same in all of them."""
    texts = times.dt.strftime("%Y-%m-%d %H:%M:%S")
    for end in (":00", " 00:00", "-01", "-01"):
        present = texts.dropna()
        if not present.str.endswith(end).all() or (end == "-01" and present.nunique() < 2):
            break
        texts = texts.str.removesuffix(end)
    return texts


def compute_heights(chart: Chart, table: Any, notes: list[str]) -> tuple[Any, str]:
    """Return the table with `y`, aggregated by `x` if requested, and the name of `y`."""
    if "y" not in table or chart.aggregate == "count":
        table["y"] = 1.0
        aggregate = "sum"
        name = "count"
    else:
        table["y"] = as_numbers(table["y"], str(chart.y), "y", notes)
        default = "sum" if chart.type in ("bar", "pie") else ""
        aggregate = chart.aggregate or default
        name = f"{aggregate} of {chart.y}" if chart.aggregate else str(chart.y)
    keys = [key for key in ("x", "color") if key in table]
    complete = table.dropna(subset=[*keys, "y"])
    if missing_count := len(table) - len(complete):
        notes.append(f"{missing_count:,} of {len(table):,} rows lack a value and are left out.")
    if aggregate:
        return complete.groupby(keys, as_index=False, sort=False)["y"].agg(aggregate), name
    repeated = complete["x"][complete.duplicated(keys)]
    if (
        chart.type in ("line", "area") and not repeated.empty
    ):  # the line would go up and down at one `x`
        first = str(repeated.iloc[0]).removesuffix(" 00:00:00")
        raise ToolError(
            f"`{chart.x}` {first} has several rows: give `aggregate` "
            "(such as `sum` or `mean`), or `color`, the column that tells them apart."
        )
    return complete, name


def keep_largest(table: Any, key: str, chart: Chart, notes: list[str]) -> Any:
    """Keep the rows of the largest categories of a column, if there are more than `chart.top`."""
    if key not in table or table[key].nunique() <= chart.top:
        return table
    weight = next((n for n in ("value", "y") if n in table and n != key), None)
    groups = table.groupby(key)
    sizes = groups[weight].sum() if weight and table[weight].dtype == float else groups.size()
    note = f"Of {len(sizes):,} values of `{getattr(chart, key)}` the top {chart.top} are shown."
    notes.append(note)
    return table[table[key].isin(sizes.nlargest(chart.top).index)]


def limit_rows(chart: Chart, table: Any, kind: str, notes: list[str]) -> Any:
    """Limit the rows of a line, bar, area or scatter chart."""
    is_line = chart.type in ("line", "area")  # keeps all its points
    if kind in CATEGORIES:
        return table if is_line else keep_largest(table, "x", chart, notes)
    if chart.type == "scatter":
        return sample_rows(table, notes)
    if chart.type == "area" and chart.stack and "color" in table and len(table) > MAX_POINTS:
        problem = f"{len(table):,} points are too many for stacked areas"
        raise ToolError(f"{problem}; use `aggregate` on a coarser column, or `stack`: false.")
    return keep_extremes(table.sort_values("x", kind="stable") if is_line else table, notes)


def sample_rows(table: Any, notes: list[str], limit: int = MAX_POINTS) -> Any:
    """Sample rows with a fixed seed, if there are more than `limit`."""
    if len(table) <= limit:
        return table
    notes.append(f"{limit:,} of {len(table):,} points are drawn, sampled at random.")
    return table.sample(limit, random_state=0).sort_index()


def keep_extremes(table: Any, notes: list[str]) -> Any:
    """Keep the lowest and highest point of each stretch of a long line, so that no peak is lost."""
    if len(table) <= MAX_POINTS:
        return table
    notes.append(f"Of {len(table):,} points the extremes of each stretch are drawn.")
    table = table.reset_index(drop=True).assign(_series=table.get("color", default=""))
    stretch = table.groupby("_series").cumcount() // max(2 * len(table) // MAX_POINTS, 1)
    groups = table.groupby(["_series", stretch])["y"]
    return table.loc[sorted({*groups.idxmin(), *groups.idxmax()})].drop(columns="_series")


def count_bins(chart: Chart, table: Any, notes: list[str]) -> Any:
    """Count the rows with a value from `x` to `x2`."""
    table = table.assign(x=as_numbers(table["x"], chart.x or "", "x", notes)).dropna()
    if table.empty:
        raise ToolError(f"The column `{chart.x}` contains no numbers.")
    edges = np.histogram_bin_edges(table["x"], bins=chart.bins)
    position = np.digitize(table["x"], edges[1:-1])
    keys = {"x": edges[position], "x2": edges[position + 1]}
    if "color" in table:
        keys["color"] = table["color"].to_numpy()
    counts = pd.DataFrame(keys).groupby(list(keys), as_index=False).size()
    return counts.rename(columns={"size": "y"})


def compute_slices(chart: Chart, table: Any, notes: list[str]) -> Any:
    """Return the slices of a pie by size, the combined rest last, with shares in percent."""
    if (table["y"] < 0).any():
        raise ToolError("A pie cannot show values below zero; use a `bar`.")
    rows = table.sort_values("y", ascending=False, kind="stable").reset_index(drop=True)
    most = min(chart.top, MAX_SLICES)
    if len(rows) > most:
        rest = rows.iloc[most - 1 :]
        notes.append(f"The {len(rest):,} smallest values of `{chart.x}` are combined in one slice.")
        last = pd.DataFrame({"x": [f"other ({len(rest):,})"], "y": [rest["y"].sum()]})
        rows = pd.concat([rows.head(most - 1), last], ignore_index=True)
    if not rows.empty and rows["y"].sum() == 0:
        raise ToolError("A pie whose values are all zero has no slices; use a `bar`.")
    rows["share"] = (rows["y"] / rows["y"].sum()).map("{:.1%}".format)
    return rows
