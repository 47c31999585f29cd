"""A snapshot of a page for the model: numbered elements and the text around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Page

from manus.tools.browser.tab import (
    Numbering,
    PageStuckError,
    Reference,
    get_element,
    script,
    with_timeout,
)

_PAGE_SECONDS = 8.0
_FRAME_SECONDS = 2.0
"""Timeout of a frame: one whose page never loaded does not respond at all."""
_OPTIONS = {"maxElements": 300, "maxTexts": 300}
_NEAR_PIXELS = 400
"""Distance above and below the viewport within which elements are listed."""
_MAX_FRAMES = 20
_MAX_DEPTH = 4


class FrameView(NamedTuple):
    """The visible content of a frame, and its child frames by the id of their element."""

    frame: Frame
    content: dict[str, Any]
    children: dict[int, FrameView]


async def take_snapshot(page: Page) -> FrameView:
    """Take a snapshot of a page and its visible frames.

    Raises:
        PageStuckError: the page itself does not respond.
        PlaywrightError: the page is gone, or is changing its document.
    """
    return await _inspect_frame(page.main_frame, {}, 0)


async def _inspect_frame(frame: Frame, area: dict[str, Any], depth: int) -> FrameView:
    seconds = _FRAME_SECONDS
    near = 0
    if depth == 0:
        seconds = _PAGE_SECONDS
        near = _NEAR_PIXELS
    options = {**_OPTIONS, **area, "near": near}
    content = await with_timeout(seconds, frame.evaluate(script("walk"), options))
    children = {}
    if depth < _MAX_DEPTH:
        children = await _inspect_children(frame, content, depth)
    return FrameView(frame, content, children)


async def _inspect_children(
    frame: Frame, content: dict[str, Any], depth: int
) -> dict[int, FrameView]:
    """Return the child frames that respond in time, by the id of their element."""
    items = [item for item in content["items"] if item["kind"] == "frame"][:_MAX_FRAMES]
    inspections = []
    for item in items:
        reference = Reference(frame, content["token"], item["id"])
        area = {"clip": item["clip"], "origin": item["origin"]}
        inspections.append(_inspect_child(reference, area, depth))
    views = await asyncio.gather(*inspections)
    children = {}
    for item, view in zip(items, views, strict=True):
        if view is not None:
            children[item["id"]] = view
    return children


async def _inspect_child(
    reference: Reference, area: dict[str, Any], depth: int
) -> FrameView | None:
    """Return the content of the frame in an element; None if it does not respond in time."""
    with contextlib.suppress(PlaywrightError, PageStuckError):
        element = await get_element(reference, _FRAME_SECONDS)
        if element is None:
            return None
        frame = await with_timeout(_FRAME_SECONDS, element.content_frame())
        if frame is not None:
            return await _inspect_frame(frame, area, depth + 1)
    return None


# Lines with the highest rank are omitted first when the limit is exceeded.
_ELEMENT, _HEADING, _NEAR, _TEXT, _NEAR_TEXT = range(5)


@dataclass(slots=True)
class Line:
    """A line of the rendered page."""

    text: str
    rank: int
    number: int | None = None
    label: str = ""
    """The description of an element, without its value and state."""
    row: int = 0
    """The row of a table that it is part of; 0 if of none."""

    @property
    def is_content(self) -> bool:
        """Return whether it is an element or a text of the page, rather than a note about it."""
        return self.number is not None or self.rank in (_HEADING, _TEXT, _NEAR_TEXT)

    @property
    def content(self) -> str:
        """Return the text of the line, without number, mark and state."""
        return self.label or self.text.lstrip(" |#")


def render_lines(
    view: FrameView, numbering: Numbering, existing: Collection[int] | None
) -> list[Line]:
    """Render a frame and its children as lines. Elements not in `existing` are marked as new."""
    lines: list[Line] = []
    for item in view.content["items"]:
        if item["kind"] == "text":
            lines.append(Line(item["text"], _rank_text(item), row=item["line"]))
        elif item["kind"] == "frame":
            child = view.children.get(item["id"])
            lines.extend(_render_frame(child, item["text"], numbering, existing))
        else:
            lines.append(_render_element(item, view, numbering, existing))
    if omitted_count := view.content["counts"].get("left"):
        lines.append(Line(f"… {omitted_count} more elements in view", _ELEMENT))
    return lines


def _rank_text(item: dict[str, Any]) -> int:
    if item["place"] != "view":
        return _NEAR_TEXT
    return _HEADING if item["heading"] else _TEXT


def _render_element(
    item: dict[str, Any], view: FrameView, numbering: Numbering, existing: Collection[int] | None
) -> Line:
    number = numbering.number(Reference(view.frame, view.content["token"], item["id"]))
    numbering.labels[number] = item["label"]
    numbering.keys[number] = item["key"]
    numbering.rows[number] = item["row"]
    is_new = existing is not None and number not in existing and not item["scrolledIn"]
    marker = "*" if is_new else ""
    rank = _ELEMENT if item["place"] == "view" else _NEAR
    row = item.get("line", 0)  # a scroll area has none
    return Line(f"{marker}[{number}] {item['text']}", rank, number, item["label"], row)


def _render_frame(
    inner: FrameView | None, header: str, numbering: Numbering, existing: Collection[int] | None
) -> list[Line]:
    if inner is None:
        return [Line(f"{header}: not shown", _ELEMENT)]
    lines = render_lines(inner, numbering, existing)
    for line in lines:
        line.text = "  " + line.text
    header = f"{header} {inner.frame.url[:100]}"
    if _pixels_below(inner) > 12:
        header += f" (scrolls, {_pixels_below(inner)} px below)"
    header += ":"
    return [Line(header, _ELEMENT), *lines, Line("end of frame", _ELEMENT)]


def fit_lines(lines: list[Line], room: int) -> tuple[str, set[int], int]:
    """Return the lines that fit into `room` characters, and the numbers of their elements.

    The last value is the number of elements in view that are omitted.
    """
    surplus = sum(len(line.text) + 1 for line in lines) - room
    left_out: set[int] = set()
    for position in sorted(range(len(lines)), key=lambda n: (lines[n].rank, n), reverse=True):
        if surplus <= 0:
            break
        left_out.add(position)
        surplus -= len(lines[position].text) + 1
    remaining = [line for position, line in enumerate(lines) if position not in left_out]
    omitted_count = sum(lines[position].rank == _ELEMENT for position in left_out)
    visible = {line.number for line in remaining if line.number is not None}
    return _join_rows(remaining), visible, omitted_count


def _join_rows(lines: list[Line]) -> str:
    """Return the lines as text, with the parts of a row on one line."""
    parts: list[str] = []
    row = 0
    for line in lines:
        is_continued = line.row and line.row == row
        parts.append(f" | {line.text.strip(' |')}" if is_continued else f"\n{line.text}")
        row = line.row
    return "".join(parts).removeprefix("\n")


def _pixels_below(view: FrameView) -> int:
    scroll: dict[str, int] = view.content["scroll"]
    return scroll["height"] - scroll["view"] - scroll["top"]


def describe_extent(view: FrameView) -> str:
    """Describe how much of the page lies above and below the viewport."""
    scroll = view.content["scroll"]
    parts: list[str] = []
    for pixels, side in ((scroll["top"], "above"), (_pixels_below(view), "below")):
        screens = pixels / max(scroll["view"], 1)
        part = f"nothing {side}"
        if screens > 0.1:
            part = f"{screens:.1f} screens {side}"
        count = view.content["counts"].get(side, 0)
        if count:
            part += f" ({count} element{'s' * (count > 1)})"
        parts.append(part)
    hidden_pixels = scroll["width"] - scroll["across"] - scroll["left"]
    if hidden_pixels > 20:
        parts.append(f"{hidden_pixels} px more to the right")
    return "; ".join(parts)
