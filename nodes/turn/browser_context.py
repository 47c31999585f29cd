"""What a run has in front of it now: the page that its browser shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.nodes.active_run import Running
from manus.prompts import browser as prompts
from manus.state.messages import calls_of
from manus.tools.result import Image

BROWSER_ALWAYS = "looks_at_browser"
"""In a profile's `extras`: the page is shown before each step, not only around browser calls."""
_TOOL = "browser_use"
_BROWSER = "browser"
_RECENT = 3
"""Messages among which a browser call means that the browser is in use."""

View = tuple[list[str], tuple[Image, ...]]


async def look(running: Running, history: Sequence[AnyMessage]) -> View:
    """Notes on the page, and a picture of it where the model sees images; nothing if not in use."""
    running.session.page_is_prompted = True
    always = bool(running.profile.extras.get(BROWSER_ALWAYS))
    used = browser_in_use(history)
    if not (always or used) or running.catalog.find(_TOOL) is None:
        return [], ()
    if running.session.peek(_BROWSER) is None:
        return [prompts.BROWSER_GONE if used else prompts.NO_PAGE], ()
    from manus.tools.browser.state import (
        browser_state,  # it was imported when the browser was opened
    )

    state = await browser_state(running.session, screenshot=running.sees)
    if state is None:
        return [prompts.NO_PAGE], ()
    return [state.text], (state.screenshot,) if state.screenshot is not None else ()


def browser_in_use(history: Sequence[AnyMessage]) -> bool:
    """Whether one of the last messages is a call of the browser, or what came of one."""
    return any(_is_browser(message) for message in islice(reversed(history), _RECENT))


def _is_browser(message: AnyMessage) -> bool:
    if isinstance(message, ToolMessage):
        return str(message.name).lower() == _TOOL
    return isinstance(message, AIMessage) and any(
        str(call["name"]).lower() == _TOOL for call in calls_of(message)
    )
