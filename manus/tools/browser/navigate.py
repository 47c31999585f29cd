"""Actions of navigation (addresses, back, reload, tabs), and waiting for the effects of an action.

Each action returns a sentence about its effect, or raises a `ToolError` with the reason of its
failure.
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

from manus.sandbox.egress import is_loopback
from manus.state.errors import ToolError
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser, workspace_file
from manus.tools.browser.tab import ANSWER_SECONDS, PageStuckError, Tab, attempt

_STILL_MS = 120.0
"""Milliseconds without a change after which a page counts as idle."""
_ANIMATED_SECONDS = 1.5
"""Maximum wait for a page on which something only moves (an animation, a clock)."""
_LOADING_SECONDS = 6.0
"""Maximum wait for a page that waits for responses from its server."""
_BUSY_SECONDS = 10.0
"""Maximum wait for a page that does not respond: it may be busy with its layout."""
_POLL_SECONDS = 0.05


def complete_url(url: str) -> str:
    """Add a missing scheme to an address: `http` for localhost and IP addresses, else `https`."""
    url = url.strip()
    if re.match(r"(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?(/|$)", url, re.IGNORECASE):
        return f"http://{url}"
    has_scheme = re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE)
    is_host_and_port = re.match(r"[^/:]+\.[^/:]+:\d+(/|$)", url)
    return url if has_scheme and not is_host_and_port else f"https://{url}"


async def check_url(browser: Browser, url: str) -> str:
    """Return the complete address, if it is a file of the workspace or allowed by the rules.

    Raises:
        ToolError: the address may not be opened.
    """
    url = complete_url(url)
    if url.lower().startswith("file:"):
        file = await asyncio.to_thread(workspace_file, browser.session.workspace, url)
        if not file.exists():
            raise ToolError(f"{url} does not exist.")
        await browser.open_workspace()
    elif url != "about:blank":
        browser.proxy.rules.check_url(url)
    return url


async def go_to_url(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Open an address in the tab."""
    url = await check_url(browser, arguments.url or "")
    if url.startswith("http") and not is_loopback(urlsplit(url).hostname or ""):
        await browser.leave_own(tab)
    log_mark = browser.log.count
    incident_mark = browser.proxy.incidents.count
    failure = ""
    try:
        await _navigate(browser, tab, tab.page.goto, url)
    except PlaywrightError as error:
        text = str(error)
        # a download starts a moment before or after the navigation is aborted
        is_kept = any(kind == "download" for kind, _ in browser.log.since(log_mark))
        is_aborted = "ERR_ABORTED" in text and (browser.downloads.under_way or is_kept)
        if "Download is starting" in text or is_aborted:
            return f"{url} is a download, not a page."
        failure = text.strip().split("\n")[0].removeprefix("Page.goto: ")[:200]
    reason = _find_incident(browser, tab, url, incident_mark)
    if failure or (reason and tab.status in {403, 502}):
        raise ToolError(f"Cannot open {url}: {reason or failure}")
    return f"Opened {url}."


def _find_incident(browser: Browser, tab: Tab, url: str, mark: int) -> str:
    """Return why the proxy could not reach the page itself; empty if it could."""
    hosts = {urlsplit(url).hostname, urlsplit(tab.page.url).hostname}
    reasons = [i.reason for i in browser.proxy.incidents.since(mark) if i.host in hosts]
    return reasons[-1] if reasons else ""


async def go_back(browser: Browser, tab: Tab, _: BrowserArgs) -> str:
    """Go back in the tab's history."""
    before = tab.page.url
    await _navigate(browser, tab, tab.page.go_back)
    if tab.page.url == before:
        raise ToolError("There is no earlier page in this tab.")
    return "Went back."


async def refresh(browser: Browser, tab: Tab, _: BrowserArgs) -> str:
    """Reload the page."""
    if tab.page.url == "about:blank":
        raise ToolError("There is no page to reload; open one with `go_to_url`.")
    await _navigate(browser, tab, tab.page.reload)
    return "Loaded the page again."


