"""Chart drawing: rows are counted, labels fit, nothing is hidden."""

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert

from manus.state.errors import ToolError
from manus.tools.chart.draw import specify
from manus.tools.chart.numbers import read_numbers
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import keep_extremes, read_table, sample_rows


def _draw(frame: Any, **chart: Any) -> tuple[dict[str, Any], list[str]]:
    return specify(Chart(**chart), pd.DataFrame(frame), {})


MONTHS = {
    "month": [f"2024-{month:02}-01" for month in range(1, 13) for _ in "ab"],
    "place": ["北京", "서울</script>"] * 12,
    "n": range(24),
    "a.b[0]": range(24),
}
CHARTS: dict[str, dict[str, Any]] = {
    "line": {"x": "month", "y": "n", "color": "place"},
    "bar": {"x": "place", "y": "n", "aggregate": "mean", "sort": "value"},
    "area": {"x": "month", "y": "n", "color": "place"},
    "scatter": {"x": "a.b[0]", "y": "n", "color": "place"},
    "histogram": {"x": "n", "bins": 8},
    "heatmap": {"x": "month", "y": "place", "value": "n"},
    "box": {"x": "place", "y": "n"},
    "pie": {"x": "place", "y": "n"},
}


def test_each_type_is_drawn(subtests: pytest.Subtests) -> None:
    for kind, chart in CHARTS.items():
        with subtests.test(kind=kind, chart=chart):
            spec, notes = _draw(MONTHS, type=kind, **chart)
            assert vl_convert.vegalite_to_vega(spec)["marks"], kind
            assert notes == []


def test_dates_are_grouped_by_month() -> None:
    days = {"day": pd.date_range("2024-01-15", periods=60), "n": [1] * 60}
    spec, notes = _draw(days, type="line", x="day", y="n", per="month", aggregate="sum")
    assert [row["x"][:7] for row in spec["data"]["values"]] == ["2024-01", "2024-02", "2024-03"]
    assert [row["y"] for row in spec["data"]["values"]] == [17, 29, 14]
    assert notes == []
    with pytest.raises(ToolError, match="`place`"):
        _draw(MONTHS, type="line", x="place", y="n", per="month")


def test_a_pie_is_always_of_the_whole_and_bars_are_of_the_largest() -> None:
    index = [0] * 100  # a file may contain duplicates
    frame = pd.DataFrame({"who": [f"p{i:03}" for i in range(100)], "n": range(100)}, index=index)
    spec, notes = specify(Chart(type="pie", x="who", y="n"), frame, {})
    rows = spec["data"]["values"]
    assert sum(row["y"] for row in rows) == sum(range(100))
    assert (len(rows), rows[0]["x"], rows[-1]["x"]) == (12, "p099", "other (89)")
    assert rows[-1]["share"] == "79.1%"
    assert len(notes) == 1
    few, [_] = _draw(frame, type="bar", x="who", y="n", top=2)
    assert {row["x"] for row in few["data"]["values"]} == {"p098", "p099"}
    with pytest.raises(ToolError, match="no slices"):
        _draw({"who": ["a", "b"], "n": [0, 0]}, type="pie", x="who", y="n")


def test_a_long_line_keeps_its_peaks_and_points_are_taken_at_random() -> None:
    table = pd.DataFrame({"x": range(20_000), "y": 0.0, "color": ["a", "b"] * 10_000})
    table.loc[777, "y"], table.loc[12_002, "y"] = 9.0, -9.0
    notes: list[str] = []
    sample = keep_extremes(table, notes)
    assert (sample["y"].max(), sample["y"].min()) == (9.0, -9.0)
    assert len(sample) <= 10_000
    assert sample["x"].is_monotonic_increasing
    assert len(sample_rows(table, notes)) == 5_000
    assert len(notes) == 2


def _colors(spec: dict[str, Any]) -> dict[str, str]:
    painted = (spec.get("layer") or [spec])[0]["encoding"]["color"]["scale"]
    return dict(zip(painted["domain"], painted["range"], strict=True))


def test_a_name_has_the_same_color_in_all_charts() -> None:
    counts: dict[str, int] = {}
    frame = {"x": range(11), "y": range(11), "s": [f"s{i:02}" for i in range(11)]}
    chart = Chart(type="scatter", x="x", y="y", color="s")
    many = _colors(specify(chart, pd.DataFrame(frame), counts)[0])
    assert len(set(many.values())) == 11
    few = pd.DataFrame({"x": [1, 2], "y": [1, 2], "s": ["new", "s07"]})
    later = _colors(specify(chart, few, counts)[0])
    pie = _colors(specify(Chart(type="pie", x="s", y="y"), few, counts)[0])
    assert later["s07"] == pie["s07"] == many["s07"]
    assert later["new"] == pie["new"] not in many.values()
    for n in range(40):
        counts.setdefault(f"other{n}", len(counts))
    assert (
        len(set(_colors(specify(chart, few.assign(s=["s00", "other9"]), counts)[0]).values())) == 2
    )


