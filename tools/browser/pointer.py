"""What one does with a mouse: click, hover, scroll; and a picture of what is in view.

Each says what it has done, or raises a `ToolError` that says why it could not be done.
"""

from __future__ import annotations

import asyncio
import contextlib

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.beneath import write_file
from manus.tools.browser.tab import Tab, script
from manus.tools.browser.target import ACTION_MS, find_target
from manus.tools.browser.timing import ANSWER_SECONDS, PageStuckError, with_timeout
from manus.tools.browser_use import PICTURE
from manus.tools.workspace import Workspace

_CENTER = """element => { element.scrollIntoView({block: "center", behavior: "instant"});
  return element.textContent.replace(/\\s+/g, " ").trim().slice(0, 160); }"""


async def click_element(tab: Tab, number: int) -> str:
    """Click an element."""
    target = await find_target(tab, number)
    if target.tag == "SELECT":
        raise ToolError(
            f"{target.label} is a drop-down list: choose with `select_dropdown_option`, see its "
            "options with `get_dropdown_options`."
        )
    if target.tag == "INPUT" and target.type == "file":
        raise ToolError(f"{target.label} takes a file: use `upload_file`.")
    target.require_enabled()
    element = target.element
    if target.is_behind_label:
        label = await element.evaluate_handle("element => element.labels[0]")
        element = label.as_element() or element
    await (_click_for_tab(tab, element) if target.opens_tab else _click(element))
    return f"Clicked {target.label}."


async def _click(element: ElementHandle) -> None:
    await element.click(timeout=ACTION_MS, no_wait_after=True)


async def _click_for_tab(tab: Tab, element: ElementHandle) -> None:
    """Click what opens a tab, and wait for that tab: on a busy machine it comes late."""
    coming = asyncio.ensure_future(tab.page.context.wait_for_event("page", timeout=ACTION_MS))
    try:
        await _click(element)
        with contextlib.suppress(PlaywrightTimeoutError):
            await coming
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def click_at(tab: Tab, x: int, y: int) -> str:
    """Click a place of the viewport, in CSS pixels from its top left corner."""
    size = tab.page.viewport_size
    if size is not None and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(
            f"The place {x},{y} is outside the view, which is {size['width']}×{size['height']}."
        )
    await tab.page.mouse.click(x, y)
    return f"Clicked at {x},{y}."


async def hover(tab: Tab, number: int) -> str:
    """Move the mouse over an element and leave it there."""
    target = await find_target(tab, number)
    await target.element.hover(timeout=ACTION_MS, no_wait_after=True)
    return f"The mouse is over {target.label}."


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
    """Bring the first place of a text into view, in whatever frame."""
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
    """Take a picture of the viewport."""
    path = path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path}: give a name that ends in .png.")
    place = await asyncio.to_thread(workspace.writable, path)
    data = await tab.picture("png")
    if not data:
        raise ToolError("The page could not be painted in time.")
    try:
        await asyncio.to_thread(write_file, place, data)
    except OSError as error:
        raise ToolError(f"{place.name} could not be written ({error.strerror}).") from None
    return f"The view is in {workspace.show(place)}."
