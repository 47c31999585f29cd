"""What a person does on the chat page."""

import asyncio

from playwright.async_api import Page, Route


async def say(page: Page, words: str) -> None:
    await page.get_by_label("Message").fill(words)
    await page.get_by_label("Message").press("Enter")


async def hold(event: asyncio.Event, route: Route) -> None:
    """Hold a request of the page until an event is set."""
    await event.wait()
    await route.continue_()