NO_DATES = ("2024-03-0123", "2024/03-01", "x2024", "1/2/2024", "5-Mar-2024", "Q1 2024")
DATES: list[tuple[list[Any], str]] = [
    (["2024-03", "2024-02"], "2024-02-01"),
    (["2024/3/1", "2024/2/29"], "2024-02-29"),
    (["2024-03-01T08:00:00Z", "2024-03-01T07:00:00Z"], "2024-03-01T07"),
    (["01.02.2024", "25.01.2024"], "2024-01-25"),
    (["1/13/2024", "1/2/2024"], "2024-01-02"),
    (["13/1/2024", "1/2/2024"], "2024-01-13"),
]
OTHERWISE: list[tuple[list[Any], list[Any], str]] = [
    (["1/2/2024", "3/4/2024"], [1, 2], "YYYY-MM-DD"),
    ([1, 2, 3], [1, None, 2], "1 of 3 rows"),
]


@pytest.mark.parametrize(("texts", "first"), DATES)
def test_dates_in_common_formats_are_dates(texts: list[Any], first: str) -> None:
    spec, notes = _draw({"when": texts, "n": [1, 2]}, type="line", x="when", y="n")
    assert spec["encoding"]["x"]["type"] == "temporal"
    assert spec["data"]["values"][0]["x"].startswith(first)
    assert notes == []


@pytest.mark.parametrize("text", NO_DATES)
def test_other_texts_are_categories(text: str) -> None:
    spec, _ = _draw({"when": [text] * 2, "n": [1, 2]}, type="scatter", x="when", y="n")
    assert spec["encoding"]["x"]["type"] == "nominal"


@pytest.mark.parametrize(("values", "numbers", "message"), OTHERWISE)
def test_a_note_says_how_the_data_was_read(
    values: list[Any], numbers: list[Any], message: str
) -> None:
    _, notes = _draw({"d": values, "n": numbers}, type="line", x="d", y="n")
    assert message in notes[0]


ORDERS = {
    "months": (["March", "January", "April"], ["January", "March", "April"]),
    "weekdays": (["Wed", "Mon", "Thu"], ["Mon", "Wed", "Thu"]),
    "quarters": (["Q4 2023", "Q1 2024", "Q2 2024"], ["Q4 2023", "Q1 2024", "Q2 2024"]),
    "months with a year": (["Feb 2024", "Mar 2024", "Apr 2024"],) * 2,
    "other texts": (["small", "medium", "large"],) * 2,
    "in Chinese": (["一月", "二月", "十月"],) * 2,
}


@pytest.mark.parametrize("kind", ["bar", "line", "heatmap", "box"])
@pytest.mark.parametrize("name", ORDERS)
def test_texts_are_in_the_order_of_the_file_and_calendar_names_in_theirs(
    kind: str, name: str
) -> None:
    texts, order = ORDERS[name]
    frame = {"m": texts, "n": [3, 1, 2]}
    spec, notes = _draw(frame, type=kind, x="m", y="m" if kind == "heatmap" else "n")
    assert spec["encoding"]["x"]["sort"] == order
    if kind == "heatmap":
        assert spec["encoding"]["y"]["sort"] == order
    assert notes == []


def test_bars_of_dates_and_of_numbers_are_in_ascending_order(subtests: pytest.Subtests) -> None:
    for values in (["2024-03-01", "2024-01-01"], [10, 9]):
        with subtests.test(values=values):
            spec, _ = _draw({"d": values, "n": [1, 2]}, type="bar", x="d", y="n")
            assert spec["encoding"]["x"]["type"] == "ordinal"
            assert "sort" not in spec["encoding"]["x"]


def test_a_line_keeps_all_its_points_and_asks_about_several_rows() -> None:
    frame = {"x": [f"c{i:03}" for i in range(70)], "n": range(70)}
    spec, _ = _draw(frame, type="line", x="x", y="n")
    assert len(spec["data"]["values"]) == 70
    twice = {"x": [1, 1, 2], "n": [1, 3, 5]}
    with pytest.raises(ToolError, match="`aggregate`"):
        _draw(twice, type="line", x="x", y="n")
    spec, _ = _draw(twice, type="line", x="x", y="n", aggregate="mean")
    assert [row["y"] for row in spec["data"]["values"]] == [2, 5]


def test_several_columns_are_series() -> None:
    frame = {"t": [2020, 2021], "sales": [5, 6], "costs": [3, 4]}
    spec, notes = _draw(frame, type="line", x="t", y=["sales", "costs"])
    points = sorted((row["color"], row["y"]) for row in spec["data"]["values"])
    assert points == [("costs", 3), ("costs", 4), ("sales", 5), ("sales", 6)]
    assert notes == []
    with pytest.raises(ToolError, match="`color`"):
        _draw(frame, type="line", x="t", y=["sales", "costs"], color="t")


