"""Files of the workspace that pages are given, and pages that are files of the workspace."""

from __future__ import annotations

import asyncio
import mimetypes
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.async_api import ElementHandle, FilePayload
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target
from manus.tools.workspace import Workspace

_MAX_BYTES = 50 * 1000 * 1000
"""What Playwright takes over its wire."""


def workspace_file(workspace: Workspace, url: str) -> Path:
    """The file that a `file:` address means. Blocking.

    Raises:
        ToolError: it is not in the workspace.
    """
    parts = urlsplit(url)
    if parts.scheme.lower() != "file" or parts.netloc not in {"", "localhost"}:
        raise ToolError(f"{url} is not a file of the workspace.")
    return workspace.readable(unquote(parts.path))


async def upload_file(workspace: Workspace, tab: Tab, number: int, path: str) -> str:
    """Give a file to a field for files, or to a button that asks for one.

    Raises:
        ToolError: the file is not in the workspace, or the element takes none.
    """
    file = await asyncio.to_thread(_payload, workspace, path)
    target = await find_target(tab, number)
    try:
        field = await _field(target)
        if field is not None:
            await field.set_input_files(file, timeout=ACTION_MS)
        else:
            async with tab.page.expect_file_chooser(timeout=ACTION_MS) as choosing:
                await target.element.click(timeout=ACTION_MS, no_wait_after=True)
            await (await choosing.value).set_files(file)
    except PlaywrightTimeoutError:
        raise ToolError(f"{target.label} takes no file.") from None
    except PlaywrightError as error:
        raise explain_failure(target.label, error) from None
    return f"Gave {path} to {target.label}."


async def _field(target: Target) -> ElementHandle | None:
    if target.tag == "INPUT" and target.type == "file":
        return target.element
    handle = await target.element.evaluate_handle(
        "e => (e.control && e.control.type === 'file' && e.control) || "
        "e.querySelector('input[type=file]')"
    )
    return handle.as_element()


def _payload(workspace: Workspace, path: str) -> FilePayload:
    """Name, type and content: given a path, Playwright would look at the disk on the event loop."""
    place = workspace.readable(path)
    if not place.is_file():
        raise ToolError(f"{path} is not a file in the workspace; only such can be uploaded.")
    size = place.stat().st_size
    if size > _MAX_BYTES:
        raise ToolError(f"{path} is too large to be uploaded: {size:,} of {_MAX_BYTES:,} bytes.")
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    return FilePayload(name=place.name, mimeType=kind, buffer=place.read_bytes())