async def open_tab(browser: Browser, _: Tab, arguments: BrowserArgs) -> str:
    """Open a tab with an address, or an empty one."""
    if arguments.url:
        await check_url(browser, arguments.url)
    new_tab = await browser.open_tab()
    message = f"Opened tab {new_tab.id}."
    if not arguments.url:
        return message
    return f"{message} {await go_to_url(browser, new_tab, arguments)}"


async def switch_tab(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Bring a tab to the front."""
    other = _find_tab(browser, tab, arguments)
    browser.active = other
    await attempt(ANSWER_SECONDS, other.page.bring_to_front())
    return f"Tab {other.id} is active."


async def close_tab(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Close a tab; the active one by default."""
    other = _find_tab(browser, tab, arguments)
    await browser.close_tab(other)
    active = browser.active
    message = f"Closed tab {other.id}."
    if active is not None:
        message += f" Tab {active.id} is active."
    return message


def _find_tab(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Tab:
    tab_id = tab.id if arguments.tab_id is None else arguments.tab_id
    if tab_id not in browser.tabs:
        existing = ", ".join(map(str, browser.tabs))
        raise ToolError(f"Tab {tab_id} does not exist; the open tabs are: {existing}.")
    return browser.tabs[tab_id]


async def _navigate(
    browser: Browser, tab: Tab, method: Callable[..., Awaitable[Any]], *urls: str
) -> None:
    """Navigate and wait for the response; retry once if the page itself navigates elsewhere."""
    seconds = browser.navigation_seconds
    navigate = partial(method, *urls, wait_until="commit", timeout=seconds * 1000)
    try:
        try:
            await navigate()
        except PlaywrightError as error:
            if "interrupted by another navigation" not in str(error):
                raise
            await navigate()
    except PlaywrightTimeoutError:
        await tab.stop_loading()
        subject = urls[0] if urls else "The page"
        problem = f"{subject} did not respond within {seconds:g} s"
        raise ToolError(f"{problem}; loading was stopped.") from None


async def wait_until_idle(browser: Browser, tab: Tab, started: float) -> None:
    """Wait for the effects of an action that started at a monotonic time.

    Raises:
        PageStuckError: the page no longer responds.
    """
    await asyncio.sleep(_POLL_SECONDS)  # a click's navigation starts a moment after the click
    while tab.navigation is not None and browser.has(tab):
        if time.monotonic() - started > browser.navigation_seconds:
            problem = f"The server did not respond within {browser.navigation_seconds:g} s"
            browser.log.add(("event", f"{problem}; loading was stopped."))
            await tab.stop_loading()
            return
        await asyncio.sleep(_POLL_SECONDS)
    start = time.monotonic()
    # this counts toward the action's timeout, and the report needs some time too
    remaining = max(0.5, started + browser.settings.action_timeout * 0.8 - start)
    while browser.has(tab):
        waited = time.monotonic() - start
        try:
            is_still, is_loading = await _measure_stillness(tab)
        except PageStuckError:
            if waited > min(_BUSY_SECONDS, remaining):
                raise
            continue
        is_at_work = bool(browser.tasks) or browser.is_opening_window
        is_waiting = is_loading or tab.is_loading_since(started) or is_at_work
        if is_still and not is_waiting and waited >= _POLL_SECONDS:
            return
        limit = _LOADING_SECONDS if is_waiting else _ANIMATED_SECONDS
        if waited > min(limit, remaining):
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _measure_stillness(tab: Tab) -> tuple[bool, bool]:
    """Return whether the page has been unchanged for a while, and whether it is still loading."""
    try:
        answer = await tab.ask("quiet")
    except PlaywrightError:  # between two documents
        return False, True
    return answer["still"] >= _STILL_MS, answer["ready"] == "loading"
