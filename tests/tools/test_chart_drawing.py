"""Drawing a Vega-Lite specification with the rows of a file, without the tool around it."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from manus.state.errors import ToolError
from manus.tools.chart_worker import draw, read_table

MONTHS = {"m": ["2024-01-01", "2024-02-01", "2024-03-01"], "n": [1, 2, 3], "place": ["b", "a", "b"]}
M = {"field": "m"}
N = {"field": "n"}

DRAWN: list[tuple[str, dict[str, Any], str]] = [
    ("bars", {"mark": "bar", "encoding": {"x": M, "y": N}}, r"m: Jan 01, 2024; n: 1"),
    ("aggregate", {"mark": "bar", "encoding": {"y": {"aggregate": "count"}}},
     "Count of Records: 3"),
    ("sum", {"mark": "bar", "encoding": {"x": {"field": "place"}, "y": {**N, "aggregate": "sum"}}},
     "place: b; Sum of n: 4"),
    ("pie", {"mark": "arc", "encoding": {"theta": N, "color": {"field": "place"}}},
     "n: 3; place: b"),
    ("layers", {"encoding": {"x": M, "y": N}, "layer": [{"mark": "line"}, {"mark": "point"}]},
     "n: 3"),
    ("facets", {"facet": {"field": "place", "type": "nominal"},
                "spec": {"mark": "bar", "encoding": {"x": N}}}, "n: 2"),
    ("generated", {"transform": [{"fold": ["n"]}], "mark": "point",
                   "encoding": {"x": {"field": "key"}, "y": {"field": "value",
                                "type": "quantitative"}}}, "key: n; value: 3"),
    ("named", {"transform": [{"calculate": "datum.n * 2", "as": "twice"}], "mark": "point",
               "encoding": {"x": {"field": "twice", "type": "quantitative"}}}, "twice: 6"),
    ("unit", {"mark": "bar", "encoding": {"x": {**M, "timeUnit": "month"}, "y": N}}, "n: 3"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "label"), [row[1:] for row in DRAWN], ids=[r[0] for r in DRAWN])
def test_a_specification_is_drawn(spec: dict[str, Any], label: str) -> None:
    svg, notes = draw(spec, pd.DataFrame(MONTHS))
    assert re.search(label, svg)
    assert notes == []


def _draw_cells(cells: list[Any], **channel: Any) -> list[str]:
    frame = pd.DataFrame({"a.b [x]": cells, "row": range(len(cells))})
    encoding = {"x": {"field": "a.b [x]", **channel}, "y": {"field": "row"}}
    svg, notes = draw({"mark": "point", "encoding": encoding}, frame)
    assert f"a.b [x]: {cells[-1]}; row: {len(cells) - 1}" in svg
    return notes


def test_what_is_left_out_is_noted() -> None:
    numbers = [str(number) for number in range(20)]
    assert _draw_cells([None, *numbers], type="quantitative") == [
        "`a.b [x]` is empty in 1 of 21 rows."
    ]
    [note] = _draw_cells(["n/a", *numbers], type="quantitative")
    assert note == "1 of 21 cells of `a.b [x]` are no numbers ('n/a') and are left out."
    assert _draw_cells(["n/a", *numbers]) == [], "texts are categories"


X = {"x": N}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"mark": "bar", "encoding": {"x": {"field": "gone"}}}, "no column `gone`; .*: m, n, place"),
    ({"mark": "bar", "encoding": {"x": {"field": "none"}}}, "`none` is empty"),
    ({"mark": "bar", "encoding": {"x": {"field": "place", "type": "quantitative"}}},
     r"3 of 3 cells of `place` are no numbers \('b', 'a'\)"),
    ({"mark": "bar", "encoding": {"x": {"field": "place", "type": "temporal"}}}, "YYYY-MM-DD"),
    ({"mark": "bar", "encoding": {"colour": N}}, "`encoding`: .*'colour' was unexpected"),
    ({"mark": "bar", "encoding": {"x": {**N, "aggregate": "avg"}}}, "'avg' is not one of"),
    ({"mark": "radar", "encoding": X}, "`mark`"),
    ({"encoding": X}, "not valid Vega-Lite"),
    ({"mark": "point", "encoding": X, "transform": [{"filter": "datum.n > 5"}]}, "no row is left"),
    ({"mark": "point", "encoding": X, "transform": [{"filter": "datum.n >"}]}, "cannot draw"),
    ({"mark": "point", "encoding": {"x": {"field": "zero", "scale": {"type": "log"}}}},
     "log scale"),
    ({"layer": [{"data": {"url": "https://example.com/a.csv"}, "mark": "bar", "encoding": X}]},
     "External data url not allowed"),
]  # fmt: skip


def test_a_specification_that_shows_nothing_is_an_error(subtests: pytest.Subtests) -> None:
    for spec, message in REFUSED:
        frame = pd.DataFrame({**MONTHS, "none": [None] * 3, "zero": [0, 1, 2]})
        with subtests.test(message=message), pytest.raises(ToolError, match=message):
            draw(spec, frame)
    with pytest.raises(ToolError, match="100,001 rows"):
        draw({}, pd.DataFrame({"n": range(100_001)}))


def test_each_kind_of_file_is_read(tmp_path: Path, subtests: pytest.Subtests) -> None:
    frame = pd.DataFrame(MONTHS)
    path = tmp_path / "data"
    frame.to_csv(f"{path}.csv", index=False)
    frame.to_csv(f"{path}.tsv", sep="\t", index=False)
    frame.to_json(f"{path}.json", orient="records")
    frame.to_json(f"{path}.jsonl", orient="records", lines=True)
    frame.to_parquet(f"{path}.parquet")
    frame.to_excel(f"{path}.xlsx", index=False)
    for kind in ("csv", "json", "jsonl", "tsv", "parquet", "xlsx"):
        with subtests.test(kind=kind):
            read = read_table(path.with_suffix(f".{kind}"), kind, None)
            assert list(read.columns) == list(frame.columns), kind
            assert list(read["place"]) == list(frame["place"]), kind


CSV = {
    "gbk": ("月份,数量\n一月,1\n二月,2\n" * 20, "gbk"),
    "utf-16": ("Monat\tZahl\nJan\t1\n", "utf-16"),
    "bom": ("a,b\n1,2\n", "utf-8-sig"),
    "semicolons": ("Monat;Umsatz, in €\nJan;1.200,50\nFeb;3,00\n", "cp1252"),
    "bars": ("a|b\n1|2\n", "ascii"),
}


@pytest.mark.parametrize("name", CSV)
def test_encoding_and_separator_of_a_text_file_are_found(tmp_path: Path, name: str) -> None:
    text, encoding = CSV[name]
    (tmp_path / "f.csv").write_text(text, encoding)
    frame = read_table(tmp_path / "f.csv", "f.csv", None)
    head = text.partition("\n")[0]
    assert list(frame.columns) == re.split("[,|\t]" if "in" not in head else ";", head)


NO_TABLES = {
    "notes.md": ("# Notes\n", "an unsupported format"),
    "deep.json": ('{"a": {"b": [1, 2]}, "c": [1]}', "as a table of rows"),
    "empty.csv": ("a,b\n", "has no rows"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_a_file_that_is_no_table_is_rejected(tmp_path: Path, name: str) -> None:
    text, message = NO_TABLES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ToolError, match=message):
        read_table(tmp_path / name, name, None)
