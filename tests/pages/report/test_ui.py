"""`manus ui`: the page on which a person talks to the agent, in a real browser."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.pages.report.viewer import View
from tests.server import ScriptedServer, call, calls, text

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


async def say(page: Page, words: str) -> None:
    await page.get_by_label("Message").fill(words)
    await page.get_by_label("Message").press("Enter")


async def test_a_conversation(manus: Program, server: ScriptedServer, view: View) -> None:
    server.script(
        calls(
            call("str_replace_editor", command="create", path="tide.txt", file_text="high\n"),
            text="I write it down.",
        ),
        calls(call("ask_human", inquire="Which tide?")),
        text("The tide is **high**."),
        text("Nothing more."),
        text("Another way."),
    )
    server.when(is_planner, makes("look", "leap"))
    server.when(is_step("look twice"), succeeds("Looked."))
    server.when(is_summary, text("Looked twice."))
    with manus.start("ui", "--no-open", "--workspace", "workspace") as server_process:
        address = await asyncio.to_thread(server_process.line)
        viewer = await view(address)
        page = viewer.page
        await page.locator("#files").set_input_files(
            {"name": "sea.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
        )
        await expect(page.locator("#attached button")).to_have_count(1)
        await say(page, "What about the tide?")
        # a question, and its answer
        ask = page.locator(".ask")
        await expect(ask).to_contain_text("Which tide?")
        assert (manus.workspace / "uploads" / "sea.csv").read_text() == "a,b\n1,2\n"
        await expect(page.get_by_role("textbox")).to_have_count(1)
        await page.get_by_label("Your answer").fill("the next one")
        await page.get_by_label("Your answer").press("Enter")
        await expect(page.locator("#r1-answer strong")).to_have_text("high")
        await expect(page.locator("#r1-state .pill")).to_have_text("Finished")
        await expect(page.locator("#r1 .answered")).to_have_text("Which tide? the next one")
        assert "sea.csv" in str(server.requests[0].body["messages"])
        assert "the next one" in str(server.requests[-1].body["messages"])
        # a created file, to be downloaded
        async with page.expect_download() as download:
            await page.locator(".path", has_text="tide.txt").click()
        assert (await (await download.value).path()).read_text() == "high\n"
        # on the same thread
        await page.get_by_label("Message").fill("And then?")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#r2-answer")).to_contain_text("Nothing more.")
        await expect(page.locator(".here")).to_contain_text("What about the tide?")
        # from an earlier step
        await page.reload()
        await page.locator("#r1-g0-sum").click()
        await page.locator("#r1-s2 .fork").click()
        await say(page, "Otherwise")
        await expect(page.locator("#r2-answer")).to_contain_text("Another way.")
        messages = str(server.requests[-1].body["messages"])
        assert "I write it down." in messages
        assert "And then?" not in messages
        # a plan, which is edited before it is executed
        await page.goto(address)
        await page.get_by_text("Plan first").click()
        await say(page, "Cross it")
        await page.get_by_text("Edit", exact=True).click()
        await expect(page.locator("#words")).to_be_hidden()
        await expect(page.get_by_label("steps")).to_have_value("look\nleap")
        await page.get_by_label("steps").fill("look twice")
        await page.get_by_role("button", name="Approve with these changes").click()
        await expect(page.locator("#r1-answer")).to_contain_text("Looked twice.")
        await expect(page.locator("#r1-plan li")).to_have_text(["look twice"])
        assert viewer.complaints == []


async def test_approve_stop_and_resume_after_a_kill(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    manus.workspace.mkdir()
    os.mkfifo(manus.workspace / "go")
    (manus.workspace / "sea.html").write_text("<h1>The sea</h1>")
    sea = (manus.workspace / "sea.html").as_uri()
    server.script(
        calls(call("str_replace_editor", command="create", path=".env", file_text="A=1\n")),
        calls(call("browser_use", action="go_to_url", url=sea)),
        calls(call("bash", command="echo begun; read x < go")),
        text("Gone on."),
    )
    with manus.start("ui", "--no-open", "--workspace", "workspace") as first:
        viewer = await view(await asyncio.to_thread(first.line))
        page = viewer.page
        await say(page, "Do it")
        await page.get_by_text("Edit", exact=True).click()
        await expect(page.get_by_label("file_text")).to_have_value("A=1\n")
        await page.get_by_label("file_text").fill("B=2\n")
        await page.get_by_role("button", name="Approve with these changes").click()
        await expect(page.locator("#text")).to_have_text("begun")
        assert (manus.workspace / ".env").read_text() == "B=2\n"
        screen = page.locator("#screen")
        await expect(screen).to_be_visible()
        assert await screen.evaluate("image => image.naturalWidth") > 200
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_role("button", name="Continue")).to_be_visible()
        await expect(page.locator("#r1-state")).to_contain_text("Stopped by you")
        await expect(page.locator("#r1 .answered")).to_contain_text("Edited")
        thread = urlsplit(page.url).path.split("/")[-2]
    with manus.start("ui", "--no-open", "--workspace", "workspace") as second:
        address = await asyncio.to_thread(second.line)
        page = (await view(f"{address}t/{thread}/")).page
        late = f"{address}t/{thread}/answer", {"answers": {"0" * 32: "yes"}}
        answered = await page.request.post(late[0], data=late[1])
        assert (answered.status, "no longer open" in await answered.text()) == (409, True)
        await page.get_by_role("button", name="Continue").click()
        await expect(page.locator("#r1-answer")).to_contain_text("Gone on.")


async def test_a_server_that_dies_loses_nothing_and_comes_back_at_its_address(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    manus.workspace.mkdir()
    (manus.workspace / "app.py").write_text("print(1)\n")
    server.script(
        calls(call("str_replace_editor", command="create", path=".env", file_text="A=1\n")),
        text("Written."),
    )
    with manus.start("ui", "--no-open", "--workspace", "workspace") as first:
        address = await asyncio.to_thread(first.line)
        page = (await view(address)).page
        await page.locator("#files").set_input_files(
            {"name": "app.py", "mimeType": "text/x-python", "buffer": b"print(1)\n"}
        )
        await say(page, "Do it")
        question = page.locator(".ask .words")
        await expect(question).to_contain_text("May the agent call `str_replace_editor`?")
        await expect(question).not_to_contain_text("Answer `yes`")
        assert sorted(path.name for path in manus.workspace.glob("*.py")) == ["app.py"]
        assert not (manus.workspace / "uploads").exists()
        await page.get_by_label("Your answer").fill("no: later")
        first.send_signal(signal.SIGKILL)
        await expect(page.locator("#told")).to_contain_text("The server has stopped.")
    with manus.start("ui", "--no-open", "--workspace", "workspace") as second:
        assert await asyncio.to_thread(second.line) == address
        await expect(page.locator("#told")).to_have_text("")
        await page.reload()
        await expect(page.get_by_label("Your answer")).to_have_value("no: later")
        await page.get_by_role("button", name="Yes", exact=True).click()
        await expect(page.locator("#r1-answer")).to_contain_text("Written.")
    assert (manus.workspace / ".env").read_text() == "A=1\n"


async def test_nobody_else_can_use_it(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    with manus.start("ui", "--no-open") as process:
        address = await asyncio.to_thread(process.line)
        here = urlsplit(address)
        assert here.hostname == "127.0.0.1"
        assert len(here.path) > 20
        evil = {"Origin": "http://evil.example"}
        async with httpx.AsyncClient(base_url=f"http://{here.netloc}", timeout=60) as client:
            for path, headers, code in (
                (here.path, {}, 307),
                ("/", {}, 404),
                ("/wrong/t/abc/", {}, 404),
                (here.path, {"Host": f"evil.example:{here.port}"}, 403),
                (here.path, {"Host": "127.0.0.1"}, 403),
            ):
                with subtests.test(path=path, headers=headers):
                    assert (await client.get(path, headers=headers)).status_code == code
            response = await client.post(
                f"{here.path}t/abc/send", json={"text": "hi"}, headers=evil
            )
            answered = await client.post(f"{here.path}t/abc/answer", json=[1])
        assert (response.status_code, answered.status_code) == (403, 409)
        assert server.requests == []


ANSWER = r"""The area is $a^2 \le \frac{b}{2}$, as in [the data](data.csv) and https://example.org/a_b.

