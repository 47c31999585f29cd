"""Going to pages: addresses, back, again."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.browser import Browser
from manus.tools.browser.tab import Tab

_SHARE = 0.6
"""Of an action's time, the part that a server may take for the beginning of its answer."""
_PARSE_SECONDS = 5.0


def navigation_seconds(browser: Browser) -> float:
    """How long a server may take to answer at all."""
    return browser.settings.action_timeout * _SHARE


def complete_url(url: str) -> str:
    """An address with a scheme; `http` where a machine of one's own seems to be meant."""
    url = url.strip()
    if re.match(r"(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?(/|$)", url, re.IGNORECASE):
        return f"http://{url}"
    has_scheme = re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE)
    is_host_and_port = re.match(r"[^/:]+\.[^/:]+:\d+(/|$)", url)
    return url if has_scheme and not is_host_and_port else f"https://{url}"


async def go_to_url(browser: Browser, tab: Tab, url: str) -> str:
    """Open an address in the tab.

    Raises:
        ToolError: it is refused by the egress rules, or cannot be reached.
    """
    url = complete_url(url)
    if url != "about:blank":
        browser.proxy.rules.check_url(url)
    downloads, incidents = browser.log.count, browser.proxy.count
    for attempt in range(2):
        try:
            await _goto(browser, tab, url)
            break
        except PlaywrightTimeoutError:
            await tab.stop_loading()
            raise ToolError(
                f"{url} did not answer within {navigation_seconds(browser):g} s; "
                "loading was stopped."
            ) from None
        except PlaywrightError as error:
            text = str(error)
            if "interrupted by another navigation" in text and attempt == 0:
                continue
            if "Download is starting" in text or _is_download(browser, downloads, text):
                return f"{url} is a download, not a page."
            why = _incident(browser, tab, url, incidents) or f"{_reason(text)}."
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
    return "ERR_ABORTED" in text and (
        browser.downloading or any(h.kind == "download" for h in browser.log.since(mark))
    )


async def _goto(browser: Browser, tab: Tab, url: str) -> None:
    milliseconds = navigation_seconds(browser) * 1000
    await tab.page.goto(url, wait_until="commit", timeout=milliseconds)
    await _parsed(browser, tab)


async def _parsed(browser: Browser, tab: Tab) -> None:
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
    milliseconds = navigation_seconds(browser) * 1000
    try:
        await tab.page.go_back(wait_until="commit", timeout=milliseconds)
    except PlaywrightTimeoutError:
        await tab.stop_loading()
        raise ToolError("The earlier page did not answer in time; loading was stopped.") from None
    except PlaywrightError as error:
        raise ToolError(f"Going back failed: {_reason(str(error))}.") from None
    if tab.page.url == before:
        raise ToolError("There is no earlier page in this tab.")
    await _parsed(browser, tab)
    return "Went back."


async def refresh(browser: Browser, tab: Tab) -> str:
    """Load the page again.

    Raises:
        ToolError: it does not come.
    """
    milliseconds = navigation_seconds(browser) * 1000
    try:
        await tab.page.reload(wait_until="commit", timeout=milliseconds)
    except PlaywrightTimeoutError:
        await tab.stop_loading()
        raise ToolError("The page did not come again in time; loading was stopped.") from None
    except PlaywrightError as error:
        raise ToolError(f"The page did not come again: {_reason(str(error))}.") from None
    await _parsed(browser, tab)
    return "Loaded the page again."


_REASONS = {
    "ERR_NAME_NOT_RESOLVED": "the host name is not known",
    "ERR_CONNECTION_REFUSED": "nothing answers there",
    "ERR_CONNECTION_RESET": "the connection was cut",
    "ERR_EMPTY_RESPONSE": "the server sent nothing",
    "ERR_CONNECTION_CLOSED": "the connection was closed",
    "ERR_TUNNEL_CONNECTION_FAILED": "there is no connection",
    "ERR_PROXY_CONNECTION_FAILED": "the proxy does not answer",
    "ERR_CERT": "its certificate is not valid",
    "ERR_SSL": "it does not speak TLS properly",
    "ERR_TOO_MANY_REDIRECTS": "it redirects without end",
    "ERR_UNSAFE_PORT": "browsers refuse this port",
    "ERR_INVALID_URL": "the address is not valid",
    "Cannot navigate to invalid URL": "the address is not valid",
    "ERR_ABORTED": "the server sent no page",
    "ERR_BLOCKED_BY": "the browser blocked it",
}


def _reason(text: str) -> str:
    for sign, words in _REASONS.items():
        if sign in text:
            return words
    return text.strip().split("\n")[0].removeprefix("Page.goto: ")[:200]
