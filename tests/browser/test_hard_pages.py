"""Pages that never answer, never end, loop, crash or flood; and browsers that die."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from manus.state.browser_settings import BrowserSettings
from tests.browser.conftest import new_session
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.slow

LIMIT = 6.0


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[Driver]:
    session = new_session(tmp_path, BrowserSettings(action_timeout=LIMIT))
    yield Driver(session)
    await session.close()


async def answers(driver: Driver, site: Site) -> None:
    """The next action works, and within its time."""
    site.pages["/fine"] = "<title>Fine</title><button onclick='this.textContent=1'>Go</button>"
    async with asyncio.timeout(4 * LIMIT):
        assert "Title: Fine" in await driver.open(f"{site.base}/fine")
        await driver.click('button "Go"')


async def test_a_server_that_never_answers(driver: Driver, site: Site) -> None:
    site.pages["/never"] = Answer("late", hold=threading.Event())
    site.pages["/"] = "<a href=/never>Never</a>"
    said = await driver.fail("go_to_url", url=f"{site.base}/never")
    assert "did not answer within 3.6 s; loading was stopped" in said
    await driver.open(site.base)
    said = await driver.click('link "Never"')
    assert "The server did not answer within 3.6 s; loading was stopped." in said
    assert '"Never"' in driver.text
    await answers(driver, site)


async def test_a_page_that_never_ends(driver: Driver, site: Site) -> None:
    site.pages["/"] = Answer("<title>Drip</title><button>Early</button>" + " " * 2000, trickle=True)
    await driver.say("go_to_url", url=site.base)
    text = await driver.look()
    assert '"Early"' in text
    assert "It is still loading." in text
    await answers(driver, site)


async def test_a_script_that_never_ends(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<button onclick='for(;;);'>Loop</button>"
    await driver.open(site.base)
    said = await driver.fail("click_element", index=1)
    assert "A script of the page ran without end and was stopped" in said
    assert '"Loop"' in await driver.look()
    await answers(driver, site)


async def test_a_page_that_loops_from_the_start(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>L</title><p>Before</p><script>for(;;);</script><p>After</p>"
    await driver.do("go_to_url", url=site.base)
    await driver.look()
    await answers(driver, site)


async def test_a_page_that_loops_again_and_again(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p>x</p><script>setInterval(() => { for(;;); }, 1)</script>"
    await driver.do("go_to_url", url=site.base)
    await driver.look()
    await driver.do("click_at", x=10, y=10)
    await answers(driver, site)


async def test_alerts_without_end(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<button onclick='for(;;) alert(1)'>Flood</button>"
    await driver.open(site.base)
    said = await driver.fail("click_element", index=1)
    assert "The page opened dialogs without end, so it was closed" in said
    assert len(said) < 500
    await answers(driver, site)


async def test_a_page_that_crashes(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p>x</p>"
    await driver.open(site.base)
    tab = driver.browser.active
    assert tab is not None
    cdp = await tab.cdp()
    assert cdp is not None
    crash = asyncio.ensure_future(cdp.send("Page.crash"))
    async with asyncio.timeout(60):
        await tab.trouble.wait()
    crash.cancel()
    assert "The page has crashed" in await driver.look()
    said = await driver.say("go_to_url", url=site.base)
    assert "The page had crashed; its tab was replaced by an empty one." in said
    await answers(driver, site)


async def test_fifty_thousand_nodes(tmp_path: Path, site: Site) -> None:
    session = new_session(tmp_path)
    driver = Driver(session)
    rows = "".join(f"<li><a href=/{n}>Link {n}</a></li>" for n in range(25_000))
    site.pages["/"] = f"<title>Big</title><ul>{rows}</ul>"
    text = await driver.open(site.base)
    assert '"Link 0"' in text
    assert len(text) < 8_300
    assert "elements)" in text
    assert "Link 24000" in await driver.say("extract_content", goal="link 24000")
    await answers(driver, site)
    await session.close()


async def test_requests_and_changes_without_end(driver: Driver, site: Site) -> None:
    site.pages["/poll"] = Answer("never", hold=threading.Event())
    site.pages["/"] = """<button>Go</button><p id=p></p><script>
      setInterval(() => { fetch("/poll"); p.textContent += "." }, 20)</script>"""
    async with asyncio.timeout(3 * LIMIT):
        await driver.open(site.base)
        await driver.click('button "Go"')
    await answers(driver, site)


def chromium_of(parent: int) -> list[psutil.Process]:
    children = psutil.Process(parent).children(recursive=True)
    return [p for p in children if "chrom" in p.name().lower()]


async def test_a_browser_that_was_killed_is_started_anew(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>Home</title><button>Go</button>"
    await driver.open(site.base)
    first = driver.browser
    for process in chromium_of(os.getpid()):
        process.kill()
    async with asyncio.timeout(60):
        while not first.dead:
            await asyncio.sleep(0.01)
    assert "The browser has ended by itself" in await driver.look()
    said = await driver.say("go_to_url", url=site.base)
    assert said.startswith("The browser had ended by itself, so a new one was started")
    assert f"It showed {site.base}/." in said
    await answers(driver, site)


async def test_killed_in_the_middle_of_an_action(driver: Driver, site: Site) -> None:
    site.pages["/never"] = Answer("late", hold=threading.Event())
    await driver.open("about:blank")
    going = asyncio.ensure_future(driver.do("go_to_url", url=f"{site.base}/never"))
    async with asyncio.timeout(60):
        while "/never" not in site.paths():
            await asyncio.sleep(0.01)
    for process in chromium_of(os.getpid()):
        process.kill()
    async with asyncio.timeout(60):
        observation = await going
    assert observation.is_error
    await answers(driver, site)


CHILD = """
import asyncio, sys
from pathlib import Path
from tests.browser.conftest import new_session
from tests.browser.driver import Driver

async def main():
    driver = Driver(new_session(Path(sys.argv[1])))
    await driver.open("about:blank")
    print("up", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("stuck", [False, True])
async def test_nothing_is_left_of_it_when_we_are_killed(tmp_path: Path, stuck: bool) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == b"up\n"
        family = psutil.Process(child.pid).children(recursive=True)
        assert any("chrom" in process.name().lower() for process in family)
        if stuck:  # the driver cannot say good-bye either
            for process in family:
                if "node" in process.name().lower():
                    process.kill()
        child.send_signal(signal.SIGKILL)
        await asyncio.to_thread(child.wait)
        _, alive = await asyncio.to_thread(psutil.wait_procs, family, 15)
        assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        child.kill()
        if child.stdout is not None:
            child.stdout.close()


async def test_closing_leaves_nothing_and_is_quick(tmp_path: Path, site: Site) -> None:
    session = new_session(tmp_path)
    driver = Driver(session)
    site.pages["/"] = "<script>setTimeout(() => { for(;;); }, 50)</script>"
    await driver.do("go_to_url", url=site.base)
    family = chromium_of(os.getpid())
    assert family
    begun = time.monotonic()
    await session.close()
    _, alive = await asyncio.to_thread(psutil.wait_procs, family, 60)
    assert alive == []
    assert time.monotonic() - begun < 60  # far from any limit: it did not hang


async def test_a_call_is_cancelled_cleanly(driver: Driver, site: Site) -> None:
    site.pages["/never"] = Answer("late", hold=threading.Event())
    await driver.open("about:blank")
    going = asyncio.ensure_future(driver.do("go_to_url", url=f"{site.base}/never"))
    async with asyncio.timeout(60):
        while "/never" not in site.paths():
            await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    await answers(driver, site)
