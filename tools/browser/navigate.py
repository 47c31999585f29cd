"""Going to pages: addresses, back, again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.browser import Browser
from manus.tools.browser.files import workspace_file
from manus.tools.browser.tab import Tab

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
    """The whole address, if it may be opened: a file of the workspace, or what the rules allow.

    Raises:
        ToolError: it may not.
    """
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
    """Open an address in the tab.

    Raises:
        ToolError: it is refused by the egress rules, or cannot be reached.
    """
    url = await check_url(browser, url)
    downloads, incidents = browser.log.count, browser.proxy.count
    milliseconds = browser.navigation_seconds * 1000
    for attempt in range(2):
        try:
            await _loaded(
                browser, tab, tab.page.goto(url, wait_until="commit", timeout=milliseconds), url
            )
            break
        except PlaywrightError as error:
            text = str(error)
            if "interrupted by another navigation" in text and attempt == 0:
                continue
            if "Download is starting" in text or _is_download(browser, downloads, text):
                return f"{url} is a download, not a page."
            why = _incident(browser, tab, url, incidents) or _first_line(text)
            raise ToolError(f"{url} could not be opened: {why}") from None
    if tab.status in {403, 502} and (why := _incident(browser, tab, url, incidents)):
        raise ToolError(f"{url} could not be opened: {why}")
    return f"Opened {url}."


def _incident(browser: Browser, tab: Tab, url: str, mark: int) -> str:
    """Why the proxy did not reach the page itself, if it did not."""
    hosts = {urlsplit(url).hostname, urlsplit(tab.page.url).hostname}
    found = [i.reason for i in browser.proxy.since(mark) if i.host in hosts]
    return found[-1] if found else ""


def _is_download(browser: Browser, mark: int, text: str) -> bool:
    # a download announces itself a moment before or after the navigation is given up
    is_kept = any(kind == "download" for kind, _ in browser.log.since(mark))
    return "ERR_ABORTED" in text and (browser.downloads.are_under_way or is_kept)


async def _loaded(browser: Browser, tab: Tab, going: Awaitable[Any], what: str) -> None:
    """Wait for a navigation, and a little for its document.

    Raises:
        ToolError: the server does not answer in time.
    """
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
    """Go back in the tab's history.

    Raises:
        ToolError: there is nothing to go back to.
    """
    before = tab.page.url
    milliseconds = browser.navigation_seconds * 1000
    going = tab.page.go_back(wait_until="commit", timeout=milliseconds)
    await _loaded(browser, tab, going, "The earlier page")
    if tab.page.url == before:
        raise ToolError("There is no earlier page in this tab.")
    return "Went back."


async def refresh(browser: Browser, tab: Tab) -> str:
    """Load the page again.

    Raises:
        ToolError: it does not come.
    """
    milliseconds = browser.navigation_seconds * 1000
    going = tab.page.reload(wait_until="commit", timeout=milliseconds)
    await _loaded(browser, tab, going, "The page")
    return "Loaded the page again."


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0].removeprefix("Page.goto: ")[:200]
