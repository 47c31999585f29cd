"""Downloads: into the workspace, under a safe name that nothing there has yet."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import unicodedata
from pathlib import Path

from playwright.async_api import Download
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.beneath import open_at
from manus.tools.browser.tab import Log, Tab
from manus.tools.workspace import Workspace

_FOLDER = "downloads"
_MEGABYTE = 1024 * 1024


def safe_name(suggested: str) -> str:
    """A file name without folders, control characters or a leading dot."""
    name = unicodedata.normalize("NFC", suggested).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c if unicodedata.category(c)[0] != "C" else "_" for c in name)
    name = re.sub(r'[<>:"|?*]', "_", name).strip(" .") or "download"
    path = Path(name)
    return path.stem[:100] + path.suffix[:12]


class Downloads:
    """The downloads of one browser, each given up as soon as it is too large."""

    def __init__(self, workspace: Workspace, limit_megabytes: int, log: Log) -> None:
        self._workspace = workspace
        self._limit = limit_megabytes * _MEGABYTE
        self._log = log
        self._under_way: list[Download] = []
        self._too_large: set[str] = set()
        self._cancels: list[asyncio.Future[None]] = []

    @property
    def are_under_way(self) -> bool:
        """Whether there is one that has not come to its end."""
        return bool(self._under_way)

    async def watch(self, tab: Tab) -> None:
        """Follow the downloads of a page while they come."""
        cdp = await tab.cdp()
        if cdp is None:
            return
        urls: dict[str, str] = {}

        def progress(event: dict[str, float | str]) -> None:
            if max(float(event["receivedBytes"]), float(event["totalBytes"])) <= self._limit:
                return
            url = urls.get(str(event["guid"]), "")
            self._too_large.add(url)
            for download in self._under_way:
                if download.url == url:
                    self._cancels.append(asyncio.ensure_future(_cancel(download)))

        cdp.on("Page.downloadWillBegin", lambda event: urls.update({event["guid"]: event["url"]}))
        cdp.on("Page.downloadProgress", progress)
        with contextlib.suppress(PlaywrightError):
            await cdp.send("Page.enable")

    async def keep(self, download: Download) -> None:
        """Wait for a download and move it into the workspace; what came of it goes to the log."""
        name = safe_name(download.suggested_filename)
        self._under_way.append(download)
        try:
            self._log.add("download", await self._kept(download, name))
        except (ToolError, OSError) as error:
            self._log.add("download", f"The download of {name} could not be kept: {error}")
        except PlaywrightError:
            self._log.add("download", f"The download of {name} was cut off.")
        finally:
            self._under_way.remove(download)
            with contextlib.suppress(PlaywrightError):
                await download.delete()

    async def _kept(self, download: Download, name: str) -> str:
        if download.url in self._too_large:
            await download.cancel()
        problem = await download.failure()
        if download.url in self._too_large:
            self._too_large.discard(download.url)
            return self._refusal(name)
        if problem:
            return f"The download of {name} failed: {problem}."
        return await asyncio.to_thread(self._move, Path(await download.path()), name)

    def _refusal(self, name: str) -> str:
        return (
            f"The download of {name} was given up: it is larger than the "
            f"{self._limit // _MEGABYTE} MB of `browser.max_download_megabytes`."
        )

    def _move(self, source: Path, name: str) -> str:
        size = source.stat().st_size
        if size > self._limit:
            return self._refusal(name)
        stem, suffix, count = Path(name).stem, Path(name).suffix, 1
        while True:
            number = f" ({count})" if count > 1 else ""
            target = self._workspace.writable(f"{_FOLDER}/{stem}{number}{suffix}")
            with contextlib.suppress(FileExistsError):
                new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                descriptor = open_at(target, new, 0o644, make=0o777)
                with source.open("rb") as reading, os.fdopen(descriptor, "wb") as writing:
                    shutil.copyfileobj(reading, writing)
                return f"Downloaded {self._workspace.show(target)} ({size:,} bytes)."
            count += 1


async def _cancel(download: Download) -> None:
    with contextlib.suppress(PlaywrightError):
        await download.cancel()
