"""What is drawn of a table: rows counted, labels that fit, nothing hidden by something else."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from manus.state.errors import ToolError
from manus.tools.chart.draw import specify
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import categories, time_labels
from manus.tools.chart.theme import labels


def _drawn(frame: Any, **chart: Any) -> tuple[dict[str, Any], list[str]]:
    return specify(Chart(**chart), pd.DataFrame(frame))


def _rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    holder = spec if "data" in spec else spec["layer"][0]
    rows: list[dict[str, Any]] = holder["data"]["values"]
    return rows


MONTHS = {
    "month": [f"2024-{month:02}-01" for month in range(1, 13) for _ in "ab"],
    "place": ["a", "b"] * 12,
    "n": range(24),
}


def test_bars_of_points_in_time_stand_side_by_side() -> None:
    spec, notes = _drawn(MONTHS, type="bar", x="month", y="n", color="place", stack=False)
    assert spec["encoding"]["x"]["type"] == "ordinal"
    assert spec["encoding"]["xOffset"] == {"field": "color", "type": "nominal"}
    assert spec["encoding"]["y"]["stack"] is None
    assert _rows(spec)[0] == {"x": "2024-01", "color": "a", "y": 0.0}
    assert notes == []


def test_bars_that_have_no_room_side_by_side_are_stacked_and_it_is_said() -> None:
    days = pd.date_range("2024-01-01", periods=100).repeat(2)
    frame = {"day": days, "place": ["a", "b"] * 100, "n": 1}
    spec, notes = _drawn(frame, type="bar", x="day", y="n", color="place", stack=False)
    assert spec["encoding"]["y"]["stack"] == "zero"
    assert "xOffset" not in spec["encoding"]
    assert spec["mark"]["size"] == pytest.approx(5.76)
    assert notes == [
        "The series are stacked: there is room for bars side by side of up to 50 values of `day`."
    ]


def test_bars_coloured_by_what_they_stand_for_are_as_broad_as_others() -> None:
    spec, notes = _drawn(MONTHS, type="bar", x="place", y="n", color="place", stack=False)
    assert "xOffset" not in spec["encoding"]
    assert spec["encoding"]["color"]["legend"] is None
    assert notes == []


def test_an_index_with_doubles_is_no_obstacle() -> None:
    frame = pd.DataFrame({"g": ["b", "a", "b"], "v": [1, 2, 3]}, index=[0, 0, 0])
    spec, _ = specify(Chart(type="pie", x="g", y="v"), frame)
    assert {row["x"]: row["y"] for row in _rows(spec)} == {"b": 4.0, "a": 2.0}


def test_an_area_has_a_value_of_each_series_everywhere() -> None:
    frame = {"x": [1, 1, 2, 3], "s": ["a", "b", "a", "b"], "y": [1.0, 2.0, 3.0, 4.0]}
    spec, _ = _drawn(frame, type="area", x="x", y="y", color="s")
    found = {(row["x"], row["color"]): row["y"] for row in _rows(spec)}
    assert found == {
        (1.0, "a"): 1.0,
        (1.0, "b"): 2.0,
        (2.0, "a"): 3.0,
        (2.0, "b"): 0.0,
        (3.0, "a"): 0.0,
        (3.0, "b"): 4.0,
    }


def test_a_box_is_that_of_all_rows() -> None:
    frame = {"g": ["x"] * 1001, "v": [*range(1000), 5000]}
    spec, notes = _drawn(frame, type="box", x="g", y="v")
    [box] = _rows(spec)
    assert (box["q1"], box["median"], box["q3"]) == (250.0, 500.0, 750.0)
    assert (box["low"], box["high"], box["rows"]) == (0.0, 999.0, 1001)
    assert spec["layer"][-1]["data"]["values"] == [{"x": "x", "y": 5000.0}]
    assert notes == []


def test_boxes_of_series_stand_side_by_side() -> None:
    frame = {"g": ["x", "x", "y", "y"] * 5, "s": ["a", "b"] * 10, "v": range(20)}
    spec, _ = _drawn(frame, type="box", x="g", y="v", color="s")
    assert len(_rows(spec)) == 4
    assert all(layer["encoding"]["xOffset"]["field"] == "color" for layer in spec["layer"])
    own, _ = _drawn(frame, type="box", x="g", y="v", color="g")
    assert "xOffset" not in own["layer"][1]["encoding"]
    assert own["layer"][1]["encoding"]["color"]["legend"] is None


def test_a_pie_is_always_of_the_whole() -> None:
    frame = {"who": [f"p{i:03}" for i in range(100)], "n": range(100)}
    spec, notes = _drawn(frame, type="pie", x="who", y="n")
    rows = _rows(spec)
    assert sum(row["y"] for row in rows) == sum(range(100))
    assert (len(rows), rows[0]["x"], rows[-1]["x"]) == (12, "p099", "other (89)")
    assert rows[-1]["share"] == "79.1%"
    assert notes == ["The 89 smallest values of `who` are one slice together."]


def test_a_pie_of_nothing_is_refused() -> None:
    with pytest.raises(ToolError, match="sizes that are all zero has no slices"):
        _drawn({"who": ["a", "b"], "n": [0, 0]}, type="pie", x="who", y="n")


def test_numbers_as_categories_are_in_the_order_of_numbers() -> None:
    names, order = categories(pd.Series([10, 9, None, 2.5, 10]))
    assert order == ["2.5", "9", "10"]
    assert names.dropna().tolist() == ["10", "9", "2.5", "10"]
    spec, _ = _drawn({"a": [10, 9], "b": [100, 20]}, type="heatmap", x="a", y="b")
    assert spec["encoding"]["x"]["sort"] == ["9", "10"]
    assert spec["encoding"]["y"]["sort"] == ["20", "100"]


@pytest.mark.parametrize(
    ("times", "label"),
    [
        (["2023-01-01", "2024-01-01"], "2023"),
        (["2024-01-01", "2024-02-01"], "2024-01"),
        (["2024-01-01", "2024-01-02"], "2024-01-01"),
        (["2024-01-01", "2024-01-01"], "2024-01-01"),
        (["2024-01-01 08:30", "2024-01-02"], "2024-01-01 08:30"),
        (["2024-01-01 08:30:05", "2024-01-02"], "2024-01-01 08:30:05"),
    ],
)
def test_points_in_time_are_named_as_shortly_as_they_can_be(times: list[str], label: str) -> None:
    assert time_labels(pd.Series(pd.to_datetime(times, format="mixed")))[0] == label


@pytest.mark.parametrize("text", ["2024-03", "2024-03-01", "2024/3/1", "2024-03-01T08:00:00Z"])
def test_texts_that_are_dates_go_along_an_axis_of_time(text: str) -> None:
    spec, _ = _drawn({"when": [text, text], "n": [1, 2]}, type="line", x="when", y="n")
    assert spec["encoding"]["x"]["type"] == "temporal"
    assert _rows(spec)[0]["x"].startswith("2024-03-01T")


@pytest.mark.parametrize("text", ["2024-03-0123", "2024/03-01", "2024", "20240301"])
def test_other_texts_are_no_dates(text: str) -> None:
    spec, _ = _drawn({"when": [text, "x" + text], "n": [1, 2]}, type="line", x="when", y="n")
    assert spec["encoding"]["x"]["type"] == "nominal"


def test_labels_lie_flat_where_there_is_room() -> None:
    assert labels(["北京", "東京"], 720)["labelAngle"] == 0
    assert labels(["a rather long name"] * 10, 720)["labelAngle"] == -40
    assert labels(range(1000, 1060), 720)["labelAngle"] == -90


def test_more_series_than_colours_get_a_palette_of_more() -> None:
    frame = {"x": range(11), "y": range(11), "s": [f"s{i:02}" for i in range(11)]}
    spec, _ = _drawn(frame, type="scatter", x="x", y="y", color="s")
    assert spec["encoding"]["color"]["scale"] == {"scheme": "tableau20"}
    few, _ = _drawn({**frame, "s": "a"}, type="scatter", x="x", y="y", color="s")
    assert "scale" not in few["encoding"]["color"]


def test_a_tooltip_has_the_names_of_the_columns() -> None:
    spec, _ = _drawn(MONTHS, type="line", x="month", y="n", color="place")
    assert [t["title"] for t in spec["encoding"]["tooltip"]] == ["month", "n", "place"]


@pytest.mark.parametrize("kind", ["line", "bar", "area", "scatter", "box", "pie", "heatmap"])
def test_a_table_without_a_whole_row_is_refused(kind: str) -> None:
    frame = {"a": ["x", None], "b": [None, 2.0]}
    with pytest.raises(ToolError, match="every row lacks a value"):
        _drawn(frame, type=kind, x="a", y="b")
