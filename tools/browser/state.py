"""The browser's state for the next-step prompt."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from manus.prompts.browser import STATE_HEAD
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.numbering import Numbering
from manus.tools.browser.page_text import extent, fit, page_lines
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.pdf import pdf_preview
from manus.tools.browser.settle import settle
from manus.tools.browser.snapshot import FrameView, take_snapshot
from manus.tools.browser.tab import ANSWER_SECONDS, Tab
from manus.tools.result import Image
from manus.tools.session import Session

_SCREENSHOT_SECONDS = 5.0
_QUALITY = 60
_LOOK_SECONDS = 8.0
_MAX_TABS = 20
_TRIES = 3


@dataclass(frozen=True, slots=True)
class BrowserState:
    """What the browser shows now."""

    text: str
    """At most about `browser.page_characters` characters."""
    screenshot: Image | None = None
    """The viewport, if it was asked for and could be taken."""


async def browser_state(session: Session, *, screenshot: bool = False) -> BrowserState | None:
    """What the browser of a session shows now; None if none is open.

    Never raises for anything a page does: a page that does not answer is described as such.
    """
    browser: Browser | None = session.peek(NAME)
    if browser is None:
        return None
    if browser.dead:
        return BrowserState("The browser has ended by itself; the next action starts a new one.")
    text = await describe(browser)
    picture = await take_picture(browser.active) if screenshot and browser.active else None
    return BrowserState(f"{STATE_HEAD}\n{text}", picture)


async def describe(browser: Browser, *, mark: bool = True) -> str:
    """The page in front, as text; with `mark` the model is from now on taken to know it."""
    tab = browser.active
    if tab is None:
        return "No page is open."
    error = f"Last action failed: {browser.last_error}\n" if browser.last_error else ""
    head = error + await _tabs(browser, tab)
    limit = browser.settings.page_characters
    head = head if len(head) <= limit // 2 else head[: limit // 2] + "…\n"
    text, token, numbers = await _page(browser, tab, limit - len(head))
    if mark:
        browser.seen = (tab.id, token)
        tab.known |= numbers
    return head + text


async def _tabs(browser: Browser, active: Tab) -> str:
    others = [tab for tab in browser.tabs.values() if tab is not active][-_MAX_TABS:]
    if not others:
        return ""
    titles = await asyncio.gather(*(tab.title() for tab in others))
    lines = [f"Tab {active.id} is in front. Other tabs:"]
    for tab, title in zip(others, titles, strict=True):
        name = f"{title} — " if title else ""
        lines.append(f"- tab {tab.id}: {name}{_short(tab.page.url)}")
    return "\n".join(lines) + "\n"


async def _page(browser: Browser, tab: Tab, room: int) -> tuple[str, str, set[int]]:
    """The page, its document, and the numbers of the elements shown."""
    address = f"URL: {_short(tab.page.url, 300)}\n"
    if tab.crashed:
        return f"{address}The page has crashed; go to an address to go on.", "", set()
    if tab.is_pdf:
        return address + await pdf_preview(tab, room - len(address)), "", set()
    view = await _look(browser, tab)
    if view is None:
        said = (
            "The page does not answer (a script of it may be running without end); go to an "
            "address, refresh, or close the tab."
        )
        return address + said, "", set()
    if tab.numbering.token != view.token:
        tab.numbering, tab.known = Numbering(view.token), set()
    known = tab.known if browser.seen == (tab.id, view.token) else None
    lines = page_lines(view, tab.numbering, known)
    head = f"{address}Title: {view.title}\nPage: {extent(view)}\n"
    if view.ready == "loading":
        head += "It is still loading.\n"
    body, numbers = fit(lines, max(200, room - len(head)))
    return head + (body or "Nothing can be seen on the page."), view.token, numbers


async def _look(browser: Browser, tab: Tab) -> FrameView | None:
    for _ in range(_TRIES):
        try:
            return await take_snapshot(tab.page, _LOOK_SECONDS)
        except PageStuckError:
            if not await tab.revive():
                return None
            browser.log.add("trouble", "A script of the page ran without end and was stopped.")
        except PlaywrightError:  # it changes its document at this moment
            if tab.id not in browser.tabs or browser.dead:
                return None
            try:
                await settle(browser, tab, time.monotonic(), ANSWER_SECONDS)
            except PageStuckError:
                continue
    return None


async def take_picture(tab: Tab) -> Image | None:
    """The viewport of a tab as a JPEG; None if it cannot be taken in time."""
    try:
        data = await within(
            _SCREENSHOT_SECONDS,
            tab.page.screenshot(
                type="jpeg", quality=_QUALITY, scale="css", timeout=_SCREENSHOT_SECONDS * 1000
            ),
        )
    except (PlaywrightError, PageStuckError):
        return None
    return Image(base64.b64encode(data).decode(), "image/jpeg")


def _short(url: str, limit: int = 120) -> str:
    return url if len(url) <= limit else url[: limit - 1] + "…"
