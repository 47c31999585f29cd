"""Reading a whole page: its main text, or what it says about a goal."""

from __future__ import annotations

import asyncio

from langchain_core.messages import HumanMessage, SystemMessage
from playwright.async_api import Error as PlaywrightError

from manus.prompts.browser import EXTRACT_REQUEST, EXTRACT_SYSTEM
from manus.prompts.render import render
from manus.state.errors import ModelError, ToolError
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.pdf import pdf_text
from manus.tools.browser.tab import Tab
from manus.tools.session import Session
from manus.tools.web.main_text import main_text
from manus.tools.web.relevance import cut_by_relevance

_HTML_SECONDS = 10.0
_PAGE_CHARACTERS = 8_000
_ANSWER_CHARACTERS = 6_000
"""Of the page's own words, when there is no model to read them."""
_MODEL_CHARACTERS = 40_000
_LITTLE = 400
"""A page with less text than this may have the rest of it in frames."""
_MAX_FRAMES = 5


async def extract_content(session: Session, tab: Tab, goal: str | None, page: int | None) -> str:
    """What the page says about a goal; without a goal its text, page by page.

    Raises:
        ToolError: the page has no text, or not so many pages of it.
        PageStuckError: it does not answer.
    """
    url, title = tab.page.url, await tab.title()
    text = await pdf_text(tab) if tab.is_pdf else await _text(tab)
    if not text:
        raise ToolError("The page has no text that can be read.")
    if not goal:
        return _one_page(text, title, url, page or 1)
    if session.complete is not None:
        cut = await asyncio.to_thread(cut_by_relevance, text, goal, _MODEL_CHARACTERS)
        request = render(EXTRACT_REQUEST, goal=goal, title=title, url=url, words=cut)
        messages = [SystemMessage(EXTRACT_SYSTEM), HumanMessage(request)]
        try:
            if answer := (await session.complete("extract", list(messages))).strip():
                return f"From {title or url} ({url}):\n\n{answer}"
        except ModelError as error:
            why = f"(The model that reads pages failed: {error} These are the page's own words.)\n"
            return why + await _by_relevance(text, goal, title, url)
    return await _by_relevance(text, goal, title, url)


async def _by_relevance(text: str, goal: str, title: str, url: str) -> str:
    cut = await asyncio.to_thread(cut_by_relevance, text, goal, _ANSWER_CHARACTERS)
    what = "its text" if len(cut) == len(text) else "the parts that have to do with the goal"
    return f"From {title or url} ({url}), {what}:\n\n{cut}"


def _one_page(text: str, title: str, url: str, page: int) -> str:
    pages = split_pages(text, _PAGE_CHARACTERS)
    if page > len(pages):
        raise ToolError(f"The page's text has {len(pages)} pages; there is no page {page}.")
    head = f"From {title or url} ({url})"
    if len(pages) > 1:
        head += f", page {page} of {len(pages)}"
    return f"{head}:\n\n{pages[page - 1]}"


def split_pages(text: str, size: int) -> list[str]:
    """A text in pages of at most `size` characters, broken between paragraphs where possible."""
    pages: list[str] = []
    while len(text) > size:
        cut = max(text.rfind("\n\n", size // 2, size), -1)
        cut = cut if cut > 0 else text.rfind("\n", size // 2, size)
        cut = cut if cut > 0 else size
        pages.append(text[:cut].rstrip())
        text = text[cut:].lstrip("\n")
    return [*pages, text]


async def _text(tab: Tab) -> str:
    html = await within(_HTML_SECONDS, tab.page.content())
    found = await asyncio.to_thread(main_text, html, tab.page.url)
    text = found.text
    if len(text) < _LITTLE:
        for frame in tab.page.frames[1 : 1 + _MAX_FRAMES]:
            try:
                inner = await within(_HTML_SECONDS, frame.content())
            except (PlaywrightError, PageStuckError):
                continue
            more = (await asyncio.to_thread(main_text, inner, frame.url)).text
            text = f"{text}\n\n{more}".strip() if more else text
    return text
