"""What the browser shows now: text for the model, a picture, a digest for loop detection."""

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
from manus.tools.browser.reading import pdf_text
from manus.tools.browser.snapshot import FrameView, extent, fit, page_lines, take_snapshot, texts_of
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
    """What the browser of a session shows now; None if none is open.

    The text has at most about `browser.page_characters` characters. The picture is of the viewport;
    there is none of an empty page, nor where it could not be taken. Never raises for anything a
    page does: a page that does not answer is described as such.
    """
    browser: Browser | None = session.peek(NAME)
    if browser is None:
        return None
    if browser.dead:
        return Observation("The browser has ended by itself; the next action starts a new one.")
    text = mask(await describe(browser), session.settings.secrets)
    data = await view(session) if screenshot else b""
    pictures = (Image(base64.b64encode(data).decode(), "image/jpeg"),) if data else ()
    page = text
    if (tab := browser.active) is not None:
        page = framed(text, source := source_of(tab))
        if is_foreign(source) and tab.page.url != "about:blank":
            session.egress_guard.taint(UNTRUSTED_TEXT)
            session.egress_guard.read(text, tab.page.url)
    return Observation(f"{STATE_HEAD}\n{page}", pictures)


async def view(session: Session) -> bytes:
    """The page in front as a JPEG; nothing where there is none, or where it is empty.

    The model's numbers of elements stay as they are: the page is not read.
    """
    browser: Browser | None = session.peek(NAME)
    tab = None if browser is None or browser.dead else browser.active
    if tab is None or tab.page.url == "about:blank":
        return b""
    return await tab.picture("jpeg", 60)


def source_of(tab: Tab) -> str:
    """Where what a tab shows comes from."""
    url = tab.page.url
    host = urlsplit(url).hostname if url.startswith("http") else None
    host = FILE if url.startswith("file:") else host
    return f"{WEB}: {host}" if host else WEB


async def describe(browser: Browser) -> str:
    """The page in front, as text: the model may act on it from now on. A failure is told once."""
    error = f"Last action failed: {browser.last_error}\n" if browser.last_error else ""
    browser.last_error = ""
    tab = browser.active
    if tab is None:
        return f"{error}No page is open."
    head = error + await _tabs(browser, tab)
    limit = browser.settings.page_characters
    head = head if len(head) <= limit // 2 else head[: limit // 2] + "…\n"
    return head + await _page(browser, tab, limit - len(head))


async def _tabs(browser: Browser, active: Tab) -> str:
    others = [tab for tab in browser.tabs.values() if tab is not active][-_MAX_TABS:]
    if not others:
        return ""
    titles = await asyncio.gather(*(tab.title() for tab in others))
    named = zip(others, titles, strict=True)
    lines = [f"- tab {tab.id}: {title} — {tab.page.url[:120]}\n" for tab, title in named]
    return "".join([f"Tab {active.id} is in front. Other tabs:\n", *lines])


async def _page(browser: Browser, tab: Tab, room: int) -> str:
    """The page; what of it is shown counts as known from now on."""
    before = browser.seen
    browser.seen = (tab.id, "")
    browser.seen_route = tab.route
    address = f"URL: {tab.page.url[:300]}\n"
    if tab.is_pdf:
        return address + await _pdf(browser, tab, room - len(address))
    view = await _look(browser, tab)
    if view is None:
        return address + _NO_ANSWER
    token = view.seen["token"]
    if tab.numbering.token != token:
        tab.numbering = Numbering(token)
    browser.seen = (tab.id, token)
    known = tab.numbering.known if before == browser.seen else None
    lines = page_lines(view, tab.numbering, known)
    tab.numbering.texts = texts_of(lines)
    tab.numbering.top = view.seen["scroll"]["top"]
    head = f"{address}Title: {view.seen['title']}\nPage: {extent(view)}\n"
    if view.seen["ready"] == "loading":
        head += "It is still loading.\n"
    body, numbers = fit(lines, max(200, room - len(head)))
    tab.numbering.known |= numbers
    tab.numbering.shown = numbers
    tab.numbering.shown_labels = dict(tab.numbering.labels)
    return head + (body or "Nothing can be seen on the page.")


async def new_texts(browser: Browser) -> str:
    """What has come to stand on the page in front since it was looked at, in quotes.

    Only a few texts: nothing if the page shows another document, another part or much else.
    """
    tab = browser.active
    view = await _look(browser, tab) if tab and not tab.is_pdf else None
    if tab is None or view is None or view.seen["token"] != tab.numbering.token:
        return ""
    before = tab.numbering.texts
    now = texts_of(page_lines(view, tab.numbering, None))
    top = tab.numbering.top
    tab.numbering.top = view.seen["scroll"]["top"]
    tab.numbering.texts = now
    new = [f'"{text[:_NEW_CHARACTERS]}"' for text in now if text not in before]
    return ", ".join(new) if top == tab.numbering.top and len(new) <= _MAX_NEW else ""


async def _look(browser: Browser, tab: Tab) -> FrameView | None:
    for _ in range(_TRIES):
        try:
            return await take_snapshot(tab.page)
        except PageStuckError:
            if not await tab.revive():
                return None
            browser.log.add(("event", "A script of the page ran without end and was stopped."))
        except PlaywrightError:  # it changes its document at this moment
            if not browser.has(tab):
                return None
            with contextlib.suppress(PageStuckError):
                await wait_until_idle(browser, tab, time.monotonic())
    return None


async def _pdf(browser: Browser, tab: Tab, room: int) -> str:
    """The beginning of a PDF, or what is in the way if it cannot be read."""
    try:
        text = await pdf_text(browser, tab)
    except ToolError as error:
        return str(error)
    lines = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    return ("This is a PDF; `extract_content` reads all of it.\n" + lines)[: max(room, 0)]


async def page_fingerprint(browser: Browser, mark: int) -> str | None:
    """A short digest of what the page in front shows, and of the dialogs since a mark of the log.

    It is the same while nothing has changed. None if the page does not answer.
    """
    tab = browser.active
    if tab is None or browser.dead:
        return None
    dialogs = [text for kind, text in browser.log.since(mark) if kind == "dialog"]
    frames = await asyncio.gather(*map(_digest, tab.page.frames[:_MAX_FRAMES]))
    if frames[0] is None:
        return None
    parts = [tab.page.url, *dialogs, *map(str, frames)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def _digest(frame: Frame) -> Any:
    """None of a frame that does not answer, as one does not whose page never came."""
    seconds = _FRAME_SECONDS if frame.parent_frame else ANSWER_SECONDS
    return await attempt(seconds, frame.evaluate(script("digest")))
