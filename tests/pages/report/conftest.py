"""A browser to view pages in tests."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from manus.config.browser_settings import BrowserSettings
from manus.tools.browser.engine import launch
from tests.pages.report.viewer import View, Viewer


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """Provide one browser for all tests; starting one takes seconds."""
    expect.set_options(timeout=60_000)
    async with async_playwright() as playwright:
        browser = await launch(playwright, BrowserSettings())
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def view(chromium: Browser) -> AsyncIterator[View]:
    """Open a page; its requests and error messages are recorded."""
    viewers: list[Viewer] = []

    async def look(address: str, **options: Any) -> Viewer:
        context = await chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(60_000)
        viewers.append(await Viewer.open(context, address))
        return viewers[-1]

    yield look
    for viewer in viewers:
        await viewer.page.context.close()
