"""The state of the browser: text for the model, a screenshot, a digest for loop detection."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import time
from collections.abc import Collection
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from manus.calls.result import Image, Observation
from manus.calls.session import Session
from manus.config.safety_settings import mask
from manus.prompts.approval import UNTRUSTED_TEXT
from manus.prompts.browser import STATE_HEAD
from manus.prompts.sources import framed, is_foreign
from manus.state.errors import ToolError
from manus.state.text import shorten
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.marks import show_numbers
from manus.tools.browser.navigate import wait_until_idle
from manus.tools.browser.pointer import REACTION_SECONDS
from manus.tools.browser.reading import read_pdf
from manus.tools.browser.report import Report
from manus.tools.browser.snapshot import (
    FrameView,
    Line,
    describe_extent,
    fit_lines,
    render_lines,
    take_snapshot,
)
from manus.tools.browser.tab import ANSWER_SECONDS, Numbering, PageStuckError, Tab, attempt, script

_MAX_TABS = 20
_MAX_FRAMES = 10
_FRAME_SECONDS = 1.0
_TRIES = 3
_EMPTY_SECONDS = 5.0
"""The time that an application has to draw its first content."""
_MAX_NEW = 5
_NEW_CHARACTERS = 120
_NO_ANSWER = (
    "The page does not respond (one of its scripts may be running endlessly); go to an address, "
    "refresh, or close the tab."
)


async def browser_state(session: Session, *, screenshot: bool = False) -> Observation | None:
    """Return the current state of a session's browser; None if no browser is open.

    The text has at most about `browser.page_characters` characters. The picture shows the viewport;
    it is missing for an empty page, or if it could not be taken. Pages cannot make this raise: a
    page that does not respond is described as such.
    """
    browser: Browser | None = session.peek(NAME)
    if browser is None:
        return None
    if browser.dead:
        return Observation("The browser exited unexpectedly; the next action starts a new one.")
    secrets = session.settings.secrets
    own_text, page_text = (mask(text, secrets) for text in await describe(browser))
    data = await take_picture(session, numbered=True) if screenshot else b""
    pictures = (Image(base64.b64encode(data).decode(), "image/jpeg"),) if data else ()
    text = f"{STATE_HEAD}\n{own_text}".rstrip()
    if page_text and (tab := browser.active) is not None:
        text += "\n" + framed(page_text, source := tab.source)
        if is_foreign(source) and tab.page.url != "about:blank":
            session.egress_guard.taint(UNTRUSTED_TEXT)
            session.egress_guard.read(page_text, tab.page.url)
    return Observation(text, pictures)


async def take_picture(session: Session, *, numbered: bool = False) -> bytes:
    """Return the active page as a JPEG; empty if there is no page, or an empty one.

    With `numbered`, the visible elements are labeled with their numbers, which do not change, since
    the page is not read.
    """
    browser: Browser | None = session.peek(NAME)
    tab = None if browser is None or browser.dead else browser.active
    if tab is None or tab.page.url == "about:blank":
        return b""
    if not numbered:
        return await tab.picture("jpeg", 60)
    async with show_numbers(tab):
        return await tab.picture("jpeg", 60)


async def describe(browser: Browser) -> Report:
    """Describe the active page, on which the model may then act. A failure is reported once."""
    error = ""
    if browser.last_error:
        error = f"Last action failed: {browser.last_error}\n"
    browser.last_error = ""
    tab = browser.active
    if tab is None:
        return Report(f"{error}No page is open.")
    tabs = await _describe_tabs(browser, tab)
    limit = browser.settings.page_characters
    if len(tabs) > limit // 2:
        tabs = tabs[: limit // 2] + "…\n"
    room = limit - len(error) - len(tabs)
    active = f"Tab {tab.id} is active.\n" if tabs else ""
    own_text, page_text = await _describe_page(browser, tab, room)
    return Report(f"{error}{active}{own_text}", f"{tabs}{page_text}")


async def _describe_tabs(browser: Browser, active: Tab) -> str:
    other_tabs = [tab for tab in browser.tabs.values() if tab is not active][-_MAX_TABS:]
    if not other_tabs:
        return ""
    titles = await asyncio.gather(*(tab.title() for tab in other_tabs))
    titled_tabs = zip(other_tabs, titles, strict=True)
    lines = [f"- tab {tab.id}: {title} — {tab.page.url[:120]}\n" for tab, title in titled_tabs]
    return "".join(["Other tabs:\n", *lines])


async def _describe_page(browser: Browser, tab: Tab, room: int) -> Report:
    """Describe the page, and record which of its elements the model has seen."""
    before = browser.last_page
    browser.last_page = (tab.id, "")
    browser.last_route = tab.route
    browser.acted_since = False
    address = f"URL: {tab.page.url[:300]}\n"
    if await tab.shows_pdf():
        own_text, text = await _describe_pdf(browser, tab, room - len(address))
        return Report(address + own_text, text)
    view = await _take_snapshot(browser, tab)
    if view is not None and before != (tab.id, view.content["token"]):
        view = await _wait_for_content(browser, tab, view)
    if view is None:
        return Report(address + _NO_ANSWER)
    token = view.content["token"]
    if tab.numbering.token != token:
        tab.numbering = Numbering(token)
    browser.last_page = (tab.id, token)
    existing = tab.numbering.existing if before == browser.last_page else None
    lines = render_lines(view, tab.numbering, existing)
    _remember_lines(tab.numbering, view, lines)
    title = f"Title: {view.content['title']}\n" if view.content["title"] else ""
    own_text = f"{address}Page: {describe_extent(view)}\n"
    is_first = before != browser.last_page
    if view.content["ready"] == "loading" or (is_first and tab.is_loading):
        own_text += "It is still loading, so parts may be missing; `wait` shows what comes.\n"
    body, numbers, omitted_count = fit_lines(lines, max(200, room - len(own_text) - len(title)))
    tab.numbering.existing |= numbers
    tab.numbering.visible = numbers
    tab.numbering.visible_labels = dict(tab.numbering.labels)
    if omitted_count:
        own_text += f"{omitted_count} more elements in view are omitted.\n"
    if not body:
        own_text += "Nothing is visible on the page.\n"
    return Report(own_text.rstrip(), (title + body).rstrip())


async def _wait_for_content(browser: Browser, tab: Tab, view: FrameView) -> FrameView | None:
    """Return a snapshot of a new document as soon as its scripts have drawn anything."""
    deadline = time.monotonic() + _EMPTY_SECONDS
    latest: FrameView | None = view
    while latest is not None and not latest.content["items"] and tab.page.url != "about:blank":
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(REACTION_SECONDS)
        latest = await _take_snapshot(browser, tab)
    return latest


def _remember_lines(numbering: Numbering, view: FrameView, lines: list[Line]) -> None:
    numbering.texts = {line.content for line in lines}
    numbering.top = view.content["scroll"]["top"]


async def find_new_lines(browser: Browser) -> str:
    """Return what has appeared on the active page since it was read: texts and elements.

    Empty if the document or the scroll position changed.
    """
    tab = browser.active
    view = await _take_snapshot(browser, tab) if tab and not await tab.shows_pdf() else None
    if tab is None or view is None or view.content["token"] != tab.numbering.token:
        return ""
    before = tab.numbering.texts
    top = tab.numbering.top
    numbers = set(tab.numbering.labels)
    lines = render_lines(view, tab.numbering, None)
    _remember_lines(tab.numbering, view, lines)
    new = [line for line in lines if _is_new(line, before, numbers)]
    if top != tab.numbering.top:
        return ""
    more = f" … and {len(new) - _MAX_NEW} more" if len(new) > _MAX_NEW else ""
    return ", ".join(map(_quote_line, new[:_MAX_NEW])) + more


def _is_new(line: Line, before: Collection[str], numbers: Collection[int]) -> bool:
    """Return whether a line is new: a text, or an element rendered for the first time.

    A part that is rendered again with the same words is not new.
    """
    if line.number is not None and line.number in numbers:
        return False
    return line.is_content and line.content not in before


def _quote_line(line: Line) -> str:
    if line.number is not None:
        return shorten(f"[{line.number}] {line.label}", _NEW_CHARACTERS)
    return f'"{line.content[:_NEW_CHARACTERS]}"'


async def _take_snapshot(browser: Browser, tab: Tab) -> FrameView | None:
    for _ in range(_TRIES):
        try:
            await tab.find_closed_roots()
            return await take_snapshot(tab.page)
        except PageStuckError:
            if not await tab.revive():
                return None
            browser.log.add(("event", "A script of the page ran endlessly and was stopped."))
        except PlaywrightError:  # the document is changing
            if not browser.has(tab):
                return None
            with contextlib.suppress(PageStuckError):
                await wait_until_idle(browser, tab, time.monotonic())
    return None


async def _describe_pdf(browser: Browser, tab: Tab, room: int) -> Report:
    """Return the beginning of a PDF, or why it cannot be read."""
    try:
        text = await read_pdf(browser, tab)
    except ToolError as error:
        return Report(str(error))
    lines = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    return Report("This is a PDF; `extract_content` reads all of it.", lines[: max(room, 0)])


async def page_fingerprint(browser: Browser, mark: int, *, is_exact: bool = False) -> str | None:
    """Return a short digest of the active page, and of the dialogs since a mark of the log.

    It is stable while nothing changes; an exact one changes with every position and attribute.
    None if the page does not respond.
    """
    tab = browser.active
    if tab is None or browser.dead:
        return None
    dialogs = [text for kind, text in browser.log.since(mark) if kind == "dialog"]
    frames = await asyncio.gather(
        *(_compute_digest(frame, is_exact) for frame in tab.page.frames[:_MAX_FRAMES])
    )
    if frames[0] is None:
        return None
    parts = [tab.page.url, *dialogs, *map(str, frames)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def _compute_digest(frame: Frame, is_exact: bool) -> Any:
    """Return the digest of a frame; None if it does not respond, such as one that never loaded."""
    seconds = _FRAME_SECONDS if frame.parent_frame else ANSWER_SECONDS
    return await attempt(seconds, frame.evaluate(script("digest"), is_exact))
