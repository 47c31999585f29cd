"""Browsers that die or are killed, and what is left of them when we end."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from manus.state.browser_settings import BrowserSettings
from tests.browser.conftest import new_session
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site


def family() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def kill(processes: set[psutil.Process]) -> None:
    """The browser among them, as the machine would do it that has no memory left."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if "chrom" in process.name().lower():
                process.kill()


async def test_a_browser_killed_in_the_middle_of_an_action_is_started_anew_and_closed(
    tmp_path: Path, site: Site
) -> None:
    # a browser that has just been started may be slow to open its first page
    driver = Driver(new_session(tmp_path, BrowserSettings(action_timeout=60)))
    site.pages["/"] = "<title>Home</title><button>Go</button>"
    site.pages["/never"] = Answer("late", hold=threading.Event())
    before = family()
    await driver.open(site.base)
    first = driver.browser
    going = asyncio.ensure_future(driver.do("go_to_url", url=f"{site.base}/never"))
    async with asyncio.timeout(60):
        while "/never" not in site.paths():
            await asyncio.sleep(0.01)
    kill(family() - before)
    async with asyncio.timeout(60):
        assert (await going).is_error
        while not first.dead:
            await asyncio.sleep(0.01)
    assert "has ended by itself" in await driver.look()
    said = await driver.say("go_to_url", url=site.base)
    assert "a new one was started" in said
    assert "Title: Home" in await driver.look()
    begun = family() - before
    assert begun
    await driver.session.close()
    _, alive = await asyncio.to_thread(psutil.wait_procs, begun, 60)
    assert alive == []


CHILD = """
import asyncio, sys
from manus.tools.browser.browser import obtain_browser
from manus.tools.session import Session
from manus.tools.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1])
    workspace.prepare()
    browser, _ = await obtain_browser(Session(workspace))
    await browser.open_tab()
    print("up", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_nothing_is_left_of_it_when_we_are_killed(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == b"up\n"
        left = psutil.Process(child.pid).children(recursive=True)
        assert any("chrom" in process.name().lower() for process in left)
        for process in left:  # the driver cannot say good-bye either
            if "node" in process.name().lower():
                process.kill()
        child.send_signal(signal.SIGKILL)
        await asyncio.to_thread(child.wait)
        _, alive = await asyncio.to_thread(psutil.wait_procs, left, 60)
        assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        child.kill()
        if child.stdout is not None:
            child.stdout.close()
