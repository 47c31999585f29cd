"""Charts from data files, as PNG and as a page that works offline."""

from __future__ import annotations

import base64
import csv
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
import vl_convert
from playwright.async_api import async_playwright

from manus.tools.catalog import build_catalog
from manus.tools.chart.draw import specify
from manus.tools.chart.spec import Chart
from manus.tools.chart.table import read_table
from manus.tools.result import Observation
from manus.tools.session import Session

ROWS = [
    {"日期": f"2024-{month:02}-01", "地区": place, "销量": month * factor, "a.b[0]": month % 4}
    for month in range(1, 13)
    for place, factor in (("北京", 3), ("서울", 2), ("東京</script>", 5))
]
PNG = b"\x89PNG\r\n\x1a\n"


def _csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that these tests share: what a page draws with takes seconds to put together."""
    cache = tmp_path_factory.getbasetemp() / "chart-cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "manus"


@pytest.fixture
def root(session: Session) -> Path:
    """The workspace, with sales in it."""
    root = session.workspace.root
    _csv(root / "sales.csv", ROWS)
    return root


async def _draw(session: Session, data: str, chart: dict[str, Any], **more: Any) -> Observation:
    catalog = build_catalog(["data_visualization"], session)
    return await catalog.execute("data_visualization", {"data": data, "chart": chart, **more})


def _size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(PNG)
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


CHARTS: dict[str, dict[str, Any]] = {
    "line": {"x": "日期", "y": "销量", "color": "地区"},
    "bar": {"x": "地区", "y": "销量", "aggregate": "mean", "sort": "value"},
    "area": {"x": "日期", "y": "销量", "color": "地区"},
    "scatter": {"x": "a.b[0]", "y": "销量", "color": "地区"},
    "histogram": {"x": "销量", "bins": 8},
    "heatmap": {"x": "日期", "y": "地区", "value": "销量"},
    "box": {"x": "地区", "y": "销量"},
    "pie": {"x": "地区", "y": "销量"},
}


async def test_a_chart_is_a_picture_and_a_page(session: Session, root: Path) -> None:
    chart = {"type": "line", "title": "各地销量", "width": 300, "height": 200, **CHARTS["line"]}
    made = await _draw(session, "sales.csv", chart)
    assert not made.is_error, made.text
    assert "36 rows" in made.text
    assert all(f"charts/sales-line.{kind}" in made.text for kind in ("png", "html"))
    picture = (root / "charts/sales-line.png").read_bytes()
    assert base64.b64decode(made.images[0].data) == picture
    assert _size(picture)[0] >= 300
    assert list((root / ".manus/charts").iterdir()) == []


@pytest.mark.parametrize("kind", CHARTS)
def test_each_type_is_drawn(kind: str) -> None:
    spec, notes = specify(Chart(type=kind, **CHARTS[kind]), pd.DataFrame(ROWS))
    assert _size(vl_convert.vegalite_to_png(spec, allowed_base_urls=[]))[0] >= 300
    assert notes == []


def test_its_process_loads_nothing_of_the_agent() -> None:
    """Each chart would wait a second for it."""
    modules = ", ".join(f"manus.tools.chart.{name}" for name in ("draw", "page", "table"))
    code = f"import sys, {modules}; print(*sys.modules)"
    command = [sys.executable, "-P", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    loaded = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert {"manus", "pydantic"} <= packages
    assert not packages & {"langchain_core", "langgraph", "langsmith", "openai", "httpx2"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_draws_itself_and_asks_for_nothing(
    scheme: Literal["light", "dark"], session: Session, root: Path
) -> None:
    made = await _draw(session, "sales.csv", {"type": "bar", "title": "</script>", **CHARTS["bar"]})
    assert not made.is_error, made.text
    asked: list[str] = []
    async with async_playwright() as playwright:
        path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = await browser.new_context(color_scheme=scheme)
        await context.set_offline(True)
        page = await context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        await page.goto((root / "charts/sales-bar.html").as_uri())
        await page.wait_for_selector(f"body[data-drawn={scheme}] canvas")
        corner = await page.evaluate(_CORNER)
        spec = json.loads(str(await page.text_content("#spec")))
        title = await page.title()
        await browser.close()
    assert title == "</script>"
    assert {row["x"]: row["y"] for row in spec["data"]["values"]} == {
        "北京": 19.5,
        "서울": 13.0,
        "東京</script>": 32.5,
    }
    assert max(corner[:3]) < 40 if scheme == "dark" else corner[:3] == [255, 255, 255]
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


_CORNER = """() => {
    const canvas = document.querySelector("canvas");
    return [...canvas.getContext("2d").getImageData(2, 2, 1, 1).data];
}"""


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "tsv", "parquet", "xlsx"])
def test_each_kind_of_file_is_read(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS)
    path = tmp_path / f"data.{kind}"
    write: dict[str, Any] = {
        "csv": lambda: frame.to_csv(path, index=False),
        "json": lambda: frame.to_json(path, orient="records"),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "tsv": lambda: frame.to_csv(path, sep="\t", index=False),
        "parquet": lambda: frame.to_parquet(path),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }
    write[kind]()
    read = read_table(path, path.name, None)
    assert list(read.columns) == list(frame.columns)
    assert list(read["销量"]) == list(frame["销量"])


async def test_a_hundred_thousand_rows(session: Session, root: Path) -> None:
    _csv(root / "big.csv", [{"n": n, "v": n * 7919 % 1000} for n in range(100_000)])
    made = await _draw(session, "big.csv", {"type": "scatter", "x": "n", "y": "v"})
    assert "of 100,000 rows" in made.text
    assert "5,000 of 100,000 points are drawn" in made.text
    assert (root / "charts/big-scatter.html").stat().st_size < 4_000_000


_WRONG: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "column": (
        "sales.csv",
        {"type": "bar", "x": "city"},
        {},
        "There is no column `city` for `x`; the columns are: 日期, 地区, 销量, a.b[0].",
    ),
    "type": (
        "sales.csv",
        {"type": "radar", "x": "地区"},
        {},
        "no chart type `radar`; there are: line, bar",
    ),
    "lacking": ("sales.csv", {"type": "line", "x": "日期"}, {}, "`line` needs `y`: a column."),
    "text": (
        "sales.csv",
        {"type": "histogram", "x": "地区"},
        {},
        "`x` needs a column of numbers, and `地区` holds text such as `北京`",
    ),
    "nowhere": ("gone.csv", {"type": "bar", "x": "a"}, {}, "gone.csv cannot be read: No such file"),
    "folder": (".", {"type": "bar", "x": "a"}, {}, "is no file"),
    "kind": ("notes.md", {"type": "bar", "x": "a"}, {}, "notes.md is of a kind that is not known"),
    "not tabular": ("deep.json", {"type": "bar", "x": "a"}, {}, "cannot be read as a table"),
    "empty": ("empty.csv", {"type": "bar", "x": "a"}, {}, "empty.csv has no rows"),
    "outside": ("../x.csv", {"type": "bar", "x": "a"}, {}, "outside the workspace"),
    "private": (
        "sales.csv",
        {"type": "bar", "x": "地区"},
        {"output": ".manus/x.png"},
        "belongs to the agent's own records",
    ),
}


@pytest.mark.parametrize("case", _WRONG)
async def test_what_does_not_fit_is_said(case: str, session: Session, root: Path) -> None:
    (root / "notes.md").write_text("# Notes\n")
    (root / "deep.json").write_text('{"a": {"b": [1, 2]}, "c": [1]}')
    (root / "empty.csv").write_text("a,b\n")
    data, chart, more, said = _WRONG[case]
    made = await _draw(session, data, chart, **more)
    assert made.is_error
    assert said in made.text
    assert "\n" not in made.text


async def test_a_file_too_large_is_refused(session: Session, root: Path) -> None:
    with (root / "large.csv").open("wb") as file:
        file.truncate(300 * 2**20)
    made = await _draw(session, "large.csv", {"type": "bar", "x": "a"})
    assert "large.csv has 314,572,800 bytes, and 209,715,200 is the most" in made.text


async def test_a_module_in_the_workspace_does_not_take_the_place_of_another(
    session: Session, root: Path
) -> None:
    (root / "pandas.py").write_text("raise SystemExit(3)\n")
    made = await _draw(session, "sales.csv", {"type": "pie", "x": "地区"})
    assert not made.is_error, made.text


_WITHOUT = """#!/bin/sh
# A Python that lacks a package; called as: -P -m MODULE FOLDER
exec {python} -P -c '
import runpy, sys
sys.modules["{package}"] = None
sys.argv = ["worker", sys.argv[1]]
runpy.run_module("manus.tools.chart.worker", run_name="__main__", alter_sys=True)
' "$4"
"""


@pytest.mark.parametrize(("package", "kind"), [("vl_convert", "csv"), ("openpyxl", "xlsx")])
async def test_without_the_packages_it_is_said_how_to_get_them(
    package: str, kind: str, session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = root / ".manus/python"
    python.write_text(_WITHOUT.format(python=sys.executable, package=package))
    python.chmod(0o755)
    (root / f"data.{kind}").write_bytes((root / "sales.csv").read_bytes())
    monkeypatch.setattr(sys, "executable", str(python))
    made = await _draw(session, f"data.{kind}", {"type": "bar", "x": "地区"})
    assert made.is_error
    assert f"({package})" in made.text
    assert "make setup EXTRAS=data" in made.text
    assert "manus[" not in made.text  # on the package index that name is somebody else's


_CJK = (
    shutil.which("fc-list")
    and subprocess.run(
        ["fc-list", ":lang=zh-cn"], capture_output=True, text=True, check=False
    ).stdout
)


@pytest.mark.skipif(not _CJK, reason="no font with Chinese characters is installed")
def test_characters_are_drawn_and_not_boxes() -> None:
    """Two characters that no font has look alike; two that one has do not."""
    pictures = []
    for character in "中国中":
        chart = Chart(type="bar", x="地区", title=character, width=200, height=100)
        spec, _ = specify(chart, pd.DataFrame(ROWS))
        pictures.append(vl_convert.vegalite_to_png(spec, allowed_base_urls=[]))
    assert pictures[0] == pictures[2]
    assert pictures[0] != pictures[1]
