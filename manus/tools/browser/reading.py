"""Read a whole page: its text, or the parts about a goal."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage

from manus.config.secret_texts import mask
from manus.prompts import render
from manus.prompts.browser import EXTRACT_REQUEST, EXTRACT_SYSTEM
from manus.prompts.sources import WEB, framed
from manus.state.errors import ModelError, ToolError
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.tab import Tab, attempt, with_timeout
from manus.tools.web.excerpt import excerpt, split_text
from manus.tools.web.reader import parse, read_page

_HTML_SECONDS = 10.0
_PDF_SECONDS = 40.0
_PAGE_CHARACTERS = 8_000
_ANSWER_CHARACTERS = 6_000
"""Maximum size of an excerpt when there is no model to read the page."""
_MODEL_CHARACTERS = 40_000
_MIN_CHARACTERS = 400
"""A page with less text than this may have more in its frames."""
_MAX_FRAMES = 5


async def extract_content(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Return what the page says about a goal; without a goal one page of its text.

    Raises:
        ToolError: the page has no text, or no page of that number.
        PageStuckError: the page does not answer.
    """
    session = browser.session
    goal = arguments.goal
    url = tab.page.url
    title = await tab.title()
    text = await read_pdf(browser, tab) if tab.is_pdf else await _read_text(tab)
    text = mask(text, session.settings.secrets)
    header = f"From {title or url} ({url})"
    session.egress_guard.read(text, url)
    if not text:
        raise ToolError("The page has no text that can be read.")
    if not goal:
        return header + _select_page(text, arguments.page or 1)
    note = ""
    if session.complete is not None:
        selection = await asyncio.to_thread(excerpt, text, goal, _MODEL_CHARACTERS)
        framed_page = framed(f"{title}\n{url}\n\n{selection}", WEB)
        request = render(EXTRACT_REQUEST, goal=goal, page=framed_page)
        try:
            messages = [SystemMessage(EXTRACT_SYSTEM), HumanMessage(request)]
            if answer := (await session.complete("extract", list(messages))).strip():
                return f"{header}:\n\n{answer}"
        except ModelError as error:
            note = f"(The model that reads pages failed: {error} These are the page's own words.)\n"
    selection = await asyncio.to_thread(excerpt, text, goal, _ANSWER_CHARACTERS)
    subject = "the parts that have to do with the goal"
    if selection == text:
        subject = "its text"
    return f"{note}{header}, {subject}:\n\n{selection}"


def _select_page(text: str, page: int) -> str:
    pages = split_text(text, _PAGE_CHARACTERS)
    if page > len(pages):
        raise ToolError(f"The page's text has {len(pages)} pages; there is no page {page}.")
    position = ""
    if len(pages) > 1:
        position = f", page {page} of {len(pages)}"
    return f"{position}:\n\n{pages[page - 1].strip()}"


async def _read_text(tab: Tab) -> str:
    html = await with_timeout(_HTML_SECONDS, tab.page.content())
    if tab.read is not None and tab.read[0] == html:
        return tab.read[1]
    text = (await parse("html", tab.page.url, html.encode(), "utf-8")).text
    if len(text) < _MIN_CHARACTERS:
        for frame in tab.page.frames[1 : 1 + _MAX_FRAMES]:
            if html_text := await attempt(_HTML_SECONDS, frame.content()):
                frame_text = (await parse("html", frame.url, html_text.encode(), "utf-8")).text
                text = f"{text}\n\n{frame_text}".strip()
    tab.read = (html, text)
    return text


async def read_pdf(browser: Browser, tab: Tab) -> str:
    """Fetch the PDF of a tab again and return its text, since its viewer has no elements."""
    url = tab.page.url
    if tab.read is None or tab.read[0] != url:
        browser_cookies = await tab.page.context.cookies(url)
        cookies = {str(cookie.get("name")): str(cookie.get("value")) for cookie in browser_cookies}
        tab.read = (url, (await read_page(browser.proxy, url, _PDF_SECONDS, cookies)).text)
    return tab.read[1]
