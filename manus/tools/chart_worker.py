"""The worker process that draws a chart: `manus.tools.chart_worker JOB`, with the job in JSON.

It is a separate process because reading and drawing take seconds of CPU time and as much memory as
the file needs. It writes the PNG and the page, and prints one line of JSON: the number of `rows`
and `notes`, or an `error`.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import altair
import pandas as pd
import vl_convert
from jsonschema import ValidationError

from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.workspace.safe_open import open_file
from manus.workspace.text_encoding import decode
from manus.workspace.text_files import replace_file

Spec = dict[str, Any]

_MAX_ROWS = 100_000
_MAX_SVG = 10 * 2**20
"""Maximum size of a page, in characters; each mark takes about 200."""
_MAX_LEFT_OUT = 0.1
"""Maximum share of the cells of a column that are left out as not being numbers or dates."""
_MAX_LISTED = 30
"""Maximum number of column names in an error."""
_HEAD_BYTES = 2**20
"""Size of the beginning of a text file from which its encoding is decided."""
_GENERATED = {"key", "value", "density", "prob"}
"""Default names of fields that transforms add."""
_MARK = re.compile(r"role-mark[^>]*[^/]>\s*<(?!/)")
"""The group of a mark that is not empty, in the SVG."""
_LABEL = re.compile(r'(<path aria-label="([^"]*)"[^>]*)/>')
_CONFIG: Spec = {
    # Noto covers all scripts and is free; the others come with an operating system
    "font": "'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Hiragino Sans', "
    "'Microsoft YaHei', 'Malgun Gothic', sans-serif",
    "background": "#ffffff",
    "padding": 14,
    "view": {
        "stroke": None,
        "continuousWidth": 640,
        "continuousHeight": 360,
        "discreteWidth": 640,
        "discreteHeight": 360,
    },
    "title": {"anchor": "start", "fontSize": 16, "offset": 14},
}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ margin: 0.5rem; background: #fff; color-scheme: light dark; overflow-x: auto }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #1a1a1a }}
  svg {{ filter: invert(0.9) hue-rotate(180deg) }}
}}
</style>
{svg}
</html>
"""


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Draw a chart and return the result or the error."""
    try:
        frame = read_table(Path(job["data"]), job["label"], job["sheet"])
        svg, notes = draw(job["spec"], frame)
        _write(job, svg)
    except ToolError as error:
        return {"error": str(error)}
    return {"rows": len(frame), "notes": notes}


def _write(job: dict[str, Any], svg: str) -> None:
    """Write the PNG, and the page, in which each mark has its values as a tooltip."""
    title = job["spec"].get("title") or "Chart"
    if isinstance(title, dict):
        title = title.get("text", "Chart")
    labelled = _LABEL.sub(r"\1><title>\2</title></path>", svg)
    page = _PAGE.format(title=html.escape(str(title)), svg=labelled)
    picture = Path(job["picture"])
    try:
        replace_file(picture, bytes(vl_convert.svg_to_png(svg, scale=1.5)))
        replace_file(picture.with_suffix(".html"), page.encode())
    except OSError as error:
        raise ToolError(f"Cannot write {job['output']}: {error.strerror}.") from None


def draw(spec: Spec, frame: Any) -> tuple[str, list[str]]:
    """Return the chart as SVG, and notes on the cells that are left out.

    Raises:
        ToolError: the specification is invalid, or its columns are missing, empty or unsuitable.
    """
    if len(frame) > _MAX_ROWS:
        raise ToolError(
            f"The file has {len(frame):,} rows and a chart at most {_MAX_ROWS:,}; aggregate or "
            "sample them first with `python_execute`, into another file."
        )
    spec = {key: value for key, value in spec.items() if key not in ("data", "usermeta", "$schema")}
    _validate(spec)
    text = json.dumps(spec, ensure_ascii=False)
    used = [name for name in frame.columns if json.dumps(name, ensure_ascii=False)[1:-1] in text]
    notes: list[str] = []
    for channel in list(_find_channels(spec)):
        _prepare_channel(channel, spec, frame, notes)
    rows = json.loads(frame[used].to_json(orient="records", date_format="iso", date_unit="s"))
    config = _CONFIG | spec.get("config", {})
    return _render({**spec, "data": {"values": rows}, "config": config}), list(dict.fromkeys(notes))


def _validate(spec: Spec) -> None:
    try:
        altair.Chart.from_dict({**spec, "data": {"values": []}})
    except ValidationError as error:
        place = error.json_path.removeprefix("$").removeprefix(".") or "it"
        problem = one_line(error.message, 300)
        raise ToolError(f"`spec` is not valid Vega-Lite: `{place}`: {problem}.") from None


def _render(spec: Spec) -> str:
    try:
        svg = str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
    except ValueError as error:
        reason = str(error).partition("\n")[2].partition("\n    at ")[0]
        raise ToolError(f"Vega-Lite cannot draw this `spec`: {one_line(reason, 300)}") from None
    if not _MARK.search(svg):
        raise ToolError("Nothing is drawn: no row is left after the filters of the `spec`.")
    if len(svg) > _MAX_SVG:
        raise ToolError("The chart has too many marks; aggregate or sample the rows first.")
    return svg


def _find_channels(part: Any) -> Iterator[Spec]:
    """Yield the channels of a specification and of its layers and parts."""
    if isinstance(part, list):
        for item in part:
            yield from _find_channels(item)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in ("encoding", "facet") and isinstance(value, dict):
                definitions = [value] if "field" in value else value.values()
                for definition in definitions:
                    yield from definition if isinstance(definition, list) else [definition]
            elif key != "data":
                yield from _find_channels(value)


def _prepare_channel(channel: Spec, spec: Spec, frame: Any, notes: list[str]) -> None:
    """Check the column of a channel, convert it, and fill in the type of its values."""
    name = channel.get("field")
    if not isinstance(name, str):
        return
    if name not in frame.columns:
        _require_generated(name, spec, frame)
        return
    channel["field"] = _escape(name)
    column = frame[name]
    if column.isna().all():
        raise ToolError(f"The column `{name}` is empty; choose another one.")
    kind = channel.get("type") or _infer_type(column)
    if not {"aggregate", "bin", "timeUnit"} & channel.keys():
        channel["type"] = kind
    is_counted = channel.get("aggregate") in ("count", "distinct", "valid", "missing")
    if kind == "temporal" or "timeUnit" in channel:
        frame[name] = _convert(column, partial(pd.to_datetime, format="ISO8601"), "dates", notes)
    elif (kind == "quantitative" or "aggregate" in channel) and not is_counted:
        frame[name] = _convert(column, pd.to_numeric, "numbers", notes)
    if missing := int(column.isna().sum()):
        notes.append(f"`{name}` is empty in {missing:,} of {len(frame):,} rows.")
    scale = channel.get("scale")
    if isinstance(scale, dict) and scale.get("type") == "log" and (frame[name] <= 0).any():
        raise ToolError(f"A log scale cannot show the values of `{name}` that are zero or below.")


def _require_generated(name: str, spec: Spec, frame: Any) -> None:
    """Raise `ToolError` if a field is neither a column nor made by a transform."""
    text = json.dumps(spec)
    named = re.search(rf'"as": (\[[^]]*)?{re.escape(json.dumps(name))}', text)
    if '"transform"' in text and (named or '"pivot"' in text or name in _GENERATED):
        return
    listed = ", ".join(map(str, frame.columns[:_MAX_LISTED]))
    more = " …" if len(frame.columns) > _MAX_LISTED else ""
    raise ToolError(f"There is no column `{name}`; the columns are: {listed}{more}.")


def _escape(name: str) -> str:
    """Return a column's name as a field: a dot or a bracket would lead into an object."""
    return re.sub(r"([.\[\]\\'\"])", r"\\\1", name)


