"""The browser of a run: its tabs, which one is in front, and everything that befalls them."""

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
from urllib.parse import unquote, urlsplit

from playwright.async_api import Dialog, Download, Page, Route
from playwright.async_api import Error as PlaywrightError

from manus.execution.downloads import add_downloads
from manus.execution.network.egress import is_loopback
from manus.execution.network.egress_proxy import EgressProxy, egress_of
from manus.execution.safe_open import open_at
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.browser.engine import Engine, start_engine
from manus.tools.browser.tab import Log, Tab, attempt, with_timeout

NAME = "browser"
"""Its name in the session."""
_FILES = re.compile("^(view-source:)?file:", re.IGNORECASE)
_DISMISSED = "dismissed; the same action with accept=true says yes"
_CLOSE_SECONDS = 5.0
_OPEN_SECONDS = 30.0
_FOLDER = "downloads"
_LOOK_SECONDS = 0.2
_MAX_MEGABYTES = 200
_WINDOW_SECONDS = 2.0
"""How long a window that a page has asked for may take to appear as a tab."""
_TOO_LARGE = f"it is larger than {_MAX_MEGABYTES} MB; fetch it with a program, such as `curl`."


class Downloads:
    """The downloads of one browser, each given up as soon as it is too large."""

    def __init__(self, workspace: Workspace, log: Log) -> None:
        self._workspace = workspace
        self._log = log
        self.under_way: set[Download] = set()
        """Those that have not come to their end."""
        self._too_large: set[str] = set()
        """Addresses."""

    async def watch(self, tab: Tab) -> None:
        """See how large the downloads of a page get while they come."""
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
        """Wait for a download and move it into the workspace; what came of it goes to the log."""
        # Chromium has taken out of the name what is not fit for one, but for its length
        name = Path(download.suggested_filename)
        name = Path(name.stem[:100] + name.suffix[:12])
        self.under_way.add(download)
        ending = asyncio.ensure_future(download.failure())
        try:
            while not ending.done():
                if download.url in self._too_large:
                    raise ToolError(_TOO_LARGE)
                await asyncio.wait({ending}, timeout=_LOOK_SECONDS)
            said = f"The download of {name} failed: {ending.result()}."
            if not ending.result():
                said = await asyncio.to_thread(self._move, Path(await download.path()), name)
        except (ToolError, OSError) as error:
            said = f"The download of {name} could not be kept: {error}"
        except PlaywrightError:
            said = f"The download of {name} was cut off."
        finally:
            ending.cancel()
            self.under_way.discard(download)
            self._too_large.discard(download.url)
            with contextlib.suppress(PlaywrightError):
                await download.cancel()
                await download.delete()
        self._log.add(("download", said))

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
    """A started browser. `obtain_browser` makes one."""

    def __init__(self, engine: Engine, proxy: EgressProxy, session: Session) -> None:
        self.engine = engine
        self.proxy = proxy
        self.session = session
        self.settings = session.settings.browser
        self.log = Log()
        self.tabs: dict[int, Tab] = {}
        self.active: Tab | None = None
        """The tab in front."""
        self.dead = False
        """It has ended on its own; only a new one helps."""
        self.last_error = ""
        """What the last action said if it failed."""
        self.answer: str | None = None
        """What the action under way says to a question of the page; None: no."""
        self.seen: tuple[int, str] = (0, "")
        """The tab and the document that the model has seen last."""
        self.seen_route = ""
        """The route of that document then."""
        self.downloads = Downloads(session.workspace, self.log)
        self._shows_files = False
        self._last_tab = 0
        self.tasks: set[asyncio.Task[Any]] = set()
        """What is at work in the background: a download, the answer to a dialog."""
        self._requested_windows: list[float] = []
        """When pages asked for windows that have not appeared as tabs (monotonic)."""
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
        """Note each window that a page asks for: its tab appears only after a while."""
        cdp = await tab.cdp()
        if cdp is None:
            return
        cdp.on("Page.windowOpen", lambda _: self._requested_windows.append(time.monotonic()))
        with contextlib.suppress(PlaywrightError):
            await cdp.send("Page.enable")

    @property
    def is_opening_window(self) -> bool:
        """Whether a page has just asked for a window that has not appeared as a tab."""
        now = time.monotonic()
        return any(now - moment < _WINDOW_SECONDS for moment in self._requested_windows)

    def _adopt(self, page: Page) -> Tab:
        if known := [tab for tab in self.tabs.values() if tab.page == page]:
            return known[0]
        self._last_tab += 1
        tab = Tab(self._last_tab, page, self.log)
        self.tabs[tab.id] = tab
        self.active = tab
        page.on("dialog", lambda dialog: self._spawn(self._answer(dialog)))
        page.on("download", lambda download: self._spawn(self.downloads.keep(download)))
        page.on("close", lambda _: self._on_close(tab))
        page.on("crash", lambda _: self._on_crash(tab))
        # attached now: a page that hangs later could not be any more
        self._spawn(self._watch(tab))
        return tab

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, dialog: Dialog) -> None:
        """Close a dialog at once: a page with an open one is dead to everything."""
        kind = dialog.type
        accept = self.answer is not None or self.settings.dialogs == "accept"
        accept = accept or kind in {"alert", "beforeunload"}
        with contextlib.suppress(PlaywrightError):
            if accept:
                answer = (self.answer or dialog.default_value) if kind == "prompt" else ""
                await dialog.accept(answer)
            else:
                await dialog.dismiss()
        message = one_line(dialog.message, 300)
        done = "closed" if kind == "alert" else "accepted" if accept else _DISMISSED
        self.log.add(("dialog", f'{kind} "{message}" was {done}.'))

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
        """Whether a tab is still there."""
        return not self.dead and tab.id in self.tabs

    @property
    def navigation_seconds(self) -> float:
        """How long a server may take to begin its answer."""
        return self.settings.action_timeout * 0.6

    async def tab(self) -> Tab:
        """The tab in front; a new one if there is none."""
        return self.active or await self.open_tab()

    async def open_tab(self) -> Tab:
        """A new empty tab in front."""
        page = await with_timeout(_OPEN_SECONDS, self.engine.context.new_page())
        self.active = self._adopt(page)
        return self.active

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab, whatever state it is in."""
        await attempt(_CLOSE_SECONDS, tab.page.close())
        self._on_close(tab)

    async def leave_own(self, tab: Tab) -> None:
        """Before a page of the web is opened: one that a program made must not send it along."""
        if self.proxy.shows_own:
            await tab.page.goto("about:blank")
            # the name of a window outlives a navigation, and the next page can read it
            await tab.page.evaluate("window.name = ''")
            urls = [urlsplit(tab.page.url) for tab in self.tabs.values()]
            self.proxy.shows_own = any(
                u.scheme == "file" or is_loopback(u.hostname or "") for u in urls
            )

    async def open_workspace(self) -> None:
        """From now on pages may be files of the workspace; a page of the web never reaches any."""
        self.proxy.show_own()
        if not self._shows_files:
            self._shows_files = True
            await self.engine.context.route(_FILES, self._guard_file)

    async def _guard_file(self, route: Route) -> None:
        """Let a `file:` address through to the workspace only, whoever asks for it."""
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


def workspace_file(workspace: Workspace, url: str) -> Path:
    """The file that a `file:` address means; outside the workspace a `ToolError`. Blocking."""
    parts = urlsplit(url)
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        raise ToolError(f"{url} is not a file of the workspace.")
    return workspace.readable(unquote(parts.path))


async def obtain_browser(session: Session) -> tuple[Browser, str]:
    """The session's browser, and a word if it is a new one in place of one that has died.

    Raises:
        ToolUnavailableError: it cannot be started.
    """
    said = ""
    known: Browser | None = session.peek(NAME)
    if known is not None and known.dead:
        said = "The browser had ended by itself, so a new one was started, with no page open."
        await session.discard(NAME)

    async def make() -> Browser:
        proxy = await egress_of(session)
        engine = await start_engine(session.settings.browser, proxy.url)
        return Browser(engine, proxy, session)

    return await session.obtain(NAME, make), said
