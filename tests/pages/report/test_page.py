"""The page in a real browser: it makes no external requests, and follows a run."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.cli.program import Program
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
from tests.pages.report.viewer import View
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
    """Provide the address of the page of a thread with two runs, all of whose texts are hostile."""
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
            result = await asyncio.to_thread(manus, "run", "--thread", "t", request)
            assert result.code == 0, result.err
        yield await render_page(manus, "t")
        server.verify()
        manus.end_leftovers()


async def render_page(manus: Program, thread: str) -> str:
    result = await asyncio.to_thread(manus, "report", thread, "-o", "run.html")
    assert result.code == 0, result.err
    return (manus.home / "run.html").as_uri()


async def test_it_requests_nothing_and_runs_nothing(
    hostile: str, view: View, subtests: pytest.Subtests
) -> None:
    viewer = await view(hostile)
    page = viewer.page
    await page.locator("#unfold").click()
    await page.wait_for_load_state("load")
    assert (viewer.requests, viewer.complaints) == ([], [])
    assert await page.evaluate("window.pwned") is None
    assert (await page.title()).startswith("<script>window.pwned=1</script>")
    pictures = page.locator("img")  # the image that the run created, not the one that only names it
    assert await pictures.evaluate_all("all => all.map(one => one.naturalWidth)") == [1]
    links = await page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert {link[:1] for link in links if not link.startswith("http://127.0.0.1:9")} == {"#"}
    assert "旅行" in await page.locator("#r2 .request").first.inner_text()
    for width in (1280, 390):
        with subtests.test(width=width):
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
    result = await asyncio.to_thread(manus, "flow", "--json", "--thread", "f", "do three things")
    assert (result.code, result.json["stop_reason"]) == (1, "plan_incomplete"), result.err
    viewer = await view(await render_page(manus, "f"))
    page = viewer.page
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
    assert (viewer.requests, viewer.complaints) == ([], [])


async def test_it_follows_a_run_of_another_process(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    manus.workspace.mkdir()
    os.mkfifo(manus.workspace / "go")
    server.script(
        calls(call("bash", command="echo begun"), text="First."),
        calls(call("bash", command="read x < go; echo gone on"), text="Second."),
        text("The end."),
    )
    with manus.start("watch", "t") as watcher:
        address = await asyncio.to_thread(watcher.line)
        watcher.expect("There is no thread t in ")
        viewer = await view(address)
        page = viewer.page
        await expect(page.locator("#main")).to_contain_text("has no runs yet")
        with manus.start("run", "--thread", "t", "work") as run:
            second = page.locator("#r1-s2")
            await expect(second).to_contain_text("Second.")
            await expect(second).to_contain_text("no result yet")
            await expect(page.locator(".pill").first).to_have_text("Running")
            await page.locator("#r1-s1 summary").click()
            await asyncio.to_thread((manus.workspace / "go").write_text, "on\n")
            assert (await asyncio.to_thread(run.end)).code == 0
        await expect(page.locator("#r1-answer")).to_contain_text("The end.")
        await expect(page.locator(".pill").first).to_have_text("Finished")
        await expect(second).to_contain_text("gone on")
        # unfolded parts stay unfolded
        assert await page.locator("#r1-s1 pre.observation").is_visible()
        assert viewer.complaints == []
        assert viewer.requests == []
        watcher.send_signal(signal.SIGINT)
        result = await asyncio.to_thread(watcher.end)
        assert (result.code, "Traceback" in result.err) == (130, False)
        await expect(page.locator("#live")).to_have_text("no longer live")
