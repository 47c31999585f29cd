"""Waiting until an action has had its effect, and no longer."""

from __future__ import annotations

import asyncio
import time

from playwright.async_api import Error as PlaywrightError

from manus.tools.browser.browser import Browser
from manus.tools.browser.patience import PageStuckError
from manus.tools.browser.tab import Tab

_STILL_MS = 120.0
"""A page that has not changed for this long is taken to be done."""
_RESTLESS_SECONDS = 1.5
"""A page that only moves (an animation, a clock) is not waited for longer than this."""
_LOADING_SECONDS = 6.0
"""The same for one that waits for answers of its server."""
_BUSY_SECONDS = 10.0
"""A page that answers nothing may be at work (a large one is laid out) for this long."""
_NAP = 0.05
_SHARE = 0.8


async def settle(browser: Browser, tab: Tab, begun: float, navigation_seconds: float) -> None:
    """Wait for what an action begun at a moment (monotonic) has set off.

    Raises:
        PageStuckError: the page does not answer any more.
    """
    if not await _arrive(tab, begun, navigation_seconds):
        browser.log.add(
            "navigation",
            f"The server did not answer within {navigation_seconds:g} s; loading was stopped.",
        )
        await tab.stop_loading()
        return
    start = time.monotonic()
    # an action's time includes this; something has to be left of it for the report
    left = max(0.5, begun + browser.settings.action_timeout * _SHARE - start)
    while not tab.trouble.is_set() and tab.id in browser.tabs:
        try:
            still, ready = await _stillness(tab)
        except PageStuckError:
            if time.monotonic() - start > min(_BUSY_SECONDS, left):
                raise
            continue
        waited = time.monotonic() - start
        loading = tab.loading_since(begun) or ready == "loading" or browser.downloading
        if still >= _STILL_MS and not loading and not tab.navigation and waited >= _NAP:
            return
        patience = _LOADING_SECONDS if loading or tab.navigation else _RESTLESS_SECONDS
        if waited > min(patience, left):
            return
        await asyncio.sleep(_NAP)


async def _arrive(tab: Tab, begun: float, seconds: float) -> bool:
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
