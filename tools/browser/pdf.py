"""A PDF in a tab: the viewer shows no elements, so its bytes are fetched and read as text."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.tab import Tab
from manus.tools.web.pdf_text import pdf_markdown, pdf_pages

_FETCH_SECONDS = 20.0
_MAX_BYTES = 50 * 1024 * 1024


async def pdf_text(tab: Tab) -> str:
    """The text of the PDF that a tab shows, as Markdown.

    Raises:
        ToolError: it cannot be fetched again or read.
    """
    url = tab.page.url
    if tab.pdf is not None and tab.pdf[0] == url:
        return tab.pdf[1]
    try:
        response = await within(_FETCH_SECONDS, tab.page.context.request.get(url))
        data = await within(_FETCH_SECONDS, response.body())
        await response.dispose()
    except (PlaywrightError, PageStuckError):
        raise ToolError(f"The PDF {url} could not be fetched for reading.") from None
    if len(data) > _MAX_BYTES:
        raise ToolError(f"The PDF {url} is too large to be read ({len(data):,} bytes).")
    try:
        text = pdf_markdown(*await asyncio.to_thread(pdf_pages, data))
    except ValueError as error:
        raise ToolError(f"The PDF {url} cannot be read as text: {error}.") from None
    tab.pdf = (url, text)
    return text


async def pdf_preview(tab: Tab, room: int) -> str:
    """The beginning of a PDF for the page's state; what is in the way if it cannot be read."""
    try:
        text = await pdf_text(tab)
    except ToolError as error:
        return str(error)
    head = "This is a PDF; `extract_content` reads all of it.\n"
    lines = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    room -= len(head)
    return head + (lines if len(lines) <= room else lines[: max(0, room - 1)] + "…")
