"""Going to pages (addresses, back, again, tabs), and waiting until an action has had its effect.

Each action says what it has done, or raises a `ToolError` that says why it could not be done.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.execution.network.egress import is_loopback
from manus.state.errors import ToolError
from manus.tools.browser.browser import Browser, workspace_file
from manus.tools.browser.tab import ANSWER_SECONDS, PageStuckError, Tab, attempt
from manus.tools.browser_use import BrowserArgs

_STILL_MS = 120.0
"""A page that has not changed for this long is taken to be done."""
_RESTLESS_SECONDS = 1.5
"""A page that only moves (an animation, a clock) is not waited for longer than this."""
_LOADING_SECONDS = 6.0
"""The same for one that waits for answers of its server."""
_BUSY_SECONDS = 10.0
"""A page that answers nothing may be at work (a large one is laid out) for this long."""
_NAP = 0.05


def complete_url(url: str) -> str:
    """An address with a scheme; `http` where a machine of one's own seems to be meant."""
    url = url.strip()
    if re.match(r"(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?(/|$)", url, re.IGNORECASE):
        return f"http://{url}"
    has_scheme = re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE)
    is_host_and_port = re.match(r"[^/:]+\.[^/:]+:\d+(/|$)", url)
    return url if has_scheme and not is_host_and_port else f"https://{url}"


async def check_url(browser: Browser, url: str) -> str:
    """The whole address, if it may be opened: a file of the workspace, or what the rules allow."""
    url = complete_url(url)
    if url.lower().startswith("file:"):
        file = await asyncio.to_thread(workspace_file, browser.session.workspace, url)
        if not file.exists():
            raise ToolError(f"{url} is not there.")
        await browser.open_workspace()
    elif url != "about:blank":
        browser.proxy.rules.check_url(url)
    return url


async def go_to_url(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Open an address in the tab."""
    url = await check_url(browser, a.url or "")
    if url.startswith("http") and not is_loopback(urlsplit(url).hostname or ""):
        await browser.leave_own(tab)
    happenings = browser.log.count
    incidents = browser.proxy.incidents.count
    failure = ""
    try:
        await _committed(browser, tab, tab.page.goto, url)
    except PlaywrightError as error:
        text = str(error)
        # a download announces itself a moment before or after the navigation is given up
        is_kept = any(kind == "download" for kind, _ in browser.log.since(happenings))
        is_aborted = "ERR_ABORTED" in text and (browser.downloads.under_way or is_kept)
        if "Download is starting" in text or is_aborted:
            return f"{url} is a download, not a page."
        failure = text.strip().split("\n")[0].removeprefix("Page.goto: ")[:200]
    why = _incident(browser, tab, url, incidents)
    if failure or (why and tab.status in {403, 502}):
        raise ToolError(f"{url} could not be opened: {why or failure}")
    return f"Opened {url}."


def _incident(browser: Browser, tab: Tab, url: str, mark: int) -> str:
    """Why the proxy did not reach the page itself, if it did not."""
    hosts = {urlsplit(url).hostname, urlsplit(tab.page.url).hostname}
    found = [i.reason for i in browser.proxy.incidents.since(mark) if i.host in hosts]
    return found[-1] if found else ""


async def go_back(browser: Browser, tab: Tab, _: BrowserArgs) -> str:
    """Go back in the tab's history."""
    before = tab.page.url
    await _committed(browser, tab, tab.page.go_back)
    if tab.page.url == before:
        raise ToolError("There is no earlier page in this tab.")
    return "Went back."


async def refresh(browser: Browser, tab: Tab, _: BrowserArgs) -> str:
    """Load the page again."""
    await _committed(browser, tab, tab.page.reload)
    return "Loaded the page again."


async def open_tab(browser: Browser, _: Tab, a: BrowserArgs) -> str:
    """Open a tab, with an address or empty."""
    if a.url:
        await check_url(browser, a.url)
    fresh = await browser.open_tab()
    said = f"Opened tab {fresh.id}."
    return f"{said} {await go_to_url(browser, fresh, a)}" if a.url else said


async def switch_tab(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Bring a tab to the front."""
    other = _known_tab(browser, tab, a)
    browser.active = other
    await attempt(ANSWER_SECONDS, other.page.bring_to_front())
    return f"Tab {other.id} is in front."


async def close_tab(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Close a tab, the one in front if none is named."""
    other = _known_tab(browser, tab, a)
    await browser.close_tab(other)
    left = browser.active
    return f"Closed tab {other.id}." + (f" Tab {left.id} is in front." if left else "")


def _known_tab(browser: Browser, tab: Tab, a: BrowserArgs) -> Tab:
    wanted = tab.id if a.tab_id is None else a.tab_id
    if wanted not in browser.tabs:
        known = ", ".join(map(str, browser.tabs))
        raise ToolError(f"There is no tab {wanted}; the open ones are: {known}.")
    return browser.tabs[wanted]


async def _committed(
    browser: Browser, tab: Tab, go: Callable[..., Awaitable[Any]], *to: str
) -> None:
    """Wait until a navigation has an answer; once more if the page itself went elsewhere."""
    seconds = browser.navigation_seconds
    begin = partial(go, *to, wait_until="commit", timeout=seconds * 1000)
    try:
        try:
            await begin()
        except PlaywrightError as error:
            if "interrupted by another navigation" not in str(error):
                raise
            await begin()
    except PlaywrightTimeoutError:
        await tab.stop_loading()
        said = f"{to[0] if to else 'The page'} did not answer within {seconds:g} s"
        raise ToolError(f"{said}; loading was stopped.") from None


async def wait_until_idle(browser: Browser, tab: Tab, begun: float) -> None:
    """Wait for what an action begun at a moment (monotonic) has set off.

    Raises:
        PageStuckError: the page does not answer any more.
    """
    await asyncio.sleep(_NAP)  # a click's navigation begins a moment after the click
    while tab.navigation is not None and browser.has(tab):
        if time.monotonic() - begun > browser.navigation_seconds:
            said = f"The server did not answer within {browser.navigation_seconds:g} s"
            browser.log.add(("event", f"{said}; loading was stopped."))
            await tab.stop_loading()
            return
        await asyncio.sleep(_NAP)
    start = time.monotonic()
    # an action's time includes this; something has to be left of it for the report
    left = max(0.5, begun + browser.settings.action_timeout * 0.8 - start)
    while browser.has(tab):
        waited = time.monotonic() - start
        try:
            is_still, is_loading = await _stillness(tab)
        except PageStuckError:
            if waited > min(_BUSY_SECONDS, left):
                raise
            continue
        is_at_work = bool(browser.tasks) or browser.is_opening_window
        waits = is_loading or tab.is_loading_since(begun) or is_at_work
        if is_still and not waits and waited >= _NAP:
            return
        if waited > min(_LOADING_SECONDS if waits else _RESTLESS_SECONDS, left):
            return
        await asyncio.sleep(_NAP)


async def _stillness(tab: Tab) -> tuple[bool, bool]:
    """Whether nothing changes on the page, and whether it is still loading."""
    try:
        answer = await tab.ask("quiet")
    except PlaywrightError:  # between two documents
        return False, True
    return answer["still"] >= _STILL_MS, answer["ready"] == "loading"
