"""Browsers that are found, kept or joined, that never block, and that die or are killed."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import async_playwright

from manus.config.browser_settings import BrowserSettings
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.engine import find_browser
from tests.browser.conftest import new_session
from tests.browser.driver import Driver
from tests.browser.site import Answer, Request, Site
from tests.browser.test_files import pdf
from tests.helpers.blocking import nothing_blocks


def cookies(request: Request) -> Answer:
    has_cookie = "seen=1" in request.headers.get("Cookie", "")
    headers = {"Set-Cookie": "seen=1; Path=/; Max-Age=9999"}
    return Answer(f"<title>{'again' if has_cookie else 'first'}</title>", headers=headers)


async def test_a_profile_is_kept_and_nothing_blocks(tmp_path: Path, site: Site) -> None:
    site.pages["/"] = cookies
    site.pages["/form"] = """<label>Name<input></label><input type=file aria-label=File>
      <p>Some words.</p><a href=/get>Get</a>"""
    headers = {"Content-Disposition": "attachment; filename=x.txt"}
    site.pages["/get"] = Answer("x", headers=headers)
    site.pages["/pdf"] = Answer(pdf("Text"), type="application/pdf")
    settings = BrowserSettings(profile_dir=str(tmp_path / "profile"))
    driver = Driver(new_session(tmp_path / "w", settings))
    with nothing_blocks():
        assert "Title: first" in await driver.open(site.base)
        await driver.open(f"{site.base}/form")
        await driver.write('textbox "Name"', "x")
        await driver.say("extract_content", goal="words")
        await driver.say("screenshot", path="a.png")
        await driver.say("upload_file", index=driver.number('file field "File"'), path="a.png")
        await driver.say("click_element", index=driver.number('link "Get"'))
        await driver.open(f"{site.base}/pdf")
        await driver.fail("go_to_url", url="http://nowhere.invalid/")
        await driver.session.close()
    driver = Driver(new_session(tmp_path / "w", settings))
    assert "Title: again" in await driver.open(site.base)
    await driver.session.close()


async def test_a_running_browser_is_joined_and_left_running(tmp_path: Path, site: Site) -> None:
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
        lines = filter(re.compile(rb"DevTools listening on").search, process.stderr)
        port = (await asyncio.to_thread(next, lines)).split(b":")[2].split(b"/")[0].decode()
        site.pages["/"] = "<title>Joined</title>"
        settings = BrowserSettings(cdp_url=f"http://127.0.0.1:{port}")
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


@pytest.mark.asyncio(loop_scope="session")
async def test_the_address_bar_loads_no_pages(chromium: Chromium) -> None:
    """Playwright's own disabled features stay disabled: the last of two equal flags wins."""
    flag = "--disable-features="
    lines = [process.cmdline() for process in psutil.Process().children(recursive=True)]
    flags = next(
        [part.removeprefix(flag).split(",") for part in line if part.startswith(flag)]
        for line in lines
        if "--no-startup-window" in line
    )
    playwrights, ours = flags
    assert {*playwrights} < {*ours}
    page = await chromium.new_page()
    session = await chromium.new_browser_cdp_session()
    targets = await session.send("Target.getTargets", {"filter": [{}]})
    assert [t["url"] for t in targets["targetInfos"] if t["url"].startswith("chrome:")] == []
    await page.close()


def test_the_search_order_and_the_error_if_there_is_no_browser(tmp_path: Path) -> None:
    own, bundled = tmp_path / "own", tmp_path / "bundled"
    own.touch(0o755)
    bundled.touch()
    which = {"chromium-browser": "/somewhere/chromium-browser"}.get
    assert find_browser(str(own), str(bundled)) == str(own)
    assert find_browser(None, str(bundled), which) == str(bundled)
    assert find_browser(None, "/no", which) == "/somewhere/chromium-browser"
    with pytest.raises(ToolUnavailableError, match=r"/no/such.*playwright install chromium"):
        find_browser(None, "/no/such", lambda _: None)
    with pytest.raises(ToolUnavailableError, match="MANUS_BROWSER_PATH"):
        find_browser("/no/such", None, which)


async def test_a_browser_that_does_not_start_is_reported_in_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    broken.chmod(0o755)
    session = new_session(tmp_path / "w", BrowserSettings(path=str(broken)))
    message = await Driver(session).fail("go_to_url", url="http://127.0.0.1:1/")
    assert "\n" not in message
    await session.close()


def started_since(before: set[psutil.Process]) -> set[psutil.Process]:
    """Return our new descendants, except those of other tests, which may start at any time."""
    children = set(psutil.Process().children()) - before
    return children.union(*(process.children(recursive=True) for process in children))


async def test_a_killed_browser_is_restarted_and_closed(tmp_path: Path, site: Site) -> None:
    # a browser that was just started may be slow to open its first page
    driver = Driver(new_session(tmp_path, BrowserSettings(action_timeout=60)))
    site.pages["/"] = "<title>Home</title><button>Go</button>"
    site.pages["/never"] = Answer("late", hold=threading.Event())
    before = set(psutil.Process().children())
    await driver.open(site.base)
    first = driver.browser
    going = asyncio.ensure_future(driver.do("go_to_url", url=f"{site.base}/never"))
    async with asyncio.timeout(60):
        while "/never" not in site.paths():
            await asyncio.sleep(0.01)
    for process in started_since(before):  # like a machine that runs out of memory
        with contextlib.suppress(psutil.NoSuchProcess):
            if "chrom" in process.name().lower():
                process.kill()
    async with asyncio.timeout(60):
        assert (await going).is_error
        while not first.dead:
            await asyncio.sleep(0.01)
    assert "exited unexpectedly" in await driver.look()
    output = await driver.say("go_to_url", url=site.base)
    assert "a new one was started" in output
    assert "Title: Home" in await driver.look()
    children = started_since(before)
    assert children
    await driver.session.close()
    _, alive = await asyncio.to_thread(psutil.wait_procs, children, 60)
    assert alive == []


CHILD = """
import asyncio, sys
from manus.tools.browser.browser import obtain_browser
from manus.calls.session import Session
from manus.workspace.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1])
    workspace.prepare()
    browser, _ = await obtain_browser(Session(workspace))
    await browser.open_tab()
    print("up", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_no_process_is_left_when_we_are_killed(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == b"up\n"
        remaining = psutil.Process(child.pid).children(recursive=True)
        assert any("chrom" in process.name().lower() for process in remaining)
        for process in remaining:  # nor can the driver shut down cleanly
            if "node" in process.name().lower():
                process.kill()
        child.send_signal(signal.SIGKILL)
        await asyncio.to_thread(child.wait)
        _, alive = await asyncio.to_thread(psutil.wait_procs, remaining, 60)
        assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        child.kill()
        if child.stdout is not None:
            child.stdout.close()
