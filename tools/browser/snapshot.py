"""A page as the model reads it: numbered elements, and the text around them, within a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Page

from manus.tools.browser.tab import (
    Numbering,
    PageStuckError,
    Reference,
    element_of,
    script,
    with_timeout,
)

_LOOK_SECONDS = 8.0
_FRAME_SECONDS = 2.0
"""The same for a frame: one whose page never came does not answer at all."""
_OPTIONS = {"maxElements": 300, "maxTexts": 300}
_MAX_FRAMES = 20
_MAX_DEPTH = 4


@dataclass(slots=True)
class FrameView:
    """What one frame shows. `items` are those of the script, in the order of the document."""

    frame: Frame
    url: str
    items: list[dict[str, Any]] = field(default_factory=list)
    token: str = ""
    title: str = ""
    ready: str = "complete"
    counts: dict[str, int] = field(default_factory=dict)
    scroll: dict[str, int] = field(default_factory=dict)
    children: dict[int, FrameView] = field(default_factory=dict)
    """The frames inside it, by the count of their element."""
    trouble: str = ""


async def take_snapshot(page: Page) -> FrameView:
    """Look at a page and the frames in view.

    Raises:
        PageStuckError: the page itself does not answer.
        PlaywrightError: the page is gone, or changes its document at this moment.
    """
    view = FrameView(page.main_frame, page.url)
    await _look(view, None, 0)
    return view


async def _look(view: FrameView, clip: dict[str, float] | None, depth: int) -> None:
    options = {**_OPTIONS, "clip": clip, "near": 0 if depth else 400}
    seconds = _FRAME_SECONDS if depth else _LOOK_SECONDS
    seen = await with_timeout(seconds, view.frame.evaluate(script("walk"), options))
    for name, value in seen.items():
        setattr(view, name, value)
    inner = [item for item in view.items if item["kind"] == "frame"][:_MAX_FRAMES]
    if depth < _MAX_DEPTH:
        children = await asyncio.gather(*(_child(view, item, depth + 1) for item in inner))
        view.children = {i["id"]: c for i, c in zip(inner, children, strict=True) if c}


async def _child(parent: FrameView, item: dict[str, Any], depth: int) -> FrameView | None:
    child: FrameView | None = None
    try:
        reference = Reference(parent.frame, parent.token, item["id"])
        element = await element_of(reference, _FRAME_SECONDS)
        frame = await with_timeout(_FRAME_SECONDS, element.content_frame()) if element else None
        if frame is not None:
            child = FrameView(frame, frame.url)
            await _look(child, item["clip"], depth)
    except (PlaywrightError, PageStuckError):
        if child is not None:
            child.trouble = "could not be read"
    return child


# What matters least is left out first when the room is not enough: the highest rank.
_ELEMENT, _HEADING, _NEAR, _TEXT, _NEAR_TEXT = range(5)


@dataclass(slots=True)
class Line:
    """A line of the page."""

    text: str
    rank: int
    number: int | None = None


def page_lines(view: FrameView, numbering: Numbering, known: Collection[int] | None) -> list[Line]:
    """The lines of a frame and those inside it. Elements not `known` yet are marked as new."""
    lines: list[Line] = []
    for item in view.items:
        if item["kind"] == "text":
            lines.append(_text_line(item))
        elif item["kind"] == "frame":
            lines.extend(_frame_lines(view, item, numbering, known))
        else:
            number = numbering.number(Reference(view.frame, view.token, item["id"]))
            line = _element_line(item, number, numbering)
            if known is not None and number not in known:
                line.text = "*" + line.text
            lines.append(line)
    if left := view.counts.get("left"):
        lines.append(Line(f"… {left} more elements in view", _ELEMENT))
    return lines


def _text_line(item: dict[str, Any]) -> Line:
    is_near = item["place"] != "view"
    if item["heading"]:
        sign = "#" * item["heading"]
        return Line(f"{sign} {item['text']}", _NEAR_TEXT if is_near else _HEADING)
    return Line(f"| {item['text']}", _NEAR_TEXT if is_near else _TEXT)


def _frame_lines(
    view: FrameView, item: dict[str, Any], numbering: Numbering, known: Collection[int] | None
) -> list[Line]:
    inner = view.children.get(item["id"])
    head = f"frame {_quoted(item['name'])}".removesuffix(' ""')
    if inner is None or inner.trouble:
        return [Line(f"{head}: {inner.trouble if inner else 'not shown'}", _ELEMENT)]
    lines = page_lines(inner, numbering, known)
    for line in lines:
        line.text = "  " + line.text
    more = inner.scroll["height"] - inner.scroll["view"] - inner.scroll["top"]
    below = f" (scrolls, {more} px below)" if more > 12 else ""
    head = f"{head} {_clean(inner.url, 100)}{below}:"
    return [Line(head, _ELEMENT), *lines, Line("end of frame", _ELEMENT)]


def _element_line(item: dict[str, Any], number: int, numbering: Numbering) -> Line:
    name = f" {_quoted(item['name'])}" if item["name"] else ""
    if item["kind"] == "scroller":
        numbering.labels[number] = f"scroll area{name}"
        sizes = f"({item['above']} px above, {item['below']} px below)"
        return Line(f"[{number}] scroll area{name} {sizes}", _ELEMENT, number)
    numbering.labels[number] = f"{item['role']}{name}"
    parts = [f"[{number}] {item['role']}{name}"]
    if not name and item["hint"]:
        parts.append(f"(looks like: {_clean(item['hint'], 40)})")
    if item["value"] is not None and item["value"] != item["name"]:
        parts.append(f"= {_quoted(str(item['value']))}")
    if item["states"]:
        parts.append(f"({', '.join(item['states'])})")
    if item["extra"]:
        parts.append(f"[{_clean(item['extra'], 260)}]")
    if item["box"]:
        left, top, width, height = item["box"]
        parts.append(f"at {left},{top} size {width}×{height}")
    is_near = item["place"] != "view"
    if is_near:
        parts.append(f"({item['place'].removeprefix('near ')} the view)")
    return Line(" ".join(parts), _NEAR if is_near else _ELEMENT, number)


def fit(lines: list[Line], room: int) -> tuple[str, set[int]]:
    """The lines in at most `room` characters, and the numbers of the elements among them."""
    surplus = sum(len(line.text) + 1 for line in lines) - room
    left_out = 0
    kept = lines
    for rank in (_NEAR_TEXT, _TEXT, _NEAR, _HEADING, _ELEMENT):
        remaining: list[Line] = []
        for line in reversed(kept):
            if surplus <= 0 or line.rank != rank:
                remaining.append(line)
                continue
            if rank == _ELEMENT and left_out == 0:
                surplus += 40  # for the line that says so
            surplus -= len(line.text) + 1
            left_out += rank == _ELEMENT
        kept = remaining[::-1]
    if left_out:
        kept.append(Line(f"… {left_out} more elements in view, left out", _ELEMENT))
    numbers = {line.number for line in kept if line.number is not None}
    return "\n".join(line.text for line in kept), numbers


def extent(view: FrameView) -> str:
    """How much lies above and below what is in view."""
    scroll = view.scroll
    below = scroll["height"] - scroll["view"] - scroll["top"]
    parts: list[str] = []
    for pixels, side in ((scroll["top"], "above"), (below, "below")):
        screens = pixels / max(scroll["view"], 1)
        count = view.counts.get(side, 0)
        elements = f" ({count} element{'s' if count > 1 else ''})" if count else ""
        parts.append(f"{f'{screens:.1f} screens' if screens > 0.1 else 'nothing'} {side}{elements}")
    aside = scroll["width"] - scroll["across"] - scroll["left"]
    return "; ".join([*parts, *([f"{aside} px more to the right"] if aside > 20 else [])])


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _clean(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
