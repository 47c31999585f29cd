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
from manus.tools.browser.tab import Log
from manus.tools.workspace import Workspace

_FOLDER = "downloads"
_SECONDS = 900.0
"""After which a download is given up."""


def safe_name(suggested: str) -> str:
    """A file name without folders, control characters or a leading dot."""
    name = unicodedata.normalize("NFC", suggested).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c if unicodedata.category(c)[0] != "C" else "_" for c in name)
    name = re.sub(r'[<>:"|?*]', "_", name).strip(" .") or "download"
    path = Path(name)
    return path.stem[:100] + path.suffix[:12]


class Downloads:
    """The downloads of one browser."""

    def __init__(self, workspace: Workspace, limit_megabytes: int, log: Log) -> None:
        self._workspace = workspace
        self._limit = limit_megabytes * 2**20
        self._log = log
        self._under_way: list[Download] = []

    @property
    def are_under_way(self) -> bool:
        """Whether there is one that has not come to its end."""
        return bool(self._under_way)

    async def keep(self, download: Download) -> None:
        """Wait for a download and move it into the workspace; what came of it goes to the log."""
        name = safe_name(download.suggested_filename)
        self._under_way.append(download)
        try:
            async with asyncio.timeout(_SECONDS):
                problem = await download.failure()
            said = f"The download of {name} failed: {problem}."
            if not problem:
                said = await asyncio.to_thread(self._move, Path(await download.path()), name)
            self._log.add("download", said)
        except TimeoutError:
            self._log.add("download", f"The download of {name} took over {_SECONDS:g} s.")
        except (ToolError, OSError) as error:
            self._log.add("download", f"The download of {name} could not be kept: {error}")
        except PlaywrightError:
            self._log.add("download", f"The download of {name} was cut off.")
        finally:
            self._under_way.remove(download)
            with contextlib.suppress(PlaywrightError):
                await download.cancel()
                await download.delete()

    def _move(self, source: Path, name: str) -> str:
        size = source.stat().st_size
        if size > self._limit:
            most = f"{self._limit // 2**20} MB of `browser.max_download_megabytes`"
            return f"The download of {name} was given up: it is larger than the {most}."
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
