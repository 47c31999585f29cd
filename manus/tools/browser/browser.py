"""The browser of a run: its tabs, the active tab, downloads and dialogs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from playwright.async_api import Dialog, Download, Page, Route
from playwright.async_api import Error as PlaywrightError

from manus.calls.changed_files import add_downloads
from manus.calls.session import Session, get_egress_proxy
from manus.sandbox.egress import is_loopback
from manus.sandbox.egress_proxy import EgressProxy
from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.browser.engine import Engine, start_engine
from manus.tools.browser.tab import Log, Tab, attempt, with_timeout
from manus.workspace.safe_open import open_at
from manus.workspace.workspace import Workspace

NAME = "browser"
"""Name of the browser among the session's resources."""
_FILES = re.compile("^(view-source:)?file:", re.IGNORECASE)
_DISMISSED = "A dialog was dismissed; repeat the action with accept=true to accept it."
_CLOSE_SECONDS = 5.0
_OPEN_SECONDS = 30.0
_FOLDER = "downloads"
_POLL_SECONDS = 0.2
_MAX_MEGABYTES = 200
_WINDOW_SECONDS = 2.0
"""Maximum time until a window that a page has requested appears as a tab."""
_TOO_LARGE = f"it is larger than {_MAX_MEGABYTES} MB; download it with a program such as `curl`."


class Downloads:
    """The downloads of one browser; each is cancelled as soon as it is too large."""

    def __init__(self, workspace: Workspace, log: Log) -> None:
        self._workspace = workspace
        self._log = log
        self.under_way: set[Download] = set()
        """Unfinished downloads."""
        self._too_large: set[str] = set()
        """Addresses of downloads over the size limit."""

    async def watch(self, tab: Tab) -> None:
        """Track the size of the downloads of a page."""
        cdp = await tab.cdp()
        if cdp is None:
            return
        urls: dict[str, str] = {}

        def progress(event: dict[str, Any]) -> None:
            if max(event["receivedBytes"], event["totalBytes"]) > _MAX_MEGABYTES * 2**20:
                self._too_large.add(urls.get(event["guid"], ""))

        cdp.on("Page.downloadWillBegin", lambda event: urls.update({event["guid"]: event["url"]}))
        cdp.on("Page.downloadProgress", progress)
        with contextlib.suppress(PlaywrightError):
            await cdp.send("Page.enable")

    async def keep(self, download: Download) -> None:
        """Wait for a download, move it into the workspace, and log the result."""
        # Chromium has sanitized the name, except for its length
        name = Path(download.suggested_filename)
        name = Path(name.stem[:100] + name.suffix[:12])
        self.under_way.add(download)
        ending = asyncio.ensure_future(download.failure())
        try:
            while not ending.done():
                if download.url in self._too_large:
                    raise ToolError(_TOO_LARGE)
                await asyncio.wait({ending}, timeout=_POLL_SECONDS)
            message = f"The download of {name} failed: {ending.result()}."
            if not ending.result():
                message = await asyncio.to_thread(self._move, Path(await download.path()), name)
        except (ToolError, OSError) as error:
            message = f"The download of {name} could not be saved: {error}"
        except PlaywrightError:
            message = f"The download of {name} was interrupted."
        finally:
            ending.cancel()
            self.under_way.discard(download)
            self._too_large.discard(download.url)
            with contextlib.suppress(PlaywrightError):
                await download.cancel()
                await download.delete()
        self._log.add(("download", message))

    def _move(self, source: Path, name: Path) -> str:
        size = source.stat().st_size
        if size > _MAX_MEGABYTES * 2**20:
            raise ToolError(_TOO_LARGE)
        for count in itertools.count(1):
            number = f" ({count})" if count > 1 else ""
            target = self._workspace.writable(f"{_FOLDER}/{name.stem}{number}{name.suffix}")
            with contextlib.suppress(FileExistsError):
                new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                descriptor = open_at(target, new, 0o644, make=0o777)
                break
        with source.open("rb") as reading, os.fdopen(descriptor, "wb") as writing:
            shutil.copyfileobj(reading, writing)
        add_downloads(self._workspace, [self._workspace.show(target)])
        return f"Downloaded {self._workspace.show(target)} ({size:,} bytes)."


