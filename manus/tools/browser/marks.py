"""Draw the numbers of elements over a page while a screenshot is taken."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Frame

from manus.tools.browser.tab import Tab, attempt, script

_SECONDS = 2.0


@asynccontextmanager
async def show_numbers(tab: Tab) -> AsyncIterator[None]:
    """Show the numbers that the model has read on their elements, in the page and its frames."""
    frames: defaultdict[tuple[Frame, str], list[tuple[int, int]]] = defaultdict(list)
    for number in sorted(tab.numbering.visible):
        reference = tab.numbering.references[number]
        frames[reference.frame, reference.token].append((reference.id, number))
    try:
        await asyncio.gather(*(_draw(frame, token, n) for (frame, token), n in frames.items()))
        yield
    finally:
        await asyncio.gather(*(_draw(frame, token, []) for frame, token in frames))


async def _draw(frame: Frame, token: str, numbers: list[tuple[int, int]]) -> None:
    arguments = {"token": token, "numbers": numbers}
    await attempt(_SECONDS, frame.evaluate(script("marks"), arguments))
