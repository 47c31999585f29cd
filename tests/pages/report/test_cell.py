"""A run in a notebook's output cell, in a real browser with scripts disabled."""

from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from playwright.async_api import expect

from manus import build_agent
from manus.config.context import Context
from manus.notebook import show_run
from manus.scripted import ScriptedModel, call, calls, text
from tests.helpers.tools import RED_DOT
from tests.pages.report.viewer import View

pytestmark = pytest.mark.asyncio(loop_scope="session")

DRAW = f"import base64; open('dot.png', 'wb').write(base64.b64decode('{RED_DOT}')); print('drawn')"


async def test_steps_fold_and_nothing_is_loaded(tmp_path: Path, view: View) -> None:
    model = ScriptedModel()
    model.script(
        calls(
            call("str_replace_editor", command="create", path="a.txt", file_text="one\ntwo\n"),
            call("python_execute", code=DRAW),
            text="I write two lines and draw a dot.",
        ),
        call("str_replace_editor", command="view", path="dot.png"),
        text("**Both** are there."),
    )
    agent = build_agent("manus", model=model, checkpointer=InMemorySaver())
    result = await agent.ainvoke(
        {"request": "Write and draw."},
        {"configurable": {"thread_id": "t"}},
        context=Context(workspace=str(tmp_path / "work"), conversation=True),
    )
    html = show_run(result)._repr_html_()
    assert html is not None
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><meta charset=utf-8><body>{html}", "utf-8")

    viewed = await view(cell.as_uri(), java_script_enabled=False)
    page = viewed.page
    await expect(page.locator(".summary")).to_contain_text("finished · answered")
    observation = page.locator(".observation", has_text="drawn")
    await expect(observation).to_be_hidden()
    await page.locator("details.step > summary").first.click()
    await page.locator("details.call > summary", has_text="python_execute").click()
    await expect(observation).to_be_visible()
    await page.locator("details.call > summary", has_text="str_replace_editor").first.click()
    await expect(page.locator(".call .diff .a").first).to_have_text("+one")
    await page.locator("details.step > summary").nth(1).click()
    await expect(page.locator(".step .picture img")).to_be_visible()
    await expect(page.locator(".answer strong")).to_have_text("Both")
    assert (viewed.requests, viewed.complaints) == ([], [])
