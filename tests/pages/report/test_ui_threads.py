"""The list of threads on the page, the options of a request, and who can use it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.pages.report.chat import hold, say
from tests.pages.report.viewer import View
from tests.server import ScriptedServer, call, calls, text

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
FACTS = (Path(__file__).parent / "accessibility.js").read_text()
"""Counts what assistive technology needs in a page."""
ACCESSIBLE = {"headings": 1, "mains": 1, "nested": 0, "unnamed": 0, "outside": 0, "faint": []}


async def test_the_list_of_threads_and_the_options_of_a_request(
    manus: Program, server: ScriptedServer, view: View, subtests: pytest.Subtests
) -> None:
    write = call("str_replace_editor", command="create", path="tide.txt", file_text="high\n")
    server.script(calls(write, text="I note it."), text("Two."), text("Painted."), text("Three."))
    for name, words in (("boats", "Count the boats"), ("pier", "Paint the pier")):
        assert manus("run", "--thread", name, "--workspace", "workspace", words).code == 0
    with manus.start("ui", "--no-open", "--workspace", "workspace") as process:
        address = await asyncio.to_thread(process.line)
        page = (await view(f"{address}t/boats/")).page
        threads = page.locator("#threads li")
        for thread in manus("threads", "--json").json:
            row = threads.filter(has_text=thread["request"])
            await expect(row.locator("small")).to_contain_text(f"{thread['status']} · ")
            await expect(row.locator("small")).to_contain_text("· workspace")
        await page.get_by_label("Search threads").fill("PIER")
        await expect(threads.filter(visible=True)).to_have_count(1)
        page.on("dialog", lambda dialog: dialog.accept("The boats of March"))
        await threads.filter(visible=True).hover()
        await page.get_by_role("button", name="Delete the thread Paint the pier").click()
        await expect(threads).to_have_count(1)
        assert [one["thread_id"] for one in manus("threads", "--json").json] == ["boats"]
        await page.get_by_label("Search threads").fill("")
        await threads.hover()
        await page.get_by_role("button", name="Rename the thread Count the boats").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("The boats of March")
        await page.get_by_text("Options", exact=True).click()
        await page.get_by_label("Model").fill("other")
        await page.get_by_label("Profile").select_option("swe")
        await page.get_by_label("Approve").select_option("yolo")
        await say(page, "And now?")
        await expect(page.locator("#r2-answer")).to_contain_text("Three.")
        assert server.requests[-1].model == "other"
        [listed] = manus("threads", "--json").json
        assert (listed["profile"], listed["request"]) == ("swe", "The boats of March")
        await expect(threads.locator("span")).to_have_text("The boats of March")
        await page.get_by_text("Options", exact=True).click()
        for theme in ("Dark", "Light"):
            await page.get_by_label("Colors").select_option(theme)
            await page.reload()
            await expect(page.locator(":root")).to_have_css("color-scheme", theme.lower())
            for path in (f"t/boats/{kind}" for kind in ("", "report")):
                with subtests.test(theme=theme, path=path):
                    await page.goto(f"{address}{path}")
                    assert await page.evaluate(FACTS) == ACCESSIBLE


async def test_the_request_is_visible_at_once_and_a_plan_is_no_json(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    server.when(is_planner, makes("look"))
    server.when(is_step("look"), succeeds("Looked."))
    server.when(is_summary, text("All done."))
    with manus.start("ui", "--no-open", "--workspace", "workspace") as process:
        page = (await view(await asyncio.to_thread(process.line))).page
        await page.evaluate(
            "texts = []; new MutationObserver(() => texts.push(now.textContent))"
            ".observe(now, { childList: true, subtree: true })"
        )
        sending = asyncio.Event()
        await page.route("**/send", partial(hold, sending))
        await page.get_by_text("Plan first").click()
        await say(page, "Cross the river")
        await expect(page.locator("#sent")).to_have_text("Cross the river")
        sending.set()
        await expect(page.locator("#r1-head")).to_have_text("Cross the river")
        await expect(page.locator("#sent")).to_be_hidden()
        await page.get_by_role("button", name="Approve the plan").click()
        await expect(page.locator("#r1-answer")).to_contain_text("All done.")
        texts = await page.evaluate("texts")
    assert any("planning …" in text for text in texts)
    assert not [text for text in texts if '"steps"' in text]
