"""`manus watch`: the page follows a run of another process."""

import asyncio
import os
import signal

import pytest
from playwright.async_api import expect

from tests.manus.program import Program
from tests.manus.run_report.viewer import View
from tests.server import ScriptedServer, call, calls, text

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


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
        seen = await view(address)
        page = seen.page
        await expect(page.locator("#main")).to_contain_text("Nothing has been done")
        with manus.start("run", "--thread", "t", "work") as run:
            second = page.locator("#r1-s2")
            await expect(second).to_contain_text("Second.")
            await expect(second).to_contain_text("no answer yet")
            await expect(page.locator(".pill").first).to_have_text("Running")
            await page.locator("#r1-s1 summary").click()
            await asyncio.to_thread((manus.workspace / "go").write_text, "on\n")
            assert (await asyncio.to_thread(run.end)).code == 0
        await expect(page.locator("#r1-answer")).to_contain_text("The end.")
        await expect(page.locator(".pill").first).to_have_text("Finished")
        await expect(second).to_contain_text("gone on")
        # what was unfolded stays so
        assert await page.locator("#r1-s1 pre.observation").is_visible()
        assert seen.complaints == []
        assert seen.requests == []
        watcher.send_signal(signal.SIGINT)
        ended = await asyncio.to_thread(watcher.end)
        assert (ended.code, "Traceback" in ended.err) == (130, False)
        await expect(page.locator("#live")).to_have_text("no longer live")