def test_a_log_scale_needs_positive_values(subtests: pytest.Subtests) -> None:
    frame = {"x": [1, 2], "n": [1, 1000]}
    spec, _ = _draw(frame, type="line", x="x", y="n", log=True)
    assert spec["encoding"]["y"]["scale"]["type"] == "log"
    for kind, numbers in (("bar", [1, 2]), ("line", [0, 2])):
        with subtests.test(kind=kind), pytest.raises(ToolError, match="`log`"):
            _draw({"x": [1, 2], "n": numbers}, type=kind, x="x", y="n", log=True)


def test_each_kind_of_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
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
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ModuleNotFoundError) as lacking:
        read_table(path.with_suffix(".xlsx"), "data.xlsx", None)
    assert lacking.value.name == "openpyxl"


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


NUMBERS: list[tuple[list[str], list[float | None]]] = [
    (["1,200", "300", "45"], [1200, 300, 45]),
    (["1.200,50", "3.400"], [1200.5, 3400]),
    (["1,200.50", "3,400"], [1200.5, 3400]),
    (["1,5", "2,75", "1.200"], [1.5, 2.75, 1200]),
    (["0,125", "1,250"], [0.125, 1.25]),
    (["1.234.567", "5.000"], [1234567, 5000]),
    (["€ 12", "13 €", "-€5", "€ (7)", "€8.-"], [12, 13, -5, -7, 8]),
    (["12 %", "5%", "-0.5 %"], [12, 5, -0.5]),
    (["(300)", "300-", "−5", "+4"], [-300, -300, -5, 4]),
    (["1\u2009234\u202f567", "12\xa0000", "1 234,5"], [1234567, 12000, 1234.5]),
    (["1'234.50", "1’200"], [1234.5, 1200]),
    (["12,34,567.8"], [1234567.8]),
    (["1.2E+05", "3e2"], [120000, 300]),
    (["１２", "３．５", "٣"], [12, 3.5, 3]),
    (["5 kg", "7kg", "1,000 kg", "3"], [5, 7, 1000, 3]),
    (["R$ 1.234,56", "R$ 12,00"], [1234.56, 12]),
    (["CHF 1’200.–", "CHF 5.50"], [1200, 5.5]),
    # not numbers, or not of the same kind as the others
    (["€ 5", "$ 6", "€ 7"], [5, None, 7]),
    (["12%", "0.5", "3%"], [12, None, 3]),
    (["1,200.50", "1.200,50", "3.5"], [1200.5, None, 3.5]),
    (["2024-05-01", "12:30", "1/2", "10–20", "", "n/a", "10.0.0.1", "1,2,3"], [None] * 8),
]


@pytest.mark.parametrize(("cells", "values"), NUMBERS)
def test_numbers_are_read_as_a_spreadsheet_writes_them(
    cells: list[str], values: list[float | None]
) -> None:
    assert read_numbers(cells).values == values


def test_cells_that_are_not_numbers_are_listed_by_row_or_an_error() -> None:
    sales = ["1,200", "closed", *map(str, range(10, 28))]
    frame = {"m": range(20), "n": sales}
    for chart in ({"type": "bar", "y": "n"}, {"type": "line", "y": ["n", "m"]}):
        spec, notes = _draw(frame, x="m", **chart)
        assert spec["data"]["values"][0]["y"] == 1200
        assert notes[0] == "Cells of `n` that are not numbers: row 3 `closed`."
    frame["n"] = ["?", "", "3", *sales[:2], *sales[5:]]
    with pytest.raises(ToolError, match=r"2 of 19 cells .* row 2 `\?`, row 6 `closed`"):
        _draw(frame, type="bar", x="m", y="n")
    spec, _ = _draw({"m": ["1,200", "3"], "n": [1, 2]}, type="scatter", x="m", y="n")
    assert [row["x"] for row in spec["data"]["values"]] == [1200, 3]


NO_TABLES = {
    "notes.md": ("# Notes\n", "an unsupported format"),
    "deep.json": ('{"a": {"b": [1, 2]}, "c": [1]}', "as a table of rows"),
    "empty.csv": ("a,b\n", "has no rows"),
    "words.csv": (
        "a\nred\nblue\n",
        "`a` has 2 of 2 cells that are none, .*: row 2 `red`, row 3 `blue`",
    ),
}


def test_data_that_cannot_be_drawn_is_rejected(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name, (text, message) in NO_TABLES.items():
        with subtests.test(name=name):
            (tmp_path / name).write_text(text)
            with pytest.raises(ToolError, match=message):
                specify(Chart(type="histogram", x="a"), read_table(tmp_path / name, name, None), {})
    for kind in ("line", "bar", "area", "scatter", "box", "pie", "heatmap"):
        is_refused = pytest.raises(ToolError, match="every row lacks a value")
        with subtests.test(kind=kind), is_refused:
            _draw({"a": ["x", None], "b": [None, 2.0]}, type=kind, x="a", y="b")
