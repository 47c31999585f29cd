"""The current state of the browser: text for the model, a picture, a digest for loop detection."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import time
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from manus.config.secret_texts import mask
from manus.execution.result import Image, Observation
from manus.execution.session import Session
from manus.prompts.approval import UNTRUSTED_TEXT
from manus.prompts.browser import STATE_HEAD
from manus.prompts.sources import FILE, WEB, framed, is_foreign
from manus.state.errors import ToolError
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.navigate import wait_until_idle
from manus.tools.browser.reading import read_pdf
from manus.tools.browser.snapshot import (
    FrameView,
    describe_extent,
    fit_lines,
    get_texts,
    render_lines,
    take_snapshot,
)
from manus.tools.browser.tab import ANSWER_SECONDS, Numbering, PageStuckError, Tab, attempt, script

_MAX_TABS = 20
_MAX_FRAMES = 10
_FRAME_SECONDS = 1.0
_TRIES = 3
_MAX_NEW = 5
_NEW_CHARACTERS = 120
_NO_ANSWER = (
    "The page does not answer (a script of it may be running without end); go to an address, "
    "refresh, or close the tab."
)


async def browser_state(session: Session, *, screenshot: bool = False) -> Observation | None:
    """Return the current state of a session's browser; None if no browser is open.

    The text has at most about `browser.page_characters` characters. The picture shows the viewport;
    it is missing for an empty page, or if it could not be taken. Pages cannot make this raise: a
    page that does not answer is described as such.
    """
    browser: Browser | None = session.peek(NAME)
    if browser is None:
        return None
    if browser.dead:
        return Observation("The browser has ended by itself; the next action starts a new one.")
    text = mask(await describe(browser), session.settings.secrets)
    data = await take_picture(session) if screenshot else b""
    pictures = (Image(base64.b64encode(data).decode(), "image/jpeg"),) if data else ()
    page = text
    if (tab := browser.active) is not None:
        page = framed(text, source := get_source(tab))
        if is_foreign(source) and tab.page.url != "about:blank":
            session.egress_guard.taint(UNTRUSTED_TEXT)
            session.egress_guard.read(text, tab.page.url)
    return Observation(f"{STATE_HEAD}\n{page}", pictures)


async def take_picture(session: Session) -> bytes:
    """Return the active page as a JPEG; empty if there is no page, or an empty one.

    The numbers of elements do not change: the page is not read.
    """
    browser: Browser | None = session.peek(NAME)
    tab = None if browser is None or browser.dead else browser.active
    if tab is None or tab.page.url == "about:blank":
        return b""
    return await tab.picture("jpeg", 60)


def get_source(tab: Tab) -> str:
    """Return the source of the content of a tab, for its frame in prompts."""
    url = tab.page.url
    host = None
    if url.startswith("file:"):
        host = FILE
    elif url.startswith("http"):
        host = urlsplit(url).hostname
    return f"{WEB}: {host}" if host else WEB


async def describe(browser: Browser) -> str:
    """Describe the active page, on which the model may then act. A failure is reported once."""
    error = ""
    if browser.last_error:
        error = f"Last action failed: {browser.last_error}\n"
    browser.last_error = ""
    tab = browser.active
    if tab is None:
        return f"{error}No page is open."
    header = error + await _describe_tabs(browser, tab)
    limit = browser.settings.page_characters
    if len(header) > limit // 2:
        header = header[: limit // 2] + "…\n"
    return header + await _describe_page(browser, tab, limit - len(header))


async def _describe_tabs(browser: Browser, active: Tab) -> str:
    other_tabs = [tab for tab in browser.tabs.values() if tab is not active][-_MAX_TABS:]
    if not other_tabs:
        return ""
    titles = await asyncio.gather(*(tab.title() for tab in other_tabs))
    titled_tabs = zip(other_tabs, titles, strict=True)
    lines = [f"- tab {tab.id}: {title} — {tab.page.url[:120]}\n" for tab, title in titled_tabs]
    return "".join([f"Tab {active.id} is in front. Other tabs:\n", *lines])


async def _describe_page(browser: Browser, tab: Tab, room: int) -> str:
    """Describe the page, and record which of its elements the model has seen."""
    before = browser.last_page
    browser.last_page = (tab.id, "")
    browser.last_route = tab.route
    address = f"URL: {tab.page.url[:300]}\n"
    if tab.is_pdf:
        return address + await _describe_pdf(browser, tab, room - len(address))
    view = await _take_snapshot(browser, tab)
    if view is None:
        return address + _NO_ANSWER
    token = view.content["token"]
    if tab.numbering.token != token:
        tab.numbering = Numbering(token)
    browser.last_page = (tab.id, token)
    existing = tab.numbering.existing if before == browser.last_page else None
    lines = render_lines(view, tab.numbering, existing)
    tab.numbering.texts = get_texts(lines)
    tab.numbering.top = view.content["scroll"]["top"]
    header = f"{address}Title: {view.content['title']}\nPage: {describe_extent(view)}\n"
    if view.content["ready"] == "loading":
        header += "It is still loading.\n"
    body, numbers = fit_lines(lines, max(200, room - len(header)))
    tab.numbering.existing |= numbers
    tab.numbering.visible = numbers
    tab.numbering.visible_labels = dict(tab.numbering.labels)
    return header + (body or "Nothing can be seen on the page.")


async def find_new_texts(browser: Browser) -> str:
    """Return the texts that have appeared on the active page since it was read, in quotes.

    Empty if the document or the scroll position changed, or if there are many new texts.
    """
    tab = browser.active
    view = await _take_snapshot(browser, tab) if tab and not tab.is_pdf else None
    if tab is None or view is None or view.content["token"] != tab.numbering.token:
        return ""
    before = tab.numbering.texts
    now = get_texts(render_lines(view, tab.numbering, None))
    top = tab.numbering.top
    tab.numbering.top = view.content["scroll"]["top"]
    tab.numbering.texts = now
    new = [f'"{text[:_NEW_CHARACTERS]}"' for text in now if text not in before]
    if top != tab.numbering.top or len(new) > _MAX_NEW:
        return ""
    return ", ".join(new)


async def _take_snapshot(browser: Browser, tab: Tab) -> FrameView | None:
    for _ in range(_TRIES):
        try:
            return await take_snapshot(tab.page)
        except PageStuckError:
            if not await tab.revive():
                return None
            browser.log.add(("event", "A script of the page ran without end and was stopped."))
        except PlaywrightError:  # the document is changing
            if not browser.has(tab):
                return None
            with contextlib.suppress(PageStuckError):
                await wait_until_idle(browser, tab, time.monotonic())
    return None


async def _describe_pdf(browser: Browser, tab: Tab, room: int) -> str:
    """Return the beginning of a PDF, or why it cannot be read."""
    try:
        text = await read_pdf(browser, tab)
    except ToolError as error:
        return str(error)
    lines = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    return ("This is a PDF; `extract_content` reads all of it.\n" + lines)[: max(room, 0)]


async def page_fingerprint(browser: Browser, mark: int) -> str | None:
    """Return a short digest of the active page, and of the dialogs since a mark of the log.

    It is stable while nothing changes. None if the page does not answer.
    """
    tab = browser.active
    if tab is None or browser.dead:
        return None
    dialogs = [text for kind, text in browser.log.since(mark) if kind == "dialog"]
    frames = await asyncio.gather(*map(_compute_digest, tab.page.frames[:_MAX_FRAMES]))
    if frames[0] is None:
        return None
    parts = [tab.page.url, *dialogs, *map(str, frames)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def _compute_digest(frame: Frame) -> Any:
    """Return the digest of a frame; None if it does not answer, such as one that never loaded."""
    seconds = _FRAME_SECONDS if frame.parent_frame else ANSWER_SECONDS
    return await attempt(seconds, frame.evaluate(script("digest")))
