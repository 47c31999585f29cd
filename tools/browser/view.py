"""Moving through a page, and a picture of what is in view."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.state.files import write_atomically
from manus.tools.browser.arguments import PICTURE
from manus.tools.browser.scripts import script
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, find_target
from manus.tools.browser.timing import ANSWER_SECONDS, PageStuckError, with_timeout
from manus.tools.workspace import Workspace

_PICTURE_SECONDS = 8.0
_CENTER = """element => { element.scrollIntoView({block: "center", behavior: "instant"});
  return element.textContent.replace(/\\s+/g, " ").trim().slice(0, 160); }"""


async def scroll(tab: Tab, is_down: bool, amount: int | None, number: int | None) -> str:
    """Scroll the page, or the area around an element, by pixels or (None) most of a screen."""
    arguments = {"amount": amount, "direction": 1 if is_down else -1}
    if number is not None:
        got = await (await find_target(tab, number)).ask(script("scroll"), arguments)
    else:
        text = f"(arguments) => ({script('scroll')})(null, arguments)"
        got = await with_timeout(ANSWER_SECONDS, tab.page.evaluate(text, arguments))
    what = "area" if got["inner"] else "page"
    left = f"{got['above']} px are above and {got['below']} px below now."
    if got["moved"]:
        way = "down" if is_down else "up"
        return f"Scrolled the {what} {way} by {abs(got['moved'])} px; {left}"
    if got["above"] or got["below"]:
        return f"The {what} is at its {'end' if is_down else 'beginning'} already; {left}"
    return (
        f"The {what} does not scroll. An area or a frame inside it does so with the `index` of an "
        "element in it."
    )


async def scroll_to_text(tab: Tab, text: str) -> str:
    """Bring the first place of a text into view, in whatever frame.

    Raises:
        ToolError: no frame has it.
    """
    for frame in tab.page.frames:
        place = frame.get_by_text(text).filter(visible=True).first
        try:
            if await with_timeout(ANSWER_SECONDS, place.count()):
                found = await place.evaluate(_CENTER, timeout=ACTION_MS)
                return f'Scrolled to: "{found}"'
        except (PlaywrightError, PageStuckError):
            if frame == tab.page.main_frame:
                raise
    raise ToolError(
        f'"{text}" is not on the page. Try fewer words, or read the page with `extract_content`.'
    )


async def screenshot(workspace: Workspace, tab: Tab, path: str | None) -> str:
    """Take a picture of the viewport.

    Raises:
        ToolError: the path is not a PNG in the workspace, or the page cannot be painted.
    """
    path = path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path}: give a name that ends in .png.")
    place = await asyncio.to_thread(workspace.writable, path)
    taking = tab.page.screenshot(type="png", scale="css", timeout=_PICTURE_SECONDS * 1000)
    try:
        data = await with_timeout(_PICTURE_SECONDS, taking)
    except (PlaywrightError, PageStuckError):
        raise ToolError("The page could not be painted in time.") from None
    try:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(write_atomically, place, data)
    except OSError as error:
        raise ToolError(f"{place.name} could not be written ({error.strerror}).") from None
    return f"The view is in {workspace.show(place)}."