def _infer_type(column: Any) -> str:
    if pd.api.types.is_bool_dtype(column):
        return "nominal"
    if pd.api.types.is_numeric_dtype(column):
        return "quantitative"
    texts = column.dropna().astype(str)
    if pd.api.types.is_datetime64_any_dtype(column) or texts.str.match(r"\d{4}-\d\d-\d\d").all():
        return "temporal"
    return "nominal"


def _convert(column: Any, convert: Any, kind: str, notes: list[str]) -> Any:
    """Convert a column to numbers or dates; a note lists the few cells that are neither."""
    converted = convert(column, errors="coerce")
    wrong = column[converted.isna() & column.notna()].astype(str)
    if wrong.empty:
        return converted
    cells = ", ".join(f"{one_line(cell, 30)!r}" for cell in wrong.unique()[:5])
    count = f"{len(wrong):,} of {len(column):,} cells of `{column.name}` are no {kind} ({cells})"
    if len(wrong) > _MAX_LEFT_OUT * len(column):
        form = "YYYY-MM-DD" if kind == "dates" else "plain digits such as 1234.5"
        raise ToolError(f"{count}; write them as {form} first, or choose another column or type.")
    notes.append(f"{count} and are left out.")
    return converted


def read_table(path: Path, label: str, sheet: str | None) -> Any:
    """Return the file as a data frame whose column names are strings.

    Raises:
        ToolError: the file is not tabular, or its format is not supported.
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
        raise ToolError(f"{label} has an unsupported format; supported are: {', '.join(readers)}.")
    try:
        with open_file(path) as file:
            frame: Any = readers[kind](file)
    except Exception as error:  # readers raise errors of many types
        reason = one_line(str(error), 200)
        why = f"Cannot read {label} as a table of rows and columns ({reason})"
        raise ToolError(f"{why}; convert it first.") from error
    frame.columns = [str(name) for name in frame.columns]
    if frame.empty:
        raise ToolError(f"{label} has no rows; a chart needs at least one.")
    return frame.loc[:, ~frame.columns.duplicated()]


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


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - the result
