"""A data file as a table. Runs in the worker's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manus.state.errors import ToolError

KINDS = ".csv, .tsv, .json, .jsonl, .ndjson, .parquet, .xlsx"
_DATE = r"\d{4}-\d{2}$|\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)"
SAID = 30
"""Names of columns that an error lists."""


def read_table(path: Path, shown: str, sheet: str | None) -> Any:
    """The file as a data frame whose columns are named by texts.

    Raises:
        ToolError: it is not tabular, or of another kind.
        ModuleNotFoundError: a package that reads this kind is not installed.
    """
    import pandas as pd

    kind = path.suffix.lower()
    try:
        if kind in (".csv", ".txt"):
            frame = pd.read_csv(path, sep=None if kind == ".txt" else ",", encoding="utf-8-sig")
        elif kind == ".tsv":
            frame = pd.read_csv(path, sep="\t", encoding="utf-8-sig")
        elif kind == ".json":
            frame = pd.read_json(path)
        elif kind in (".jsonl", ".ndjson"):
            frame = pd.read_json(path, lines=True)
        elif kind == ".parquet":
            frame = pd.read_parquet(path)
        elif kind == ".xlsx":
            frame = pd.read_excel(path, sheet_name=sheet or 0, engine="openpyxl")
        else:
            raise ToolError(f"{shown} is of a kind that is not known; there are: {KINDS}.")
    except ToolError:
        raise
    except ImportError as error:  # pandas has a text of its own for what it lacks
        lacking = {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(kind, "")
        raise ModuleNotFoundError(name=error.name or lacking) from error
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise ToolError(
            f"{shown} cannot be read as a table of rows and columns ({said}); bring it into that "
            "form first, for example with `python_execute`."
        ) from error
    frame.columns = [str(column) for column in frame.columns]
    if frame.empty:
        raise ToolError(f"{shown} has no rows; a chart needs some.")
    return frame


def column(frame: Any, name: str, argument: str) -> Any:
    """A column by its name, also in another letter case.

    Raises:
        ToolError: there is none; lists those there are.
    """
    names = list(frame.columns)
    found = [name] if name in names else [n for n in names if n.strip().lower() == name.lower()]
    if not found:
        rest = f" and {len(names) - SAID} more" if len(names) > SAID else ""
        raise ToolError(
            f"There is no column `{name}` for `{argument}`; the columns are: "
            f"{', '.join(names[:SAID])}{rest}."
        )
    chosen = frame[found[0]]
    return chosen.iloc[:, 0] if chosen.ndim > 1 else chosen  # two columns of one name


def numbers(values: Any, name: str, argument: str) -> Any:
    """A column as numbers; a few cells that are none become missing.

    Raises:
        ToolError: it does not hold numbers.
    """
    import pandas as pd

    found = pd.to_numeric(values, errors="coerce").astype(float)
    if found.notna().sum() < max(1, 0.5 * values.notna().sum()):
        example = next((str(v) for v in values.dropna().head(1)), "")[:40]
        raise ToolError(
            f"`{argument}` needs a column of numbers, and `{name}` holds text such as "
            f"`{example}`; choose another, or clean it first."
        )
    return found.replace([float("inf"), float("-inf")], float("nan"))


def scale(values: Any) -> tuple[Any, str]:
    """A column as it goes along an axis, and its Vega-Lite type."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(values):
        return values.astype(str), "nominal"
    if pd.api.types.is_numeric_dtype(values):
        return values.astype(float), "quantitative"
    if pd.api.types.is_datetime64_any_dtype(values):
        return values, "temporal"
    texts = values.dropna().astype(str)
    if len(texts) and texts.head(200).str.match(_DATE).all():
        times = pd.to_datetime(values, errors="coerce", format="mixed", utc=True)
        if times.notna().sum() == values.notna().sum():
            return times.dt.tz_localize(None), "temporal"
    return values.where(values.isna(), values.astype(str)), "nominal"


def categories(values: Any) -> tuple[Any, list[str]]:
    """A column as names of categories, and those in the order of what they stand for."""
    values, kind = scale(values)
    names = values
    if kind == "temporal":
        names = time_labels(values)
    elif kind == "quantitative":
        names = values.where(values.isna(), values.map(_plain))
    there = values.notna()
    in_order = names[there].loc[values[there].sort_values(kind="stable").index]
    return names, [str(name) for name in in_order.drop_duplicates()]


def _plain(number: float) -> str:
    whole = number == number and abs(number) < 1e15 and number == int(number)
    return str(int(number)) if whole else str(number)


def time_labels(times: Any) -> Any:
    """Points in time as texts that are no longer than is needed to tell them apart."""
    there = times.dropna()
    if (there != there.dt.normalize()).any():
        form = "%Y-%m-%d %H:%M:%S" if (there.dt.second != 0).any() else "%Y-%m-%d %H:%M"
    elif there.nunique() < 2 or (there.dt.day != 1).any():
        form = "%Y-%m-%d"
    else:
        form = "%Y-%m" if (there.dt.month != 1).any() else "%Y"
    return times.dt.strftime(form)