class Browser:
    """A running browser, created by `obtain_browser`."""

    def __init__(self, engine: Engine, proxy: EgressProxy, session: Session) -> None:
        self.engine = engine
        self.proxy = proxy
        self.session = session
        self.settings = session.settings.browser
        self.log = Log()
        self.tabs: dict[int, Tab] = {}
        self.active: Tab | None = None
        """The active tab."""
        self.dead = False
        """Whether the browser has exited unexpectedly, so that a new one is needed."""
        self.last_error = ""
        """The error of the last action; empty if it succeeded."""
        self.answer: str | None = None
        """The answer of the current action to a dialog of the page; None dismisses it."""
        self.last_page: tuple[int, str] = (0, "")
        """The tab and the document that the model has seen last."""
        self.last_route = ""
        """The route of that document at the time."""
        self.acted_since = False
        """Whether an action may have changed the page since then."""
        self.downloads = Downloads(session.workspace, self.log)
        self._shows_files = False
        self._last_tab = 0
        self.tasks: set[asyncio.Task[Any]] = set()
        """Background tasks: downloads, answers to dialogs."""
        self._requested_windows: list[float] = []
        """Monotonic times at which pages requested windows that have not appeared as tabs."""
        context = engine.context
        context.on("page", self._on_page)
        context.on("close", self._on_death)
        if context.browser is not None:
            context.browser.on("disconnected", self._on_death)
        for page in context.pages:
            self._adopt(page)

    def _on_page(self, page: Page) -> None:
        if self._requested_windows:
            self._requested_windows.pop(0)
        self._adopt(page)

    async def _watch(self, tab: Tab) -> None:
        await self.downloads.watch(tab)
        await self._watch_windows(tab)

    async def _watch_windows(self, tab: Tab) -> None:
        """Record each window that a page requests, since its tab appears only after a while."""
        cdp = await tab.cdp()
        if cdp is None:
            return
        cdp.on("Page.windowOpen", lambda _: self._requested_windows.append(time.monotonic()))
        with contextlib.suppress(PlaywrightError):
            await cdp.send("Page.enable")

    @property
    def is_opening_window(self) -> bool:
        """Return whether a page has just requested a window that has not appeared as a tab."""
        now = time.monotonic()
        return any(now - moment < _WINDOW_SECONDS for moment in self._requested_windows)

    def _adopt(self, page: Page) -> Tab:
        if existing := [tab for tab in self.tabs.values() if tab.page == page]:
            return existing[0]
        self._last_tab += 1
        tab = Tab(self._last_tab, page, self.log)
        self.tabs[tab.id] = tab
        self.active = tab
        page.on("dialog", lambda dialog: self._spawn(self._answer(dialog)))
        page.on("download", lambda download: self._spawn(self.downloads.keep(download)))
        page.on("close", lambda _: self._on_close(tab))
        page.on("crash", lambda _: self._on_crash(tab))
        # attach now: it is impossible once the page hangs
        self._spawn(self._watch(tab))
        return tab

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, dialog: Dialog) -> None:
        """Close a dialog at once, since a page with an open dialog does not respond."""
        kind = dialog.type
        is_accepted = self.answer is not None or self.settings.dialogs == "accept"
        is_accepted = is_accepted or kind in {"alert", "beforeunload"}
        with contextlib.suppress(PlaywrightError):
            if is_accepted:
                answer = (self.answer or dialog.default_value) if kind == "prompt" else ""
                await dialog.accept(answer)
            else:
                await dialog.dismiss()
        message = one_line(dialog.message, 300)
        outcome = "accepted" if is_accepted else "dismissed"
        if kind == "alert":
            outcome = "closed"
        self.log.add(("dialog", f'{kind} "{message}" was {outcome}.'))
        if not is_accepted:
            self.log.add(("event", _DISMISSED))

    def _on_close(self, tab: Tab) -> None:
        self.tabs.pop(tab.id, None)
        if self.active is tab:
            self.active = next(reversed(self.tabs.values()), None)

    def _on_crash(self, tab: Tab) -> None:
        self.last_error = "The page crashed, so its tab was closed."
        self._on_close(tab)
        self._spawn(self.close_tab(tab))

    def _on_death(self, _: object) -> None:
        self.dead = True

    def has(self, tab: Tab) -> bool:
        """Return whether a tab still exists."""
        return not self.dead and tab.id in self.tabs

    @property
    def navigation_seconds(self) -> float:
        """Return the maximum number of seconds until a server starts to respond."""
        return self.settings.action_timeout * 0.6

    async def tab(self) -> Tab:
        """Return the active tab; open one if there is none."""
        return self.active or await self.open_tab()

    async def open_tab(self) -> Tab:
        """Open an empty tab and make it the active one."""
        page = await with_timeout(_OPEN_SECONDS, self.engine.context.new_page())
        self.active = self._adopt(page)
        return self.active

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab, whatever state it is in."""
        await attempt(_CLOSE_SECONDS, tab.page.close())
        self._on_close(tab)

    async def leave_own(self, tab: Tab) -> None:
        """Leave a local page, so that a web page opened next cannot read its content."""
        if self.proxy.shows_program_content:
            await tab.page.goto("about:blank")
            # `window.name` survives a navigation, and the next page can read it
            await tab.page.evaluate("window.name = ''")
            urls = [urlsplit(tab.page.url) for tab in self.tabs.values()]
            self.proxy.shows_program_content = any(_is_local(url) for url in urls)

    async def open_workspace(self) -> None:
        """Allow files of the workspace as pages; web pages still cannot read any of them."""
        self.proxy.note_program_content()
        if not self._shows_files:
            self._shows_files = True
            await self.engine.context.route(_FILES, self._guard_file)

    async def _guard_file(self, route: Route) -> None:
        """Allow `file:` addresses in the workspace only, whatever requests them."""
        try:
            await asyncio.to_thread(workspace_file, self.session.workspace, route.request.url)
        except ToolError:
            await route.abort("accessdenied")
        else:
            await route.continue_()

    async def close(self) -> None:
        """End the browser."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.engine.close()


def _is_local(url: SplitResult) -> bool:
    return url.scheme == "file" or is_loopback(url.hostname or "")


def workspace_file(workspace: Workspace, url: str) -> Path:
    """Return the file of a `file:` address. Blocking.

    Raises:
        ToolError: the address is outside the workspace.
    """
    parts = urlsplit(url)
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        raise ToolError(f"{url} is not a file in the workspace.")
    return workspace.readable(unquote(parts.path))


async def obtain_browser(session: Session) -> tuple[Browser, str]:
    """Return the session's browser, and a notice if it replaces one that exited unexpectedly.

    Raises:
        ToolUnavailableError: the browser cannot be started.
    """
    notice = ""
    existing: Browser | None = session.peek(NAME)
    if existing is not None and existing.dead:
        notice = "The browser exited unexpectedly, so a new one was started with no page open."
        await session.discard(NAME)

    async def create() -> Browser:
        proxy = await get_egress_proxy(session)
        engine = await start_engine(session.settings.browser, proxy.url)
        return Browser(engine, proxy, session)

    return await session.obtain(NAME, create), notice
