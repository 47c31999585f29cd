"""The browser of a run: its tabs, which one is in front, and everything that befalls them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from playwright.async_api import Dialog, Download, Page
from playwright.async_api import Error as PlaywrightError

from manus.state.browser_settings import BrowserSettings
from manus.tools.browser.dialogs import OpenQuestion, answer_dialog
from manus.tools.browser.downloads import keep_download
from manus.tools.browser.engine import Engine, start_engine
from manus.tools.browser.log import Log
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.tab import Tab
from manus.tools.session import Session
from manus.tools.web.egress_proxy import EgressProxy, egress_of
from manus.tools.workspace import Workspace

NAME = "browser"
"""Its name in the session."""
_CLOSE_SECONDS = 5.0
_OPEN_SECONDS = 15.0


class Browser:
    """A started browser. `obtain_browser` makes one."""

    def __init__(
        self, engine: Engine, proxy: EgressProxy, settings: BrowserSettings, workspace: Workspace
    ) -> None:
        self.engine = engine
        self.proxy = proxy
        self.settings = settings
        self.workspace = workspace
        self.log = Log()
        self.tabs: dict[int, Tab] = {}
        self.dead = False
        """It has ended on its own; only a new one helps."""
        self.question: OpenQuestion | None = None
        """A dialog about which a person is asked."""
        self.last_error = ""
        """What the last action said if it failed."""
        self.seen: tuple[int, str] = (0, "")
        """The tab and the document that the model has seen last."""
        self.last_url = ""
        """What the tab that was closed last showed."""
        self._active = 0
        self._last_tab = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listen()

    def _listen(self) -> None:
        context = self.engine.context
        context.on("page", self._adopt)
        context.on("close", self._on_death)
        if self.engine.browser is not None:
            self.engine.browser.on("disconnected", self._on_death)
        for page in context.pages:
            self._adopt(page)

    def _adopt(self, page: Page) -> None:
        if any(tab.page == page for tab in self.tabs.values()):
            return
        self._last_tab += 1
        tab = Tab(self._last_tab, page, self.log)
        self.tabs[tab.id] = tab
        self._active = tab.id
        page.on("dialog", lambda dialog: self._spawn(self._on_dialog(dialog, tab)))
        page.on("download", lambda download: self._spawn(self._on_download(download)))
        page.on("close", lambda _: self._on_close(tab))
        self._spawn(tab.cdp())

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _on_dialog(self, dialog: Dialog, tab: Tab) -> None:
        question = await answer_dialog(dialog, tab, self.settings.dialogs, self.log)
        self.question = question or self.question

    async def _on_download(self, download: Download) -> None:
        limit = self.settings.max_download_megabytes
        await keep_download(download, self.workspace, limit, self.log)

    def _on_close(self, tab: Tab) -> None:
        self.last_url = tab.page.url
        self.tabs.pop(tab.id, None)
        if self._active == tab.id:
            self._active = max(self.tabs, default=0)

    def _on_death(self, _: object) -> None:
        self.dead = True
        for tab in self.tabs.values():
            tab.trouble.set()

    @property
    def active(self) -> Tab | None:
        """The tab in front, if there is one."""
        return self.tabs.get(self._active)

    @property
    def downloading(self) -> bool:
        """Whether something works in the background: a download, the answer to a dialog."""
        return bool(self._tasks)

    async def tab(self) -> Tab:
        """The tab in front; a new one if there is none, or if it has crashed."""
        tab = self.active
        if tab is not None and tab.crashed:
            self.log.add("trouble", "The page had crashed; its tab was replaced by an empty one.")
            tab = await self.replace(tab)
        return tab or await self.open_tab()

    async def open_tab(self) -> Tab:
        """A new empty tab in front."""
        page = await within(_OPEN_SECONDS, self.engine.context.new_page())
        self._adopt(page)
        tab = next(tab for tab in self.tabs.values() if tab.page == page)
        self._active = tab.id
        return tab

    async def bring_to_front(self, tab: Tab) -> None:
        """Make a tab the active one."""
        self._active = tab.id
        with contextlib.suppress(PlaywrightError, PageStuckError):
            await within(_CLOSE_SECONDS, tab.page.bring_to_front())

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab, whatever state it is in."""
        with contextlib.suppress(PlaywrightError, PageStuckError):
            await within(_CLOSE_SECONDS, tab.page.close())
        self._on_close(tab)

    async def replace(self, tab: Tab) -> Tab:
        """An empty tab instead of one that is beyond help."""
        fresh = await self.open_tab()
        await self.close_tab(tab)
        self._active = fresh.id
        return fresh

    async def close(self) -> None:
        """End the browser."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.engine.close()


async def obtain_browser(session: Session) -> tuple[Browser, str]:
    """The session's browser, and a word if it is a new one in place of one that has died.

    Raises:
        ToolUnavailableError: it cannot be started.
    """
    said = ""
    known: Browser | None = session.peek(NAME)
    if known is not None and known.dead:
        at = f" It showed {known.last_url}." if known.last_url else ""
        said = f"The browser had ended by itself, so a new one was started, with no page open.{at}"
        await session.discard(NAME)

    async def make() -> Browser:
        proxy = await egress_of(session)
        settings = session.settings.browser
        engine = await start_engine(settings, proxy.url)
        return Browser(engine, proxy, settings, session.workspace)

    return await session.obtain(NAME, make), said
