"""Charts and reports: files that a browser displays offline, without external requests."""

import base64
import re
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from playwright.async_api import Browser

from manus.calls.catalog import build_catalog
from manus.calls.result import Observation
from manus.calls.session import Session, get_sandbox
from manus.tools import data_visualization
from tests.pages.report.viewer import Viewer

PLACES = {"北京": 3, "서울": 2, "東京</script>": 5}
SALES = "日期,地区,销量\n" + "".join(
    f"2024-{month:02}-01,{place},{month * factor}\n"
    for month in range(1, 13)
    for place, factor in PLACES.items()
)


@pytest.fixture
def root(root: Path) -> Path:
    """Return the workspace, with sales data and images."""
    (root / "sales.csv").write_text(SALES, "utf-8")
    for folder in ("charts", "notes"):
        (root / folder).mkdir()
    (root / "charts/sales.png").write_bytes(_png())
    (root / "charts/sales.html").write_text("<html>")
    (root / "图 1.svg").write_text(SVG)
    return root


async def _draw(session: Session, data: str, spec: dict[str, Any], **arguments: Any) -> Observation:
    catalog = build_catalog(["data_visualization"], session)
    return await catalog.execute("data_visualization", {"data": data, "spec": spec, **arguments})


BARS = {
    "mark": "bar",
    "title": "</script>",
    "encoding": {"x": {"field": "地区"}, "y": {"field": "销量", "aggregate": "mean"}},
}


