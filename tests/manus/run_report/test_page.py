"""The page in a real browser: it asks nobody for anything, and does what it offers."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.flow.helpers import (
    free,
    gives_up,
    is_planner,
    is_step,
    is_summary,
    makes,
    revises,
    succeeds,
)
from tests.helpers.tools import RED_DOT
from tests.manus.program import Program
from tests.manus.run_report.viewer import View
from tests.server import Call, ScriptedServer, call, calls, text

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


EVIL = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1></script></title></pre>"
    "[x](javascript:window.pwned=1) ![p](http://127.0.0.1:9/x.png) 旅行 \x1b[31mred"
)

BACKGROUND = "getComputedStyle(document.body).backgroundColor"

DRAW = f"""
import base64
open("chart.png", "wb").write(base64.b64decode("{RED_DOT}"))
open("fake.png", "w").write("<svg onload=alert(1)>")
"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of the page of a thread with two runs; all that can be said is hostile."""
    with ScriptedServer() as server:
        model = {"MANUS_BASE_URL": server.base_url, "MANUS_MODEL": "scripted"}
        manus = Program(tmp_path_factory.mktemp("hostile"), model)
        server.script(
            text("An earlier answer."),
            calls(
                call("str_replace_editor", command="create", path="a.html", file_text=EVIL),
                call("bash", command=f"printf '%s' '{EVIL}'; echo needle"),
                Call("nothing", "{broken" + EVIL),
                text=f"# First\n\n{EVIL}",
            ),
            calls(call("python_execute", code=DRAW), text="Second."),
            text(f"**The end.** {EVIL}"),
        )
        for request in ("An earlier request.", EVIL):
            done = await asyncio.to_thread(manus, "run", "--thread", "t", request)
            assert done.code == 0, done.err
        yield await page_of(manus, "t")
        server.verify()
        manus.end_leftovers()


async def page_of(manus: Program, thread: str) -> str:
    done = await asyncio.to_thread(manus, "report", thread, "-o", "run.html")
    assert done.code == 0, done.err
    return (manus.home / "run.html").as_uri()


async def test_it_asks_for_nothing_and_runs_nothing(hostile: str, view: View) -> None:
    seen = await view(hostile)
    page = seen.page
    await page.locator("#unfold").click()
    await page.wait_for_load_state("load")
    assert (seen.requests, seen.complaints) == ([], [])
    assert await page.evaluate("window.pwned") is None
    assert (await page.title()).startswith("<script>window.pwned=1</script>")
    pictures = page.locator("img")  # the one that the run drew, and none that it only named so
    assert await pictures.evaluate_all("all => all.map(one => one.naturalWidth)") == [1]
    links = await page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert {link[:1] for link in links if not link.startswith("http://127.0.0.1:9")} == {"#"}
    assert "旅行" in await page.locator("#r2 .request").first.inner_text()
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    light = await page.evaluate(BACKGROUND)
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(BACKGROUND) != light


async def test_a_link_to_a_step_unfolds_an_earlier_run(hostile: str, view: View) -> None:
    step = (await view(f"{hostile}#r1-s1")).page.locator("#r1-s1")
    assert await step.is_visible()
    assert "An earlier answer." in await step.inner_text()


async def test_the_plan_of_a_flow(manus: Program, server: ScriptedServer, view: View) -> None:
    server.when(is_planner, makes(free("[swe] alpha"), free("[swe] beta"), free("gamma", 0, 1)))
    server.when(is_step("alpha"), calls(call("bash", command="echo a")), succeeds("Alpha."))
    server.when(is_step("beta"), gives_up("It is closed."))
    again = revises(free("[swe] alpha"), free("[swe] delta"), free("gamma", 0, 1))
    server.when(is_planner, again, text("No."), text("No."))
    server.when(is_step("delta"), gives_up("It is closed, too."))
    server.when(is_summary, text("Half of it."))
    done = await asyncio.to_thread(manus, "flow", "--json", "--thread", "f", "do three things")
    assert (done.code, done.json["stop_reason"]) == (1, "plan_incomplete"), done.err
    seen = await view(await page_of(manus, "f"))
    page = seen.page
    rows = await page.locator(".timeline .row .name:visible").all_inner_texts()
    assert rows[0].strip() == "Plan"
    assert any("Revised plan" in row for row in rows)
    assert any("alpha" in row and "swe" in row for row in rows)
    assert any("gamma" in row and "after 0, 1" in row for row in rows)
    assert await page.locator(".timeline rect.whole.blocked").count() == 2
    assert await page.locator(".timeline rect.whole.completed").count() == 1
    assert "It is closed." in await page.locator("#r1-work").inner_text()
    await page.locator(".timeline a", has_text="alpha").first.click()
    assert await page.locator("article.planstep:target").count() == 1
    assert (seen.requests, seen.complaints) == ([], [])
