"""Browsers and sessions: apart from one another, kept, joined, asked, never blocking."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from manus.state.browser_settings import BrowserSettings
from tests.browser.conftest import new_session
from tests.browser.driver import Driver
from tests.browser.site import Answer, Request, Site


def cookies(request: Request) -> Answer:
    known = "seen=1" in request.headers.get("Cookie", "")
    headers = {"Set-Cookie": "seen=1; Path=/; Max-Age=9999"}
    return Answer(f"<title>{'again' if known else 'first'}</title>", headers=headers)


async def test_a_profile_that_is_kept(tmp_path: Path, site: Site) -> None:
    site.pages["/"] = cookies
    settings = BrowserSettings(profile_dir=str(tmp_path / "profile"))
    for title in ("first", "again"):
        driver = Driver(new_session(tmp_path / "w", settings))
        assert f"Title: {title}" in await driver.open(site.base)
        await driver.session.close()


async def test_a_running_browser_is_joined_and_left_running(tmp_path: Path, site: Site) -> None:
    from playwright.async_api import async_playwright

    from manus.tools.browser.engine import find_browser

    async with async_playwright() as playwright:
        program = find_browser(None, playwright.chromium.executable_path)
    process = subprocess.Popen(
        [program, "--headless", "--no-sandbox", "--remote-debugging-port=0",
         f"--user-data-dir={tmp_path / 'data'}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        port = await asyncio.to_thread(_port, process.stderr)
        site.pages["/"] = "<title>Joined</title>"
        settings = BrowserSettings(cdp_url=f"http://127.0.0.1:{port}")
        for _ in range(2):
            driver = Driver(new_session(tmp_path / "w", settings))
            assert "Title: Joined" in await driver.open(site.base)
            assert "egress" in await driver.fail("go_to_url", url="http://10.0.0.1/")
            await driver.session.close()
        assert process.poll() is None
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _port(stream: Any) -> str:
    for line in stream:
        if b"DevTools listening on" in line:
            return str(line.decode().split(":")[2].split("/")[0])
    raise AssertionError("the browser did not start")


BLOCKED = """
import asyncio, sys
from pathlib import Path
from blockbuster import BlockBuster
from tests.browser.conftest import new_session
from tests.browser.driver import Driver

async def main(session, base):
    driver = Driver(session)
    await driver.open(base)
    await driver.write('textbox "Name"', "x")
    await driver.say("extract_content", goal="words")
    await driver.say("screenshot", path="a.png")
    await driver.say("upload_file", index=driver.number('file field "File"'), path="a.png")
    await driver.say("click_element", index=driver.number('link "Get"'))
    await driver.open(base + "/pdf")
    await driver.fail("go_to_url", url="http://nowhere.invalid/")
    await session.close()

session = new_session(Path(sys.argv[1]))
import manus.tools.browser.act  # imports are not what is tested
guard = BlockBuster()
guard.activate()
guard.functions["os.stat"].deactivate()  # as the LangGraph server has it
asyncio.run(main(session, sys.argv[2]))
print("done")
"""


async def test_nothing_blocks_the_event_loop(tmp_path: Path, site: Site) -> None:
    from tests.browser.test_files import pdf

    headers = {"Content-Disposition": "attachment; filename=x.txt"}
    site.pages["/"] = """<label>Name<input></label><input type=file aria-label=File>
      <p>Some words.</p><a href=/get>Get</a>"""
    site.pages["/get"] = Answer("x", headers=headers)
    site.pages["/pdf"] = Answer(pdf("Text"), type="application/pdf")
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", BLOCKED, str(tmp_path), site.base],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=100,
    )
    assert done.stdout.strip() == "done", done.stderr[-3000:]