@pytest.mark.sandboxes
@pytest.mark.sample(none=())
async def test_a_chart_is_an_image_and_a_page_rendered_in_the_sandbox(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = (await get_sandbox(session)).kind
    python = root / ".manus/python"
    python.write_text(f'#!/bin/sh\necho $$ > seen\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    line = {"x": {"field": "日期"}, "y": {"field": "销量"}, "color": {"field": "地区"}}
    spec = {"mark": "line", "title": "各地销量", "width": 300, "height": 200, "encoding": line}
    result = await _draw(session, "sales.csv", spec)
    assert not result.is_error, result.text
    assert "36 rows" in result.text
    assert all(f"charts/sales-1.{kind}" in result.text for kind in ("png", "html"))
    picture = (root / "charts/sales-1.png").read_bytes()
    assert base64.b64decode(result.images[0].data) == picture
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", picture[16:20])[0] >= 300
    assert wall != "bubblewrap" or int((root / "seen").read_text()) < 100, "a namespace of its own"


async def test_the_page_renders_offline_and_an_earlier_chart_is_not_replaced(
    session: Session, root: Path, chromium: Browser
) -> None:
    (root / "pandas.py").write_text("raise SystemExit(3)\n")  # replaces no other file
    first = await _draw(session, "sales.csv", BARS)
    assert not first.is_error, first.text
    again = await _draw(session, "sales.csv", {**BARS, "mark": "point"})
    assert "charts/sales-2.png" in again.text
    named = await _draw(session, "sales.csv", BARS, output="charts/sales-2.html")
    assert named.text.endswith(
        "It replaces the earlier charts/sales-2.png and charts/sales-2.html."
    )
    context = await chromium.new_context(color_scheme="dark", offline=True)
    viewer = await Viewer.open(context, (root / "charts/sales-1.html").as_uri())
    assert await viewer.page.title() == "</script>"
    tips = await viewer.page.locator("path > title").all_text_contents()
    assert "地区: 北京; Mean of 销量: 19.5" in tips
    assert [url for url in viewer.requests if not url.startswith("file:")] == []


_X = {"mark": "bar", "encoding": {"x": {"field": "a"}}}
_WRONG: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("sales.csv", _X, {}, "no column `a`"),
    ("gone.csv", _X, {}, "it does not exist"),
    (".", _X, {}, "it is not a regular file"),
    ("../x.csv", _X, {}, "outside the workspace"),
    ("large.csv", _X, {}, "the limit of 209,715,200"),
    ("sales.csv", BARS, {"output": ".manus/x.png"}, "own records"),
]


async def test_invalid_arguments_and_missing_files_are_reported(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    with (root / "large.csv").open("wb") as file:
        file.truncate(300 * 2**20)
    for data, spec, arguments, message in _WRONG:
        with subtests.test(data=data, message=message):
            result = await _draw(session, data, spec, **arguments)
            assert result.is_error
            assert message in result.text
            assert "\n" not in result.text
    in_a_string: Any = '{"mark": "radar", "encoding": {}}'
    result = await _draw(session, "sales.csv", in_a_string)
    assert "`spec` is not valid Vega-Lite: `mark`" in result.text
    monkeypatch.setattr(data_visualization, "_PACKAGES", ("pandas", "no_such_package"))
    result = await _draw(session, "sales.csv", BARS)
    assert result.is_error
    assert "(no_such_package)" in result.text
    assert "make setup EXTRAS=data" in result.text, "the error says how to install the packages"


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30"><rect width="60"/></svg>'


def _png(width: int = 40, height: int = 20) -> bytes:
    return bytes(vl_convert.svg_to_png(SVG.replace("60", str(width)).replace("30", str(height))))


async def _report(session: Session, **arguments: Any) -> Observation:
    return await build_catalog(["make_report"], session).execute("make_report", arguments)


REPORT = """# 各地销量

<script>document.title = "broken"</script> and [a chart](charts/sales.html).

![Sales by place](charts/sales.png)

An ![icon](<图 1.svg>) and one [on the web](https://example.com) ![there](https://example.com/x.png).

| place | sold | share |
| --- | ---: | --: |
| 北京 | 1,234 | 26.1% |
| Köln | −12 | 5 % |
"""


async def test_a_browser_renders_all_of_it(session: Session, root: Path, chromium: Browser) -> None:
    result = await _report(session, markdown=REPORT)
    path = root / "report.html"
    assert result.text.startswith(f"report.html: 2 images and 1 table, {path.stat().st_size:,} b")
    assert result.text.endswith("left as links: https://example.com/x.png.")
    viewer = await Viewer.open(await chromium.new_context(), path.as_uri())
    page = viewer.page
    await page.wait_for_function("[...document.images].every((image) => image.complete)")
    widths = "[...document.images].map((image) => image.naturalWidth)"
    assert await page.evaluate(widths) == [40, 60]
    assert await viewer.page.locator("figcaption").all_inner_texts() == ["Sales by place"]
    assert await page.title() == "各地销量"
    assert await page.locator("script").count() == 0
    cells = '[...document.querySelectorAll("tbody tr:first-child td")]'
    align = f"{cells}.map((cell) => getComputedStyle(cell).textAlign)"
    assert await page.evaluate(align) == ["start", "right", "right"]
    paper = "getComputedStyle(document.body).backgroundColor"
    assert await page.evaluate(paper) == "rgb(255, 255, 255)"
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(paper) == "rgb(22, 24, 29)"
    await page.emulate_media(media="print", color_scheme="dark")
    assert await page.evaluate(paper) == "rgb(255, 255, 255)"
    assert viewer.requests == []


async def test_html_is_text_and_links_neither_run_nor_read(session: Session, root: Path) -> None:
    text = (
        '# A\n<img src=x onerror="a()">\n\n<b>bold</b> [x](javascript:a())\n\n'
        "[a](charts/sales.html#x) [d](#end) [e](file:///etc/passwd) [f](mailto:a@b.c)\n\n## End"
    )
    result = await _report(session, markdown=text)
    assert not result.is_error, result.text
    page = (root / "report.html").read_text("utf-8")
    assert "<img" not in page
    assert "&lt;img src=x onerror=&quot;a()&quot;&gt;" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    links = re.findall('<a href="([^"]+)"', page)
    assert links == ["charts/sales.html#x", "#end", "mailto:a@b.c"]
    assert '<h2 id="end">End</h2>' in page


async def test_image_paths_are_relative_to_the_file(session: Session, root: Path) -> None:
    (root / "notes/own.png").write_bytes(_png(8, 8))
    # the page of a chart is represented by its image
    text = "\ufeff# T\n![a](own.png) ![b](../charts/sales.png) ![c](charts/sales.html)"
    (root / "notes/r.md").write_text(text, "utf-8")
    result = await _report(session, source="notes/r.md", output="out/deep/r.html")
    assert result.text.startswith("out/deep/r.html: 3 images and 0 tables"), result.text
    page = (root / "out/deep/r.html").read_text("utf-8")
    sources = re.findall('src="data:image/png;base64,([^"]+)"', page)
    assert [base64.b64decode(s) for s in sources] == [_png(8, 8), _png(), _png()]


async def test_a_wrong_path_costs_a_line_and_not_the_draft(
    session: Session, root: Path, subtests: pytest.Subtests
) -> None:
    (root / "right.png").write_bytes(_png())
    for name in ("gone.png", "charts", "ftp://host/x.png", "y" * 5000):
        with subtests.test(name=name):
            result = await _report(session, markdown=f"# A\n\n![chart]({name})\n")
            assert not result.is_error
            assert name[:50] in result.text.splitlines()[-1]
            assert "[image: chart]" in (root / "report.html").read_text()
            draft = root / "report.html.md"
            draft.write_text(draft.read_text().replace(name, "right.png"))
            again = await _report(session, source="report.html.md")
            assert len(again.text.splitlines()) == 1
    result = await _report(session, markdown="See ![a chart](图 1.svg) \ud800 ![b](file:///etc/x).")
    assert "![a chart](图 1.svg), ![b](file:///etc/x). " in result.text


_WRONG_REPORTS: list[tuple[dict[str, Any], str]] = [
    ({}, "Give either `markdown`"),
    ({"markdown": "![a](../x.png)"}, "../x.png is outside the workspace"),
    ({"markdown": "![a](%2e%2e/x.png)"}, "../x.png is outside the workspace"),
    ({"markdown": "![a](leads-out/x.png)"}, "leads-out/x.png is outside the workspace"),
    ({"markdown": "![a](plain.txt)"}, "plain.txt is not an image"),
    ({"source": "gone.md"}, "Cannot read gone.md"),
    ({"source": "../r.md"}, "../r.md is outside the workspace"),
    ({"markdown": "a", "output": "r.txt"}, "`output` is r.txt"),
    ({"markdown": "a", "output": ".manus/r.html"}, "the agent's own records"),
]


async def test_reports_that_cannot_be_created_are_explained(
    session: Session, root: Path, subtests: pytest.Subtests
) -> None:
    (root / "leads-out").symlink_to(root.parent)
    (root / "plain.txt").write_text("<svgish>")
    for arguments, message in _WRONG_REPORTS:
        with subtests.test(arguments=arguments, message=message):
            result = await _report(session, **arguments)
            assert result.is_error
            assert message in result.text
            assert "\n" not in result.text
    assert not (root / "report.html").exists()
