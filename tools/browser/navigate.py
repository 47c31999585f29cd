"""Going to pages: addresses, back, again.

Each says what it has done, or raises a `ToolError` that says why it could not be done.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.browser import Browser, workspace_file
from manus.tools.browser.tab import Tab
from manus.tools.web.egress import is_loopback

_PARSE_SECONDS = 5.0


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
        file = await asyncio.to_thread(workspace_file, browser.workspace, url)
        if not file.exists():
            raise ToolError(f"{url} is not there.")
        await browser.open_workspace()
    elif url != "about:blank":
        browser.proxy.rules.check_url(url)
    return url


async def go_to_url(browser: Browser, tab: Tab, url: str) -> str:
    """Open an address in the tab."""
    url = await check_url(browser, url)
    if url.startswith("http") and not is_loopback(urlsplit(url).hostname or ""):
        await browser.leave_own(tab)
    happenings, incidents = browser.log.count, browser.proxy.incidents.count
    try:
        await _go(browser, tab, url)
    except PlaywrightError as error:
        text = str(error)
        # a download announces itself a moment before or after the navigation is given up
        is_kept = any(kind == "download" for kind, _ in browser.log.since(happenings))
        is_aborted = "ERR_ABORTED" in text and (browser.downloads.are_under_way or is_kept)
        if "Download is starting" in text or is_aborted:
            return f"{url} is a download, not a page."
        first = text.strip().split("\n")[0].removeprefix("Page.goto: ")[:200]
        why = _incident(browser, tab, url, incidents) or first
        raise ToolError(f"{url} could not be opened: {why}") from None
    if tab.status in {403, 502} and (why := _incident(browser, tab, url, incidents)):
        raise ToolError(f"{url} could not be opened: {why}")
    return f"Opened {url}."


async def _go(browser: Browser, tab: Tab, url: str) -> None:
    for attempt in range(2):
        going = tab.page.goto(url, wait_until="commit", timeout=browser.navigation_seconds * 1000)
        try:
            await _loaded(browser, tab, going, url)
            break
        except PlaywrightError as error:
            if attempt or "interrupted by another navigation" not in str(error):
                raise


def _incident(browser: Browser, tab: Tab, url: str, mark: int) -> str:
    """Why the proxy did not reach the page itself, if it did not."""
    hosts = {urlsplit(url).hostname, urlsplit(tab.page.url).hostname}
    found = [i.reason for i in browser.proxy.incidents.since(mark) if i.host in hosts]
    return found[-1] if found else ""


async def _loaded(browser: Browser, tab: Tab, going: Awaitable[Any], what: str) -> None:
    """Wait for a navigation, and a little for its document."""
    try:
        await going
    except PlaywrightTimeoutError:
        await tab.stop_loading()
        raise ToolError(
            f"{what} did not answer within {browser.navigation_seconds:g} s; loading was stopped."
        ) from None
    seconds = min(_PARSE_SECONDS, 0.2 * browser.settings.action_timeout)
    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=seconds * 1000)
    except PlaywrightTimeoutError:
        return  # a page that never ends: what has come of it can be used


async def go_back(browser: Browser, tab: Tab) -> str:
    """Go back in the tab's history."""
    before = tab.page.url
    going = tab.page.go_back(wait_until="commit", timeout=browser.navigation_seconds * 1000)
    await _loaded(browser, tab, going, "The earlier page")
    if tab.page.url == before:
        raise ToolError("There is no earlier page in this tab.")
    return "Went back."


async def refresh(browser: Browser, tab: Tab) -> str:
    """Load the page again."""
    going = tab.page.reload(wait_until="commit", timeout=browser.navigation_seconds * 1000)
    await _loaded(browser, tab, going, "The page")
    return "Loaded the page again."
