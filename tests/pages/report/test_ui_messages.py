"""Messages sent on the page during a run: read at the next step, queued, withdrawn."""

import asyncio
import os
from functools import partial

import pytest
from playwright.async_api import expect

from tests.cli.program import Program
from tests.helpers.pause import Pause
from tests.pages.report.chat import hold, say
from tests.pages.report.viewer import View
from tests.server import ScriptedServer, call, text

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

LOOKS = call("bash", command="true")


async def test_the_composer_is_usable_during_a_run(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    pause = Pause()
    server.script(pause.before(LOOKS), pause.before(text("Done.")), text("Swept."))
    with manus.start("ui", "--no-open", "--workspace", "workspace") as process:
        viewer = await view(await asyncio.to_thread(process.line))
        page = viewer.page
        await say(page, "Do it")
        await server.wait_async(1)
        await expect(page.get_by_role("button", name="Send now")).to_be_enabled()
        await say(page, "use tabs 世界")
        unread = page.locator(".unread")
        await expect(unread).to_contain_text("At the next step")
        typed = asyncio.Event()
        await page.route("**/send", partial(hold, typed))
        await page.get_by_label("Message").fill("then sweep")
        await page.get_by_role("button", name="After this run").click()
        await say(page, "forget this")  # while the previous one is in transit
        typed.set()
        await expect(unread).to_have_count(3)
        if folder := os.environ.get("SCREENSHOTS"):
            await page.screenshot(path=f"{folder}/unread.png")
        await unread.nth(2).get_by_role("button", name="Withdraw").click()
        await expect(unread).to_have_count(2)
        await expect(page.get_by_label("Message")).to_have_value("")
        pause.end()
        await expect(unread.first).to_contain_text("Read now")
        await expect(unread.get_by_role("button", name="Withdraw")).to_have_count(1)
        pause.end()
        await expect(page.locator("#r1 > .asked").nth(1)).to_have_text("use tabs 世界")
        await expect(page.locator("#r2-answer")).to_contain_text("Swept.")
        await expect(page.locator("#r2-head")).to_contain_text("then sweep")
        await expect(unread).to_have_count(0)
        await expect(page.get_by_role("button", name="After this run")).to_be_hidden()
        if folder:
            await page.locator("#r1-g0-sum").click()
            await page.screenshot(path=f"{folder}/read.png", full_page=True)
        assert viewer.complaints == []
    messages = [str(m["content"]) for m in server.requests[-1].messages if m["role"] == "user"]
    assert sum("use tabs" in words for words in messages) == 1
    assert "forget this" not in server.requests[-1].text


async def test_a_run_of_another_process_gets_messages_too(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    pause = Pause()
    server.script(pause.before(LOOKS), text("Done."))
    with (
        manus.start("ui", "--no-open", "--workspace", "workspace") as process,
        manus.start("run", "--thread", "t", "do it") as run,
    ):
        address = await asyncio.to_thread(process.line)
        await server.wait_async(1)
        page = await view(f"{address}t/t/")
        await say(page.page, "use tabs")
        await expect(page.page.locator(".unread")).to_contain_text("use tabs")
        pause.end()
        assert (await asyncio.to_thread(run.end)).out == "Done.\n"
        await expect(page.page.locator("#r1 > .asked").nth(1)).to_contain_text("use tabs")
    assert server.requests[-1].raw.decode().count("use tabs") == 1
