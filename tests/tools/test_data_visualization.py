"""Charts from data files, as PNG and as a page that works offline."""

import base64
import csv
import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from manus.tools.catalog import build_catalog
from manus.tools.result import Observation
from manus.tools.sandbox.sandbox import sandbox_of
from manus.tools.session import Session

ROWS = [
    {"日期": f"2024-{month:02}-01", "地区": place, "销量": month * factor, "a.b[0]": month % 4}
    for month in range(1, 13)
    for place, factor in (("北京", 3), ("서울", 2), ("東京</script>", 5))
]


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


async def test_a_chart_is_a_picture_and_a_page_drawn_in_the_sandbox(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = (await sandbox_of(session)).wall
    python = root / ".manus/python"
    python.write_text(f'#!/bin/sh\ncat /proc/1/comm > seen\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    chart = {
        "type": "line",
        "title": "各地销量",
        "width": 300,
        "height": 200,
        "x": "日期",
        "y": "销量",
        "color": "地区",
    }
    made = await _draw(session, "sales.csv", chart)
    assert not made.is_error, made.text
    assert "36 rows" in made.text
    assert all(f"charts/sales-line.{kind}" in made.text for kind in ("png", "html"))
    picture = (root / "charts/sales-line.png").read_bytes()
    assert base64.b64decode(made.images[0].data) == picture
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", picture[16:20])[0] >= 300
    assert wall != "bubblewrap" or (root / "seen").read_text() == "bwrap\n"


async def test_the_page_draws_itself_and_asks_for_nothing(session: Session, root: Path) -> None:
    (root / "pandas.py").write_text("raise SystemExit(3)\n")  # takes the place of no other
    chart = {"type": "bar", "title": "</script>", "x": "地区", "y": "销量", "aggregate": "mean"}
    made = await _draw(session, "sales.csv", chart)
    assert not made.is_error, made.text
    assert "Drawn: 北京 19.5; " in made.text
    asked: list[str] = []
    async with async_playwright() as playwright:
        path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = await browser.new_context(color_scheme="dark")
        await context.set_offline(True)
        page = await context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        await page.goto((root / "charts/sales-bar.html").as_uri())
        await page.wait_for_selector("canvas")
        spec = json.loads(str(await page.text_content("#spec")))
        title = await page.title()
        await browser.close()
    assert title == "</script>"
    assert {row["x"]: row["y"] for row in spec["data"]["values"]} == {
        "北京": 19.5,
        "서울": 13.0,
        "東京</script>": 32.5,
    }
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


_WRONG: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "column": ("sales.csv", {"type": "bar", "x": "city"}, {}, "no column `city` for `x`"),
    "type": ("sales.csv", {"type": "radar", "x": "地区"}, {}, "there are: line, bar"),
    "lacking": ("sales.csv", {"type": "line", "x": "日期"}, {}, "needs `y`"),
    "nowhere": ("gone.csv", {"type": "bar", "x": "a"}, {}, "gone.csv cannot be read"),
    "folder": (".", {"type": "bar", "x": "a"}, {}, "is no file"),
    "outside": ("../x.csv", {"type": "bar", "x": "a"}, {}, "outside the workspace"),
    "large": ("large.csv", {"type": "bar", "x": "a"}, {}, "209,715,200 is the most"),
    "itself": ("x.html", {"type": "bar", "x": "a"}, {"output": "x.png"}, "the data file x.html"),
    "private": (
        *("sales.csv", {"type": "bar", "x": "地区"}, {"output": ".manus/x.png"}),
        "the agent's own records",
    ),
}


@pytest.mark.parametrize("case", _WRONG)
async def test_what_does_not_fit_is_said(case: str, session: Session, root: Path) -> None:
    (root / "x.html").write_text("<table>")
    with (root / "large.csv").open("wb") as file:
        file.truncate(300 * 2**20)
    data, chart, more, said = _WRONG[case]
    made = await _draw(session, data, chart, **more)
    assert made.is_error
    assert said in made.text
    assert "\n" not in made.text


async def test_an_argument_of_the_chart_that_nobody_knows_is_named(session: Session) -> None:
    made = await _draw(session, "sales.csv", {"type": "bar", "x": "地区", "time_unit": "month"})
    assert "`chart.time_unit`: Extra inputs are not permitted" in made.text
    assert "`aggregate?`, `per?`," in made.text


_WITHOUT = """#!/bin/sh
# A Python that lacks a package; called as: -P -m MODULE JOB, and otherwise by the sandbox
[ "$2" = -m ] || exec {python} "$@"
exec {python} -P -c '
import runpy, sys
sys.modules["vl_convert"] = None
sys.argv = ["worker", sys.argv[1]]
runpy.run_module("manus.tools.chart.worker", run_name="__main__", alter_sys=True)
' "$4"
"""


async def test_without_the_packages_it_is_said_how_to_get_them(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = root / ".manus/python"
    python.write_text(_WITHOUT.format(python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    made = await _draw(session, "sales.csv", {"type": "bar", "x": "地区"})
    assert made.is_error
    assert "(vl_convert)" in made.text
    assert "make setup EXTRAS=data" in made.text
    assert "manus[" not in made.text  # on the package index that name is somebody else's
