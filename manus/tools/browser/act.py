"""One action from beginning to end: done within its time whatever the page does, and reported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from manus.execution.result import Observation
from manus.execution.session import Session
from manus.state.errors import ToolError
from manus.tools.browser import fields, navigate, pointer
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.reading import extract_content
from manus.tools.browser.state import describe, new_texts, page_fingerprint, source_of
from manus.tools.browser.tab import PageStuckError, Tab
from manus.tools.browser_use import AIMED, READING, BrowserArgs

_MAX_LINES = 8
"""Of what is told of the effects of an action."""
_UNTIMED = frozenset({"wait", "extract_content"})
_MORE_SECONDS = 90.0
"""What an action may take longer that waits on purpose, or asks a model."""


class _Before(NamedTuple):
    """How things stood before an action."""

    log: int
    incidents: int
    tab: int
    url: str
    arrivals: int
    tabs: set[int]


async def act(session: Session, arguments: BrowserArgs) -> Observation:
    """Carry out an action in the session's browser, which is started if there is none.

    The page as it is afterwards is part of the answer where no next-step prompt shows it.

    Raises:
        ToolUnavailableError: the browser cannot be started.
    """
    browser, said = await obtain_browser(session)
    mark = browser.log.count
    try:
        tab = await browser.tab()
    except PageStuckError:
        return Observation("The browser does not answer.", is_error=True)
    incidents = browser.proxy.incidents.count
    before = _Before(mark, incidents, tab.id, tab.page.url, tab.arrivals, set(browser.tabs))
    browser.last_error = ""
    try:
        done = await _in_time(browser, tab, arguments)
        is_error = False
    except ToolError as error:
        done = str(error)
        is_error = True
    if gone := _gone(browser, tab):
        done = gone
        is_error = True
    browser.last_error = ""
    lines = [line for line in (said, done) if line] + await _changes(browser, before)
    if not (session.page_is_prompted or browser.dead):
        shown = await describe(browser)
        session.egress_guard.read(shown, browser.active.page.url if browser.active else "")
        lines.append(f"\nThe page now:\n{shown}")
    elif arguments.action in AIMED - READING and (new := await new_texts(browser)):
        lines.append(f"- New on the page: {new}")
    browser.last_error = done if is_error else ""
    source = source_of(browser.active or tab)
    seen = await page_fingerprint(browser, mark)
    return Observation("\n".join(lines), is_error=is_error, fingerprint=seen, source=source)


def _gone(browser: Browser, tab: Tab) -> str:
    """Why a tab is not there any more, where nobody has closed it."""
    if browser.dead:
        return "The browser ended by itself during this; the next action starts a new one."
    return "" if browser.has(tab) else browser.last_error


async def _in_time(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """The action itself, given up when its time is over or the page is beyond help."""
    limit = browser.settings.action_timeout + (_MORE_SECONDS if a.action in _UNTIMED else 0)
    browser.answer = (a.text or "") if a.accept else None
    try:
        async with asyncio.timeout(limit):
            return await _work(browser, tab, a)
    except (TimeoutError, PageStuckError) as error:
        late = f"It did not come to an end within {limit:g} s."
        what = "The page did not answer." if isinstance(error, PageStuckError) else late
        raise await _recovered(browser, tab, what) from None
    except PlaywrightError as error:
        if not browser.has(tab):
            return "The tab was closed while the action was under way."
        first = str(error).strip().split("\n")[0]
        raise ToolError(f"The browser reports: {first[:300]}") from None
    finally:
        browser.answer = None


async def _work(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    if a.action in AIMED:
        await _check_seen(browser, tab)
    tab.target = ""
    begun = time.monotonic()
    said = ""
    failure = None
    try:
        said = await _ACTIONS[a.action](browser, tab, a)
    except (PlaywrightError, ToolError) as error:
        failure = error
    if browser.active is not None:  # also what failed may have had an effect
        await navigate.wait_until_idle(browser, browser.active, begun)
    if isinstance(failure, PlaywrightError) and tab.target and browser.has(tab):
        raise pointer.explain_failure(tab.target, failure)
    if failure is not None:
        raise failure
    return said


async def _check_seen(browser: Browser, tab: Tab) -> None:
    """Check that the model has seen the page that its numbers and keys are meant for.

    An earlier call of the same message may have led away from it.

    Raises:
        ToolError: it has not.
    """
    is_same_document = browser.seen == (tab.id, await tab.token())
    if is_same_document and tab.route == browser.seen_route:
        return
    if browser.seen == (0, ""):
        raise ToolError(
            "Nothing was done: the browser was started anew, and the page that this was meant for "
            "is not open in it."
        )
    raise ToolError(
        f"Nothing was done: the page has changed since it was shown to you; it is {tab.page.url} "
        "now, and you have not seen it yet."
    )


async def _wait(_: Browser, _tab: Tab, a: BrowserArgs) -> str:
    seconds = a.seconds or 3
    await asyncio.sleep(seconds)
    return f"Waited {seconds:g} s."


_ACTIONS: dict[str, Callable[[Browser, Tab, BrowserArgs], Awaitable[str]]] = {
    "go_to_url": navigate.go_to_url,
    "go_back": navigate.go_back,
    "refresh": navigate.refresh,
    "open_tab": navigate.open_tab,
    "switch_tab": navigate.switch_tab,
    "close_tab": navigate.close_tab,
    "click_element": pointer.click_element,
    "click_at": pointer.click_at,
    "hover": pointer.hover,
    "scroll_down": pointer.scroll,
    "scroll_up": pointer.scroll,
    "scroll_to_text": pointer.scroll_to_text,
    "screenshot": pointer.screenshot,
    "input_text": fields.input_text,
    "send_keys": fields.send_keys,
    "get_dropdown_options": fields.get_dropdown_options,
    "select_dropdown_option": fields.select_dropdown_option,
    "upload_file": fields.upload_file,
    "extract_content": extract_content,
    "wait": _wait,
}


async def _recovered(browser: Browser, tab: Tab, what: str) -> ToolError:
    """Make the browser usable again after an action that did not end, and say what that took."""
    await tab.stop_loading()
    if await tab.revive():
        return ToolError(f"{what} Its loading and its scripts were stopped.")
    if browser.has(tab):
        await browser.open_tab()
        await browser.close_tab(tab)
    return ToolError(f"{what} So it was closed; there is an empty tab now.")


async def _changes(browser: Browser, before: _Before) -> list[str]:
    """One line for each thing that is different now."""
    tab = browser.active
    if browser.dead:
        return []
    lines: list[str] = []
    opened = [t for t in browser.tabs.values() if t.id not in before.tabs]
    for new in opened:
        front = ", now in front" if new is tab else ""
        lines.append(f"- Tab {new.id} opened{front}: {await _named(new)}")
    if tab is not None and not tab.page.url.startswith("chrome-error:"):
        shown = (tab.id, tab.page.url, tab.arrivals)
        if tab not in opened and shown != (before.tab, before.url, before.arrivals):
            what = "The page is now" if tab.id == before.tab else f"Tab {tab.id} shows"
            lines.append(f"- {what} {await _named(tab)}")
        if lines and tab.status >= 400:
            lines.append(f"- The server answered with HTTP {tab.status}.")
    if before.tab not in browser.tabs:
        lines.append(f"- Tab {before.tab} was closed.")
    distinct = list(dict.fromkeys(lines + _happenings(browser, before)))
    if (more := len(distinct) - _MAX_LINES) > 0:
        distinct = [*distinct[:_MAX_LINES], f"- … and {more} more of the kind."]
    return distinct


def _happenings(browser: Browser, before: _Before) -> list[str]:
    """What stands in the log, of the console only the first error; and what was not reached.

    Of addresses that could not be reached, only the page's own host: pages are full of others.
    """
    tab = browser.active
    host = urlsplit(tab.page.url).hostname if tab is not None else None
    found = browser.proxy.incidents.since(before.incidents)
    missed = [f"- {i.reason}" for i in found if i.refused or i.host == host]
    events = browser.log.since(before.log)
    lines = [f"- {text}" for kind, text in events if kind != "console"]
    errors = [text for kind, text in events if kind == "console"]
    if missed:  # the console says so too
        errors = [text for text in errors if "Failed to load resource" not in text]
    lines += [f"- Error in the page's console: {text}" for text in errors[:1]]
    return lines + missed


async def _named(tab: Tab) -> str:
    title = await tab.title()
    return f'"{title}" {tab.page.url}' if title else tab.page.url
