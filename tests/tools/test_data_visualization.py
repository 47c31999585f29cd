"""Charts from data files, as PNG and as a page that works offline."""

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from manus.tools import data_visualization
from manus.tools.catalog import build_catalog
from manus.tools.result import Observation
from manus.tools.sandbox.sandbox import sandbox_of
from manus.tools.session import Session
from manus.tools.shell.process import Finished
from tests.manus.run_report.viewer import Viewer

PLACES = {"北京": 3, "서울": 2, "東京</script>": 5}
SALES = "日期,地区,销量\n" + "".join(
    f"2024-{month:02}-01,{place},{month * factor}\n"
    for month in range(1, 13)
    for place, factor in PLACES.items()
)


@pytest.fixture(autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that these tests share: what a page draws with takes seconds to put together."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "chart-cache"))


@pytest.fixture
def root(root: Path) -> Path:
    """The workspace, with sales in it."""
    (root / "sales.csv").write_text(SALES, "utf-8")
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
    chart = {"type": "line", "title": "各地销量", "width": 300, "height": 200}
    chart |= {"x": "日期", "y": "销量", "color": "地区"}
    made = await _draw(session, "sales.csv", chart)
    assert not made.is_error, made.text
    assert "36 rows" in made.text
    assert all(f"charts/sales-line.{kind}" in made.text for kind in ("png", "html"))
    picture = (root / "charts/sales-line.png").read_bytes()
    assert base64.b64decode(made.images[0].data) == picture
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", picture[16:20])[0] >= 300
    assert wall != "bubblewrap" or (root / "seen").read_text() == "bwrap\n"


async def test_the_page_draws_itself_and_asks_for_nothing(
    session: Session, root: Path, chromium: Browser
) -> None:
    (root / "pandas.py").write_text("raise SystemExit(3)\n")  # takes the place of no other
    chart = {"type": "bar", "title": "</script>", "x": "地区", "y": "销量", "aggregate": "mean"}
    made = await _draw(session, "sales.csv", chart)
    assert not made.is_error, made.text
    assert "Drawn: 北京 19.5; " in made.text
    context = await chromium.new_context(color_scheme="dark", offline=True)
    viewer = await Viewer.open(context, (root / "charts/sales-bar.html").as_uri())
    await viewer.page.wait_for_selector("canvas")
    assert await viewer.page.title() == "</script>"
    spec = json.loads(str(await viewer.page.text_content("#spec")))
    assert {row["x"]: row["y"] for row in spec["data"]["values"]} == {
        place: 6.5 * factor for place, factor in PLACES.items()
    }
    assert [url for url in viewer.requests if not url.startswith(("file:", "blob:"))] == []


_WRONG: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("sales.csv", {"type": "bar", "x": "city"}, {}, "no column `city` for `x`"),
    ("sales.csv", {"type": "line", "x": "日期"}, {}, "needs `y`"),
    ("gone.csv", {"type": "bar", "x": "a"}, {}, "gone.csv cannot be read"),
    ("../x.csv", {"type": "bar", "x": "a"}, {}, "outside the workspace"),
    ("large.csv", {"type": "bar", "x": "a"}, {}, "209,715,200 is the most"),
    ("sales.csv", {"type": "bar", "x": "地区"}, {"output": ".manus/x.png"}, "own records"),
]


async def test_what_does_not_fit_or_is_not_there_is_said(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (root / "large.csv").open("wb") as file:
        file.truncate(300 * 2**20)
    for data, chart, more, said in _WRONG:
        made = await _draw(session, data, chart, **more)
        assert made.is_error
        assert said in made.text
        assert "\n" not in made.text
    in_a_string: Any = '{"type": "radar", "x": "地区", "time_unit": "month"}'
    made = await _draw(session, "sales.csv", in_a_string)
    assert "`chart.time_unit`: Extra inputs are not permitted" in made.text
    assert "`chart.type`: Input should be 'line', 'bar'," in made.text
    assert "`aggregate?`, `per?`," in made.text

    async def lacks(*_: Any) -> Finished:
        return Finished('{"missing": "vl_convert"}', 0)

    monkeypatch.setattr(data_visualization, "_work", lacks)
    made = await _draw(session, "sales.csv", {"type": "bar", "x": "地区"})
    assert made.is_error
    assert "(vl_convert)" in made.text
    assert "make setup EXTRAS=data" in made.text, "it is said how to get the packages"