| name | amount |
|:--|--:|
| tide | 12 |

- [x] measured

Checked twice[^1].

[^1]: On Monday.

```python
def area(side: int) -> int:
    return side**2  # squared
```

![the chart](chart.png) ![elsewhere](https://example.org/b.png) ![no such file](gone.png)
"""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_an_answer_is_rendered_without_breaking_the_policy_of_the_page(
    manus: Program, server: ScriptedServer, view: View
) -> None:
    manus.workspace.mkdir()
    (manus.workspace / "chart.png").write_bytes(PIXEL)
    (manus.workspace / "data.csv").write_text("a,b\n1,2\n")
    server.script(text(ANSWER))
    with manus.start("ui", "--no-open", "--workspace", "workspace") as process:
        viewer = await view(await asyncio.to_thread(process.line))
        page = viewer.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await say(page, "What about the tide?")
        answer = page.locator("#r1-answer")
        await expect(answer.locator(".hl-k").first).to_have_text("def")
        await expect(answer.locator("math mfrac")).to_have_count(1)
        await expect(answer.get_by_role("checkbox", name="measured")).to_be_checked()
        await expect(answer.locator(".footnotes")).to_contain_text("On Monday.")
        await expect(answer.locator("td.right")).to_have_css("text-align", "right")
        await expect(answer.locator("a[href='https://example.org/a_b']")).to_have_count(1)
        await expect(answer.get_by_text("[image: no such file]")).to_be_visible()
        image = answer.locator("img")
        await expect(image).to_have_count(1)
        assert await image.evaluate("one => one.decode().then(() => one.naturalWidth)") == 1
        async with page.expect_download() as download:
            await answer.get_by_text("the data").click()
        assert (await (await download.value).path()).read_text() == "a,b\n1,2\n"
        await answer.get_by_role("button", name="Copy").click()
        await expect(answer.get_by_role("button", name="Copied")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert copied == "def area(side: int) -> int:\n    return side**2  # squared\n"
        sizes = "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        [code] = await answer.locator("pre code").evaluate_all(sizes)
        prose = (await answer.locator("p").evaluate_all(sizes))[0]
        assert code >= 0.9 * prose
        assert viewer.complaints == []
    thread = urlsplit(page.url).path.split("/")[-2]
    report = manus.home / "report.html"
    assert manus("report", thread, "-o", str(report)).code == 0
    static = await view(report.as_uri())
    await expect(static.page.locator(".answer img[src^='data:image/png']")).to_have_count(1)
    assert (static.complaints, static.requests) == ([], [])
