"""Drag with the mouse: from an element or a point to another element, or along points."""

from __future__ import annotations

from typing import NamedTuple

from playwright.async_api import FloatRect

from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import ACTION_MS, Target, check_point, find_target
from manus.tools.browser.report import Report
from manus.tools.browser.tab import ANSWER_SECONDS, Tab, with_timeout

_STEPS = 8
"""Number of mouse moves on the way to a point, since pages track the mouse."""
_FIRST_PIXELS = 6
"""Length of the first move: pages start a drag after a few pixels."""
_MAX_VALUE = 80
_MAX_ORDER = 300
_ENTRIES = """e => !e.isConnected ? "" : Array.from(e.parentElement.children, one =>
  one.textContent.replace(/\\s+/g, " ").trim().slice(0, 30)).filter(Boolean).join(", ")"""
_BIAS = 0.25
"""In a list, the drop is beyond the middle of the target by this fraction of its size."""
_VALUE = """e => e.getAttribute("aria-valuetext") || e.getAttribute("aria-valuenow")
  || (e.type === "range" ? e.value : "")"""
_ARE_ENTRIES = """(e, other) => e.parentElement === other.parentElement
  && e.tagName === other.tagName
  && [e, other].every(one => /^(static|relative)$/.test(getComputedStyle(one).position))"""
"""Tests whether two elements are entries of the same list, rather than unrelated."""
_SCROLL = 'e => e.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"})'


class _Point(NamedTuple):
    """A point of the viewport, in CSS pixels from its top left corner."""

    x: float
    y: float

    def __str__(self) -> str:
        return f"{self.x:g},{self.y:g}"


async def drag(_: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Drag from an element or a point to an element, or along points.

    Raises:
        ToolError: no start or no end is given, or a point is not in view.
    """
    numbers = arguments.to
    if arguments.index is not None and not numbers and arguments.x is not None:
        numbers = [arguments.x, arguments.y or 0]
    if not numbers or (len(numbers) > 1 and len(numbers) % 2):
        raise ToolError("`drag` needs `to`: [index], or [x, y] and further points of a path.")
    source = None
    if arguments.index is not None:
        source = await find_target(tab, arguments.index)
        await source.element.hover(timeout=ACTION_MS)
        start = _center(await _measure(source))
    elif arguments.x is not None and arguments.y is not None:
        start = _Point(arguments.x, arguments.y)
        check_point(tab, start.x, start.y)
    else:
        raise ToolError("`drag` needs a start: `index`, or `x` and `y`.")
    subject = source.label if source else f"from {start}"
    if len(numbers) == 1:
        target = await find_target(tab, numbers[0])
        if source is not None:
            start = await _bring_into_view(tab, source, target)
        is_sorting = await _drag_to_element(tab, start, source, target)
        order = await target.ask(_ENTRIES) if is_sorting else ""
        page_text = f"- The order now: {one_line(order, _MAX_ORDER)}" if order else ""
        return Report(f"Dragged {subject} to {target.label}.", page_text)
    points = [_Point(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    for point in points:
        check_point(tab, point.x, point.y)
    await _drag_along(tab, start, points)
    value = await source.ask(_VALUE) if source else ""
    page_text = f'- Its value is now "{one_line(value, _MAX_VALUE)}".' if value else ""
    return Report(f"Dragged {subject} to {points[-1]}.", page_text)


async def _bring_into_view(tab: Tab, source: Target, target: Target) -> _Point:
    """Scroll until the source and, if possible, the target are in view; return the source's middle.

    If they are too far apart, the target is scrolled into view during the drag.
    """
    await target.element.scroll_into_view_if_needed(timeout=ACTION_MS)
    start = _center(await _measure(source))
    if not _is_in_view(tab, start):
        await source.element.scroll_into_view_if_needed(timeout=ACTION_MS)
        start = _center(await _measure(source))
    return start


def _is_in_view(tab: Tab, point: _Point) -> bool:
    size = tab.page.viewport_size
    return size is None or (0 <= point.x < size["width"] and 0 <= point.y < size["height"])


async def _measure(target: Target) -> FloatRect:
    box = await with_timeout(ANSWER_SECONDS, target.element.bounding_box())
    if box is None:
        raise ToolError(f"{target.label} is not visible.")
    return box


def _center(box: FloatRect) -> _Point:
    return _Point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


async def _drag_to_element(tab: Tab, start: _Point, source: Target | None, target: Target) -> bool:
    """Drag to an element, which may move when the drag starts; return whether this sorts a list."""
    is_sorting = False
    if source is not None:
        is_sorting = bool(await source.ask(_ARE_ENTRIES, target.element))
    mouse = tab.page.mouse
    await mouse.move(*start)
    await mouse.down()
    try:
        if not _is_in_view(tab, _center(await _measure(target))):
            start = await _scroll_during_drag(tab, start, target)
        end = _aim(start, await _measure(target), is_sorting=is_sorting)
        await _approach(tab, start, end)
        box = await with_timeout(ANSWER_SECONDS, target.element.bounding_box())
        if box is not None and not is_sorting:
            end = _center(box)
        await mouse.move(*end)
    finally:
        await mouse.up()
    return is_sorting


async def _scroll_during_drag(tab: Tab, start: _Point, target: Target) -> _Point:
    """Start dragging and scroll to the target; return the new position of the start.

    Raises:
        ToolError: the target is not in view after that.
    """
    await tab.page.mouse.move(start.x + _FIRST_PIXELS, start.y + _FIRST_PIXELS)
    before = _center(await _measure(target))
    await target.ask(_SCROLL)
    after = _center(await _measure(target))
    if not _is_in_view(tab, after):
        raise ToolError(f"{target.label} cannot be scrolled into view during the drag.")
    return _Point(start.x + after.x - before.x, start.y + after.y - before.y)


def _aim(start: _Point, box: FloatRect, *, is_sorting: bool) -> _Point:
    """Return where to drop on an element: its middle, or in a list beyond it.

    An entry that passes the middle of another one takes its place.
    """
    center = _center(box)
    if not is_sorting:
        return center
    dx = center.x - start.x
    dy = center.y - start.y
    if abs(dx) > abs(dy):
        return _Point(center.x + (_BIAS if dx > 0 else -_BIAS) * box["width"], center.y)
    return _Point(center.x, center.y + (_BIAS if dy > 0 else -_BIAS) * box["height"])


async def _drag_along(tab: Tab, start: _Point, points: list[_Point]) -> None:
    mouse = tab.page.mouse
    await mouse.move(*start)
    await mouse.down()
    try:
        position = start
        for point in points:
            await _approach(tab, position, point)
            position = point
        await mouse.move(*position)
    finally:
        await mouse.up()


async def _approach(tab: Tab, start: _Point, end: _Point) -> None:
    """Move the mouse: first by the few pixels that make a drag, then to the end."""
    length = max(abs(end.x - start.x), abs(end.y - start.y), 1)
    share = min(1.0, _FIRST_PIXELS / length)
    await tab.page.mouse.move(
        start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share
    )
    await tab.page.mouse.move(*end, steps=_STEPS)
