"""A picture of the page into a file of the workspace, with the numbers drawn if wanted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.arguments import PICTURE
from manus.tools.browser.browser import Browser
from manus.tools.browser.numbering import Reference
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.snapshot import FrameView, take_snapshot
from manus.tools.browser.tab import ANSWER_SECONDS, Tab

_SECONDS = 8.0


async def screenshot(browser: Browser, tab: Tab, path: str | None, numbers: bool) -> str:
    """Take a picture of the viewport.

    Raises:
        ToolError: the path is not a PNG in the workspace, or the page cannot be painted.
    """
    path = path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path}: give a name that ends in .png.")
    place = await asyncio.to_thread(browser.workspace.writable, path)
    marks = _marks(tab, await take_snapshot(tab.page, ANSWER_SECONDS)) if numbers else []
    try:
        if numbers:
            await tab.ask("marks", marks)
        data = await within(
            _SECONDS, tab.page.screenshot(type="png", scale="css", timeout=_SECONDS * 1000)
        )
    except (PlaywrightError, PageStuckError):
        raise ToolError("The page could not be painted in time.") from None
    finally:
        if numbers:
            await tab.ask("marks", None)
    await asyncio.to_thread(_store, place, data)
    shown = browser.workspace.show(place)
    return f"The view is in {shown}" + (" with the elements' numbers." if numbers else ".")


def _store(place: Path, data: bytes) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    except OSError as error:
        raise ToolError(f"{place.name} could not be written ({error.strerror}).") from None


def _marks(tab: Tab, view: FrameView) -> list[list[float]]:
    marks: list[list[float]] = []
    if view.token == tab.numbering.token or view.origin != (0.0, 0.0):
        for item in view.items:
            if item["kind"] == "element" and item["place"] == "view":
                number = tab.numbering.number(Reference(view.frame, view.token, item["id"]))
                left, top, width, height = item["at"]
                marks.append([number, left + view.origin[0], top + view.origin[1], width, height])
    for child in view.children.values():
        marks.extend(_marks(tab, child))
    return marks
