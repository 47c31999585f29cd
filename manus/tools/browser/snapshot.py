"""A page as the model reads it: numbered elements, and the text around them, within a limit."""

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


class FrameView(NamedTuple):
    """What one frame shows: what the script tells, and the frames inside by their element."""

    frame: Frame
    seen: dict[str, Any]
    children: dict[int, FrameView]


async def take_snapshot(page: Page) -> FrameView:
    """Look at a page and the frames in view.

    Raises:
        PageStuckError: the page itself does not answer.
        PlaywrightError: the page is gone, or changes its document at this moment.
    """
    return await _look(page.main_frame, None, 0)


async def _look(frame: Frame, clip: dict[str, float] | None, depth: int) -> FrameView:
    options = {**_OPTIONS, "clip": clip, "near": 0 if depth else 400}
    seconds = _FRAME_SECONDS if depth else _LOOK_SECONDS
    seen = await with_timeout(seconds, frame.evaluate(script("walk"), options))
    most = _MAX_FRAMES if depth < _MAX_DEPTH else 0
    inner = [item for item in seen["items"] if item["kind"] == "frame"][:most]
    children = (_child(Reference(frame, seen["token"], i["id"]), i["clip"], depth) for i in inner)
    views = await asyncio.gather(*children)
    return FrameView(frame, seen, {i["id"]: v for i, v in zip(inner, views, strict=True) if v})


async def _child(at: Reference, clip: dict[str, float], depth: int) -> FrameView | None:
    """What the frame of an element shows, if it can be told in time."""
    with contextlib.suppress(PlaywrightError, PageStuckError):
        element = await element_of(at, _FRAME_SECONDS)
        frame = await with_timeout(_FRAME_SECONDS, element.content_frame()) if element else None
        return await _look(frame, clip, depth + 1) if frame else None
    return None


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
    for item in view.seen["items"]:
        text = item["text"]
        is_near = item["place"] != "view"
        if item["kind"] == "text":
            rank = _NEAR_TEXT if is_near else _HEADING if item["heading"] else _TEXT
            lines.append(Line(text, rank))
        elif item["kind"] == "frame":
            inner = view.children.get(item["id"])
            lines.extend(_frame_lines(inner, text, numbering, known))
        else:
            number = numbering.number(Reference(view.frame, view.seen["token"], item["id"]))
            numbering.labels[number] = item["label"]
            new = "*" if known is not None and number not in known else ""
            lines.append(Line(f"{new}[{number}] {text}", _NEAR if is_near else _ELEMENT, number))
    if left := view.seen["counts"].get("left"):
        lines.append(Line(f"… {left} more elements in view", _ELEMENT))
    return lines


def texts_of(lines: list[Line]) -> list[str]:
    """What stands on the page beside its elements."""
    texts = {_HEADING, _TEXT, _NEAR_TEXT}
    return [line.text.lstrip(" |#") for line in lines if line.rank in texts]


def _frame_lines(
    inner: FrameView | None, head: str, numbering: Numbering, known: Collection[int] | None
) -> list[Line]:
    if inner is None:
        return [Line(f"{head}: not shown", _ELEMENT)]
    lines = page_lines(inner, numbering, known)
    for line in lines:
        line.text = "  " + line.text
    below = f" (scrolls, {_below(inner)} px below)" if _below(inner) > 12 else ""
    head = f"{head} {inner.frame.url[:100]}{below}:"
    return [Line(head, _ELEMENT), *lines, Line("end of frame", _ELEMENT)]


def fit(lines: list[Line], room: int) -> tuple[str, set[int]]:
    """The lines in at most `room` characters, and the numbers of the elements among them."""
    surplus = sum(len(line.text) + 1 for line in lines) - room
    left_out: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda n: (lines[n].rank, n), reverse=True):
        if surplus <= 0:
            break
        left_out.add(place)
        surplus -= len(lines[place].text) + 1
    kept = [line for place, line in enumerate(lines) if place not in left_out]
    if elements := sum(lines[place].rank == _ELEMENT for place in left_out):
        kept.append(Line(f"… {elements} more elements in view, left out", _ELEMENT))
    numbers = {line.number for line in kept if line.number is not None}
    return "\n".join(line.text for line in kept), numbers


def _below(view: FrameView) -> int:
    scroll: dict[str, int] = view.seen["scroll"]
    return scroll["height"] - scroll["view"] - scroll["top"]


def extent(view: FrameView) -> str:
    """How much lies above and below what is in view."""
    scroll = view.seen["scroll"]
    parts: list[str] = []
    for pixels, side in ((scroll["top"], "above"), (_below(view), "below")):
        screens = pixels / max(scroll["view"], 1)
        count = view.seen["counts"].get(side, 0)
        elements = f" ({count} element{'s' if count > 1 else ''})" if count else ""
        parts.append(f"{f'{screens:.1f} screens' if screens > 0.1 else 'nothing'} {side}{elements}")
    aside = scroll["width"] - scroll["across"] - scroll["left"]
    return "; ".join([*parts, *([f"{aside} px more to the right"] if aside > 20 else [])])
