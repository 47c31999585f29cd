"""One look at a tab: what every frame in view shows, as data."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Page

from manus.tools.browser.scripts import script
from manus.tools.browser.tab import Reference, element_of
from manus.tools.browser.timing import PageStuckError, with_timeout

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
