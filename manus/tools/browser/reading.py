"""Reading a whole page: its text, or what it says about a goal."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage

from manus.config.secret_texts import mask
from manus.prompts import render
from manus.prompts.browser import EXTRACT_REQUEST, EXTRACT_SYSTEM
from manus.prompts.sources import WEB, framed
from manus.state.errors import ModelError, ToolError
from manus.tools.browser.browser import Browser
from manus.tools.browser.tab import Tab, attempt, with_timeout
from manus.tools.browser_use import BrowserArgs
from manus.tools.web.excerpt import excerpt, split_text
from manus.tools.web.reader import parse, read_page

_HTML_SECONDS = 10.0
_PDF_SECONDS = 40.0
_PAGE_CHARACTERS = 8_000
_ANSWER_CHARACTERS = 6_000
"""Of the page's own words, when there is no model to read them."""
_MODEL_CHARACTERS = 40_000
_LITTLE = 400
"""A page with less text than this may have the rest of it in frames."""
_MAX_FRAMES = 5


async def extract_content(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """What the page says about a goal; without a goal its text, page by page.

    Raises:
        ToolError: the page has no text, or not so many pages of it.
        PageStuckError: it does not answer.
    """
    session = browser.session
    goal = a.goal
    url = tab.page.url
    title = await tab.title()
    text = await pdf_text(browser, tab) if tab.is_pdf else await _text(tab)
    text = mask(text, session.settings.secrets)
    head = f"From {title or url} ({url})"
    session.egress_guard.read(text, url)
    if not text:
        raise ToolError("The page has no text that can be read.")
    if not goal:
        return head + _one_page(text, a.page or 1)
    note = ""
    if session.complete is not None:
        cut = await asyncio.to_thread(excerpt, text, goal, _MODEL_CHARACTERS)
        read = framed(f"{title}\n{url}\n\n{cut}", WEB)
        request = render(EXTRACT_REQUEST, goal=goal, page=read)
        try:
            messages = [SystemMessage(EXTRACT_SYSTEM), HumanMessage(request)]
            if answer := (await session.complete("extract", list(messages))).strip():
                return f"{head}:\n\n{answer}"
        except ModelError as error:
            note = f"(The model that reads pages failed: {error} These are the page's own words.)\n"
    cut = await asyncio.to_thread(excerpt, text, goal, _ANSWER_CHARACTERS)
    what = "its text" if cut == text else "the parts that have to do with the goal"
    return f"{note}{head}, {what}:\n\n{cut}"


def _one_page(text: str, page: int) -> str:
    pages = split_text(text, _PAGE_CHARACTERS)
    if page > len(pages):
        raise ToolError(f"The page's text has {len(pages)} pages; there is no page {page}.")
    of = f", page {page} of {len(pages)}" if len(pages) > 1 else ""
    return f"{of}:\n\n{pages[page - 1].strip()}"


async def _text(tab: Tab) -> str:
    html = await with_timeout(_HTML_SECONDS, tab.page.content())
    if tab.read is not None and tab.read[0] == html:
        return tab.read[1]
    text = (await parse("html", tab.page.url, html.encode(), "utf-8")).text
    if len(text) < _LITTLE:
        for frame in tab.page.frames[1 : 1 + _MAX_FRAMES]:
            if inner := await attempt(_HTML_SECONDS, frame.content()):
                more = (await parse("html", frame.url, inner.encode(), "utf-8")).text
                text = f"{text}\n\n{more}".strip()
    tab.read = (html, text)
    return text


async def pdf_text(browser: Browser, tab: Tab) -> str:
    """The text of the PDF that a tab shows: its viewer has no elements, so it is fetched again."""
    url = tab.page.url
    if tab.read is None or tab.read[0] != url:
        kept = await tab.page.context.cookies(url)
        cookies = {str(cookie.get("name")): str(cookie.get("value")) for cookie in kept}
        tab.read = (url, (await read_page(browser.proxy, url, _PDF_SECONDS, cookies)).text)
    return tab.read[1]
