"""The picture beside each step of the browser: on the page, in the report, and deleted again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.site import Site
from tests.cli.program import Program
from tests.pages.report.viewer import View
from tests.server import ScriptedServer, call

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
FORM = """<title>Pier</title><h1>The pier</h1>
<button style="margin: 200px; width: 200px; height: 80px" onclick="this.textContent = 'Painted'">
Paint it</button>"""
CENTER = """svg => { const circle = svg.querySelector("circle").getBoundingClientRect();
  const picture = svg.parentElement.querySelector("img").getBoundingClientRect();
  return [(circle.x + circle.width / 2 - picture.x) / picture.width * 1280,
    (circle.y + circle.height / 2 - picture.y) / picture.height * 800].map(Math.round); }"""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def stored(manus: Program) -> list[Path]:
    return sorted((manus.home / ".local").rglob("pictures/*/*.jpg"))


async def test_a_picture_of_each_step_is_kept_and_deleted(
    manus: Program, server: ScriptedServer, site: Site, view: View
) -> None:
    site.pages["/"] = FORM
    look = call("browser_use", action="go_to_url", url=site.base)
    click = call("browser_use", action="click_element", index=1)
    wait = call("browser_use", action="wait", seconds=0)
    done = call("terminate", status="success", answer="Painted.")
    server.script(look, click, wait, wait, done)
    (manus.home / "manus.toml").write_text('[egress]\nallow_private = ["127.0.0.1"]\n')
    words = ("run", "--thread", "pier", "--profile", "browser", "Paint the pier")
    assert manus(*words, MANUS_VISION="false").code == 0
    files = stored(manus)
    assert len(files) == 3, "those of the two waits are the same"
    assert all(0 < file.stat().st_size <= 60_000 for file in files)

    assert manus("report", "pier", "-o", "report.html").code == 0
    report = (manus.home / "report.html").as_uri()
    with manus.start("ui", "--no-open") as process:
        address = f"{await asyncio.to_thread(process.line)}t/pier/"
        for url in (report, address):
            viewer = await view(url)
            await viewer.page.evaluate(
                "document.querySelectorAll('details').forEach(d => d.open = true)"
            )
            pictures = viewer.page.locator(".picture.view img")
            await expect(pictures).to_have_count(3)
            for number in range(3):
                await pictures.nth(number).scroll_into_view_if_needed()
                await expect(pictures.nth(number)).to_have_js_property("naturalWidth", 720)
            x, y = await viewer.page.locator(".picture.view svg").evaluate(CENTER)
            assert (x, 280 < y < 360) == (308, True), "the middle of the button"
            assert viewer.complaints == []
    assert manus("threads", "--delete", "pier").code == 0
    assert stored(manus) == []


async def test_none_is_kept_where_a_secret_could_be_in_it(
    manus: Program, server: ScriptedServer, site: Site
) -> None:
    site.pages["/"] = FORM
    server.script(
        call("browser_use", action="go_to_url", url=site.base),
        call("terminate", status="success", answer="Seen."),
    )
    settings = '[egress]\nallow_private = ["127.0.0.1"]\n[secrets.pier]\nenv = "PIER"\n'
    (manus.home / "manus.toml").write_text(f'{settings}host = "127.0.0.1"\n')
    words = ("run", "--profile", "browser", "Look at the pier")
    assert manus(*words, MANUS_VISION="false", PIER="blue-door-17").code == 0
    assert stored(manus) == []
