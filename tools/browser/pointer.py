"""What one does with a mouse: click, hover."""

from __future__ import annotations

import asyncio
import contextlib

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, explain_failure, find_target


async def click_element(tab: Tab, number: int) -> str:
    """Click an element.

    Raises:
        ToolError: it is gone, covered, disabled, or not a thing that is clicked.
    """
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
    try:
        await (_click_for_tab(tab, element) if target.opens_tab else _click(element))
    except PlaywrightError as error:
        raise explain_failure(target.label, error) from None
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
        raise explain_failure(target.label, error) from None
    return f"The mouse is over {target.label}."
