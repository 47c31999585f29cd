"""Read a whole page or field: its text, or the parts that relate to a goal."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage

from manus.config.safety_settings import mask
from manus.prompts import render
from manus.prompts.browser import EXTRACT_REQUEST, EXTRACT_SYSTEM
from manus.prompts.sources import WEB, framed
from manus.state.errors import ModelError, ToolError
from manus.state.text import shorten
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import find_target
from manus.tools.browser.report import Report
from manus.tools.browser.tab import Tab, attempt, script, with_timeout
from manus.tools.browser.text_entry import keep_text, read_value
from manus.tools.web.excerpt import excerpt, split_text
from manus.tools.web.reader import parse, read_page

_HTML_SECONDS = 10.0
_PDF_SECONDS = 40.0
_PART_CHARACTERS = 8_000
_SHORT_CHARACTERS = 4_000
"""A text of this size costs less than a model call that reads it."""
_MIN_HIDDEN = 200
_MAX_ADDRESS = 300
_ANSWER_CHARACTERS = 6_000
"""Maximum size of an excerpt when there is no model to read the page."""
_MODEL_CHARACTERS = 40_000
_MIN_CHARACTERS = 400
"""A page with less text than this may have more in its frames."""
_MAX_FRAMES = 5


async def extract_content(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Return what the page says about a goal, or one part of its text if there is no goal.

    With an index, the text is that of this element, such as the value of a field. With a path, the
    whole text is written to a file.

    Raises:
        ToolError: the page has no text, or no part with that number.
        PageStuckError: the page does not respond.
    """
    session = browser.session
    subject, text, hidden = await _read_subject(browser, tab, arguments)
    text = mask(text, session.settings.secrets)
    session.egress_guard.read(text, tab.page.url)
    if not text:
        raise ToolError(f"{subject} has no readable text.")
    if arguments.path is not None:
        await keep_text(browser, arguments.path, text, tab.source)
        return Report(f"Wrote {len(text):,} characters of {subject} to {arguments.path}.")
    if hidden >= _MIN_HIDDEN:
        subject += f" (without {hidden:,} characters that are hidden or collapsed)"
    if arguments.goal and len(text) > _SHORT_CHARACTERS:
        return await _read_for_goal(browser, subject, text, arguments.goal)
    return _select_part(subject, text, arguments.page or 1)


async def _read_subject(browser: Browser, tab: Tab, arguments: BrowserArgs) -> tuple[str, str, int]:
    """Return the name of what is read, its text, and the number of its hidden characters."""
    if arguments.index is not None:
        target = await find_target(tab, arguments.index)
        if target.type == "password":
            raise ToolError(f"{target.label} is a password, which is not shown.")
        return target.label, await read_value(target), 0
    subject = shorten(tab.page.url, _MAX_ADDRESS)
    if await tab.shows_pdf():
        return subject, await read_pdf(browser, tab), 0
    return subject, *await _read_text(tab)


async def _read_for_goal(browser: Browser, subject: str, text: str, goal: str) -> Report:
    """Return what a long text says about a goal: a model's answer, or the parts that match."""
    session = browser.session
    note = ""
    if session.complete is not None:
        selection = await asyncio.to_thread(excerpt, text, goal, _MODEL_CHARACTERS)
        request = render(EXTRACT_REQUEST, goal=goal, page=framed(f"{subject}\n\n{selection}", WEB))
        try:
            messages = [SystemMessage(EXTRACT_SYSTEM), HumanMessage(request)]
            if answer := (await session.complete("extract", list(messages))).strip():
                return Report(f"What {subject} says about the goal:", answer)
        except ModelError as error:
            note = f" (The model that reads pages failed: {error})"
    selection = await asyncio.to_thread(excerpt, text, goal, _ANSWER_CHARACTERS)
    return Report(f"The parts of {subject} that relate to the goal:{note}", selection)


def _select_part(subject: str, text: str, number: int) -> Report:
    parts = split_text(text, _PART_CHARACTERS)
    if not 1 <= number <= len(parts):
        count = f"{len(parts)} page{'s' * (len(parts) > 1)}"
        raise ToolError(f"The text of {subject} has {count}; page {number} does not exist.")
    position = f", page {number} of {len(parts)}" if len(parts) > 1 else ""
    return Report(f"Text of {subject}{position}:", parts[number - 1].strip("\n"))


async def _read_text(tab: Tab) -> tuple[str, int]:
    """Return the visible text of a page, and how many characters are hidden."""
    content = await with_timeout(_HTML_SECONDS, tab.page.evaluate(script("content")))
    html = str(content["html"])
    hidden = int(content["hidden"])
    if tab.read is not None and tab.read[0] == html:
        return tab.read[1], hidden
    text = (await parse("rendered", tab.page.url, html.encode(), "utf-8")).text
    if len(text) < _MIN_CHARACTERS:
        for frame in tab.page.frames[1 : 1 + _MAX_FRAMES]:
            if content := await attempt(_HTML_SECONDS, frame.evaluate(script("content"))):
                data = str(content["html"]).encode()
                frame_text = (await parse("rendered", frame.url, data, "utf-8")).text
                text = f"{text}\n\n{frame_text}".strip()
    title = await tab.title()
    if text and title not in text:
        text = f"{title}\n\n{text}"
    tab.read = (html, text)
    return text, hidden


async def read_pdf(browser: Browser, tab: Tab) -> str:
    """Fetch the PDF of a tab again and return its text, since its viewer has no elements."""
    url = tab.page.url
    if tab.read is None or tab.read[0] != url:
        browser_cookies = await tab.page.context.cookies(url)
        cookies = {str(cookie.get("name")): str(cookie.get("value")) for cookie in browser_cookies}
        tab.read = (url, (await read_page(browser.proxy, url, _PDF_SECONDS, cookies)).text)
    return tab.read[1]
