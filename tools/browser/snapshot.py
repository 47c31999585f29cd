"""One look at a tab: what every frame in view shows, as data."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Page

from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.scripts import script

_MAX_ELEMENTS = 300
_MAX_TEXTS = 300
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
    origin: tuple[float, float] = (0.0, 0.0)
    """Where its top left corner lies in the tab's viewport, in pixels."""
    trouble: str = ""


class _Looker:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.frames = 0

    async def look(
        self, frame: Frame, clip: dict[str, float] | None, origin: tuple[float, float], depth: int
    ) -> FrameView:
        self.frames += 1
        view = FrameView(frame, frame.url, origin=origin)
        options = {
            "clip": clip,
            "near": 400 if depth == 0 else 0,
            "maxElements": _MAX_ELEMENTS,
            "maxTexts": _MAX_TEXTS,
        }
        try:
            seen = await within(self.seconds, frame.evaluate(script("walk"), options))
        except PageStuckError:
            if depth == 0:
                raise
            view.trouble = "does not respond"
            return view
        except PlaywrightError:
            if depth == 0:
                raise
            view.trouble = "could not be read"
            return view
        view.items, view.token, view.title = seen["items"], seen["token"], seen["title"]
        view.counts, view.scroll, view.ready = seen["counts"], seen["scroll"], seen["ready"]
        if depth < _MAX_DEPTH:
            inner = [item for item in view.items if item["kind"] == "frame"]
            inner = inner[: max(0, _MAX_FRAMES - self.frames)]
            children = await asyncio.gather(*(self._child(view, item, depth) for item in inner))
            view.children = {i["id"]: c for i, c in zip(inner, children, strict=True) if c}
        return view

    async def _child(self, parent: FrameView, item: dict[str, Any], depth: int) -> FrameView | None:
        try:
            frame = await within(self.seconds, self._content(parent, item["id"]))
        except (PlaywrightError, PageStuckError):
            return None
        if frame is None:
            return None
        origin = (parent.origin[0] + item["origin"][0], parent.origin[1] + item["origin"][1])
        return await self.look(frame, item["clip"], origin, depth + 1)

    async def _content(self, parent: FrameView, identity: int) -> Frame | None:
        handle = await parent.frame.evaluate_handle(
            script("element"), {"token": parent.token, "id": identity}
        )
        element = handle.as_element()
        try:
            return await element.content_frame() if element is not None else None
        finally:
            await handle.dispose()


async def take_snapshot(page: Page, seconds: float) -> FrameView:
    """Look at a page and the frames in view; each frame has `seconds` to answer.

    Raises:
        PageStuckError: the page itself does not answer.
        PlaywrightError: the page is gone, or changes its document at this moment.
    """
    return await _Looker(seconds).look(page.main_frame, None, (0.0, 0.0), 0)
