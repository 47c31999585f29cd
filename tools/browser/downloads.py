"""Downloads: into the workspace, under a safe name that nothing there has yet."""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import os
import re
import unicodedata
from pathlib import Path

from playwright.async_api import Download
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.log import Log
from manus.tools.workspace import Workspace

FOLDER = "downloads"
_MEGABYTE = 1024 * 1024
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def safe_name(suggested: str) -> str:
    """A file name without folders, control characters, a leading dot or a special meaning."""
    name = unicodedata.normalize("NFC", suggested).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c if unicodedata.category(c)[0] != "C" else "_" for c in name)
    name = re.sub(r'[<>:"|?*]', "_", name).strip(" .")
    if not name or _RESERVED.fullmatch(name):
        name = f"download_{name}" if name else "download"
    stem, dot, ending = name.rpartition(".")
    if dot and stem and len(ending) <= 10:
        return f"{stem[:100]}.{ending}"
    return name[:100]


async def keep_download(
    download: Download, workspace: Workspace, limit_megabytes: int, log: Log
) -> None:
    """Wait for a download and move it into the workspace; what came of it goes to the log."""
    name = safe_name(download.suggested_filename)
    try:
        if problem := await download.failure():
            log.add("download", f"The download of {name} failed: {problem}.")
            return
        source = Path(await download.path())
        said = await asyncio.to_thread(_move, source, name, workspace, limit_megabytes)
        log.add("download", said)
    except (ToolError, OSError) as error:
        log.add("download", f"The download of {name} could not be kept: {error}")
    except PlaywrightError:
        log.add("download", f"The download of {name} was cut off.")
    finally:
        with contextlib.suppress(PlaywrightError):
            await download.delete()


def _move(source: Path, name: str, workspace: Workspace, limit_megabytes: int) -> str:
    size = source.stat().st_size
    if size > limit_megabytes * _MEGABYTE:
        return (
            f"The download of {name} was thrown away: it has {size:,} bytes, more than the "
            f"{limit_megabytes} MB of `browser.max_download_megabytes`."
        )
    target = _free_place(workspace, name)
    with (
        source.open("rb") as reading,
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as writing,
    ):
        while piece := reading.read(_MEGABYTE):
            writing.write(piece)
    kind = mimetypes.guess_type(target.name)[0] or "unknown type"
    return f"Downloaded {workspace.show(target)} ({size:,} bytes, {kind})."


def _free_place(workspace: Workspace, name: str) -> Path:
    folder = workspace.writable(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    count = 1
    while True:
        number = f" ({count})" if count > 1 else ""
        place = workspace.writable(f"{FOLDER}/{stem}{number}{dot}{ending}")
        if not os.path.lexists(place):
            return place
        count += 1
