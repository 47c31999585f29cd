"""Waiting for a page: until an action has had its effect, and no longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from playwright.async_api import Error as PlaywrightError

if TYPE_CHECKING:
    from manus.tools.browser.browser import Browser
    from manus.tools.browser.tab import Tab

ANSWER_SECONDS = 4.0
"""How long a page may take over a question that a sound one answers at once."""
_STILL_MS = 120.0
"""A page that has not changed for this long is taken to be done."""
_RESTLESS_SECONDS = 1.5
"""A page that only moves (an animation, a clock) is not waited for longer than this."""
_LOADING_SECONDS = 6.0
"""The same for one that waits for answers of its server."""
_BUSY_SECONDS = 10.0
"""A page that answers nothing may be at work (a large one is laid out) for this long."""
_NAP = 0.05

T = TypeVar("T")


class PageStuckError(Exception):
    """The page did not answer in time."""


async def with_timeout(seconds: float, awaitable: Awaitable[T]) -> T:
    """What the awaitable gives, if it gives it in time.

    Most calls to a page take no time limit of their own, and a page whose script runs for ever
    never answers any of them.

    Raises:
        PageStuckError: it does not.
    """
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise PageStuckError(f"no answer within {seconds:g} s") from None


async def wait_until_idle(browser: Browser, tab: Tab, begun: float) -> None:
    """Wait for what an action begun at a moment (monotonic) has set off.

    Raises:
        PageStuckError: the page does not answer any more.
    """
    if not await _has_arrived(tab, begun, browser.navigation_seconds):
        seconds = f"{browser.navigation_seconds:g} s"
        browser.log.add(
            "event", f"The server did not answer within {seconds}; loading was stopped."
        )
        await tab.stop_loading()
        return
    start = time.monotonic()
    # an action's time includes this; something has to be left of it for the report
    left = max(0.5, begun + browser.settings.action_timeout * 0.8 - start)
    while not tab.trouble.is_set() and tab.id in browser.tabs:
        try:
            still, ready = await _stillness(tab)
        except PageStuckError:
            if time.monotonic() - start > min(_BUSY_SECONDS, left):
                raise
            continue
        waited = time.monotonic() - start
        waits = tab.loading_since(begun) or ready == "loading" or browser.is_busy
        waits = waits or tab.navigation is not None
        if still >= _STILL_MS and not waits and waited >= _NAP:
            return
        if waited > min(_LOADING_SECONDS if waits else _RESTLESS_SECONDS, left):
            return
        await asyncio.sleep(_NAP)


async def _has_arrived(tab: Tab, begun: float, seconds: float) -> bool:
    """Wait for the page that is being asked for; whether it has come, or none was asked for."""
    await asyncio.sleep(_NAP)  # a click's navigation begins a moment after the click
    while tab.navigation is not None and not tab.trouble.is_set():
        if time.monotonic() - begun > seconds:
            return False
        await asyncio.sleep(_NAP)
    return True


async def _stillness(tab: Tab) -> tuple[float, str]:
    try:
        answer = await tab.ask("quiet")
    except PlaywrightError:  # between two documents
        return 0.0, "loading"
    return float(answer["still"]), str(answer["ready"])
