"""A page in a real browser, with a record of its requests and messages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from playwright.async_api import BrowserContext, Page


@dataclass
class Viewer:
    """An open page."""

    page: Page
    requests: list[str] = field(default_factory=list)
    """All addresses that it requested, except its own and data URLs."""
    complaints: list[str] = field(default_factory=list)
    """Console messages, and errors of its script."""

    @classmethod
    async def open(cls, context: BrowserContext, address: str) -> Self:
        viewer = cls(await context.new_page())
        viewer.page.on("request", lambda request: viewer._note(request.url, address))
        viewer.page.on("console", lambda message: viewer.complaints.append(message.text))
        viewer.page.on("pageerror", lambda error: viewer.complaints.append(str(error)))
        await viewer.page.goto(address)
        return viewer

    def _note(self, url: str, address: str) -> None:
        if url.partition("#")[0] != address.partition("#")[0] and not url.startswith("data:"):
            self.requests.append(url)


View = Callable[..., Awaitable[Viewer]]
"""Opens a page at an address."""
