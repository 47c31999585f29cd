"""Downloads: into the workspace, under a name that nothing there has yet."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
from pathlib import Path
from typing import Any

from playwright.async_api import Download
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.beneath import open_at
from manus.tools.browser.tab import Log, Tab
from manus.tools.workspace import Workspace

_FOLDER = "downloads"
_LOOK_SECONDS = 0.2
_MAX_MEGABYTES = 200
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
        return f"Downloaded {self._workspace.show(target)} ({size:,} bytes)."
