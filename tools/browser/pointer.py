"""What one does with a mouse: click, hover, drag."""

from __future__ import annotations

import asyncio
import contextlib

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.scripts import script
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target

_DRAG_STEPS = 12


async def click_element(tab: Tab, number: int) -> str:
    """Click an element where nothing lies over it.

    Raises:
        ToolError: it is gone, covered, disabled, or not a thing that is clicked.
    """
    target = await find_target(tab, number)
    if target.tag == "SELECT":
        raise ToolError(
            f"Element {number} is a drop-down list: choose with `select_dropdown_option`, "
            "see its options with `get_dropdown_options`."
        )
    if target.tag == "INPUT" and target.type == "file":
        raise ToolError(f"Element {number} takes a file: use `upload_file`.")
    if target.disabled:
        raise ToolError(f"Element {number} is disabled; something else has to be done first.")
    element = await _clickable(target)
    try:
        if target.opens:
            await _click_for_tab(tab, element)
        else:
            await _click(element)
    except PlaywrightError as error:
        raise explain_failure(number, error) from None
    return f"Clicked element {number}."


async def _clickable(target: Target) -> ElementHandle:
    """The element itself, or its label where the element is hidden behind it."""
    if target.shown or not target.label:
        return target.element
    label = (await target.element.evaluate_handle("element => element.labels[0]")).as_element()
    return label or target.element


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


async def _click(element: ElementHandle) -> None:
    place = await element.evaluate(script("point"))
    if place:
        await element.click(position=place, timeout=ACTION_MS, no_wait_after=True)
    else:
        await element.click(timeout=ACTION_MS, no_wait_after=True)


async def click_at(tab: Tab, x: int, y: int) -> str:
    """Click a place of the viewport, in CSS pixels from its top left corner.

    Raises:
        ToolError: the place is not in the viewport.
    """
    size = tab.page.viewport_size
    if size is not None and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(
            f"The place {x},{y} is outside the view, which is {size['width']}×{size['height']}."
        )
    await tab.page.mouse.click(x, y)
    return f"Clicked at {x},{y}."


async def hover(tab: Tab, number: int) -> str:
    """Move the mouse over an element and leave it there.

    Raises:
        ToolError: it is gone or covered.
    """
    target = await find_target(tab, number)
    try:
        await target.element.hover(timeout=ACTION_MS, no_wait_after=True)
    except PlaywrightError as error:
        raise explain_failure(number, error) from None
    return f"The mouse is over element {number}."


async def drag(tab: Tab, number: int, onto: int | None, x: int | None, y: int | None) -> str:
    """Drag an element onto another one, or to a place of the viewport.

    Raises:
        ToolError: one of them is gone or hidden, or no goal was given.
    """
    start = await _middle(await find_target(tab, number), scroll=True)
    if onto is not None:
        goal_target = await find_target(tab, onto)
        end = await _middle(goal_target, scroll=False)
        start = await _middle(await find_target(tab, number), scroll=False)
        where = f"onto element {onto}"
    elif x is not None and y is not None:
        end, where = (float(x), float(y)), f"to {x},{y}"
    else:
        raise ToolError("`drag` needs a goal: `target` (an element's number), or `x` and `y`.")
    mouse = tab.page.mouse
    await mouse.move(*start)
    await mouse.down()
    try:
        # A first small step begins the drag; a last one on the spot lets the goal notice it.
        await mouse.move(start[0] + 3, start[1] + 3, steps=2)
        await mouse.move(*end, steps=_DRAG_STEPS)
        await mouse.move(*end)
    finally:
        await mouse.up()
    return f"Dragged element {number} {where}."


async def _middle(target: Target, *, scroll: bool) -> tuple[float, float]:
    try:
        if scroll:
            await target.element.scroll_into_view_if_needed(timeout=ACTION_MS)
        box = await target.element.bounding_box()
    except PlaywrightError as error:
        raise explain_failure(target.number, error) from None
    if box is None:
        raise ToolError(f"Element {target.number} is hidden at the moment.")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
