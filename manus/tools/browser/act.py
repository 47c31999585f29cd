"""Run one action within its timeout, whatever the page does, and report its effects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from manus.calls.result import Observation
from manus.calls.session import Session
from manus.state.errors import ToolError
from manus.state.text import shorten
from manus.threads.pictures import keep_picture
from manus.tools.browser import dropdown, fields, navigate, pointer
from manus.tools.browser.arguments import ACTING, AIMED, POINTING, READING, BrowserArgs
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.drag import drag
from manus.tools.browser.evaluation import evaluate
from manus.tools.browser.reading import extract_content
from manus.tools.browser.report import ActionError, Report
from manus.tools.browser.state import describe, find_new_lines, page_fingerprint
from manus.tools.browser.tab import ANSWER_SECONDS, FAILED_RESOURCE, PageStuckError, Tab, attempt
from manus.tools.browser.text_entry import MAX_TYPED, SECONDS_PER_KEY

_MAX_LINES = 8
"""Maximum number of lines about the effects of an action."""
_MAX_ADDRESS = 300
_UNTIMED = frozenset({"wait", "extract_content"})
_LEAVING = frozenset({"go_to_url", "go_back", "refresh", "close_tab", "switch_tab"})
_PASSWORD = "password field"
"""The role of a password field in snapshots."""
_ASKS_PASSWORD = """() => [...document.querySelectorAll("input[type=password]")]
  .some(field => field.checkVisibility())"""
_MAX_WAIT = 60.0
_MORE_SECONDS = 90.0
"""Additional seconds for actions that wait on purpose, or ask a model."""


class _StateBefore(NamedTuple):
    """The state of the browser before an action."""

    log: int
    incidents: int
    tab: int
    url: str
    arrivals: int
    tabs: set[int]


async def act(session: Session, arguments: BrowserArgs) -> Observation:
    """Run an action in the session's browser; start the browser if there is none.

    The observation includes the page after the action unless a next-step prompt shows it.

    Raises:
        ToolUnavailableError: the browser cannot be started.
    """
    browser, notice = await obtain_browser(session)
    mark = browser.log.count
    try:
        tab = await browser.tab()
    except PageStuckError:
        return Observation("The browser does not respond.", is_error=True)
    incidents = browser.proxy.incidents.count
    before = _StateBefore(mark, incidents, tab.id, tab.page.url, tab.arrivals, set(browser.tabs))
    look = await _look_exactly(browser, arguments, mark)
    tab.keeps_pictures = _keeps_pictures(session, browser)
    tab.marked = None
    browser.last_error = ""
    result, is_error = await _attempt_action(browser, tab, arguments)
    browser.last_error = ""
    changes, events = await _describe_changes(browser, before, result.text)
    own_lines = [line for line in (notice, result.text, *changes) if line]
    is_silent = look is not None and not (is_error or changes or events)
    if is_silent and look == await _look_exactly(browser, arguments, mark):
        own_lines.append("- Nothing in the view has changed so far.")
    page_lines = [result.page_text, *events] if result.page_text else events
    if not (session.page_is_prompted or browser.dead):
        now = await describe(browser)
        session.egress_guard.read(now.page_text, browser.active.page.url if browser.active else "")
        own_lines.append(f"\nThe page now:\n{now.text}")
        page_lines.append(now.page_text)
    elif arguments.action in AIMED - READING and (added := await find_new_lines(browser)):
        page_lines.append(f"- New on the page: {added}")
    browser.last_error = result.text if is_error else ""
    own_text = "\n".join(own_lines)
    return Observation(
        "\n".join([own_text, *page_lines]),
        is_error=is_error,
        fingerprint=await page_fingerprint(browser, mark),
        source=(browser.active or tab).source,
        own_text=own_text,
        picture=await _keep_picture(session, browser, tab) if tab.keeps_pictures else {},
    )


async def _attempt_action(
    browser: Browser, tab: Tab, arguments: BrowserArgs
) -> tuple[Report, bool]:
    """Return the report of an action, and whether it failed."""
    try:
        result = await _run_with_timeout(browser, tab, arguments)
        is_error = False
    except ToolError as error:
        result = Report(str(error), error.page_text if isinstance(error, ActionError) else "")
        is_error = True
    if loss := _describe_loss(browser, tab):
        return Report(loss), True
    return result, is_error


def _keeps_pictures(session: Session, browser: Browser) -> bool:
    """Return whether pictures are kept: not beside secrets, which cannot be masked in them."""
    is_possible = session.archive.path is not None and not session.settings.secrets
    return browser.settings.pictures and is_possible


async def _keep_picture(session: Session, browser: Browser, tab: Tab) -> dict[str, Any]:
    """Keep a picture of the step with the thread: before its click, else after the action."""
    data, point = tab.marked or (b"", {})
    shown = browser.active
    if not data and shown is not None and not browser.dead and shown.page.url != "about:blank":
        data = await shown.small_picture()
        point = {}
    archive = session.archive.path
    if not data or archive is None:
        return {}
    return {"name": await asyncio.to_thread(keep_picture, archive, data), **point}


async def _look_exactly(browser: Browser, arguments: BrowserArgs, mark: int) -> str | None:
    """Return a fingerprint of the view if only the view can show the effect of an action."""
    if arguments.action not in POINTING:
        return None
    return await page_fingerprint(browser, mark, is_exact=True)


def _describe_loss(browser: Browser, tab: Tab) -> str:
    """Return why a tab is gone although no action closed it; empty if it exists."""
    if browser.dead:
        return "The browser exited during the action; the next action starts a new one."
    if browser.has(tab):
        return ""
    return browser.last_error


async def _run_with_timeout(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Run the action; abort it after its timeout, or when the page is stuck."""
    limit = browser.settings.action_timeout
    if arguments.action in _UNTIMED:
        limit += _MORE_SECONDS
    if arguments.action in ("input_text", "send_keys"):
        limit += SECONDS_PER_KEY * min(len(arguments.text or arguments.keys or ""), MAX_TYPED)
    browser.answer = (arguments.text or "") if arguments.accept else None
    try:
        async with asyncio.timeout(limit):
            return await _run_action(browser, tab, arguments)
    except (TimeoutError, PageStuckError) as error:
        problem = f"The action timed out after {limit:g} s."
        if isinstance(error, PageStuckError):
            problem = "The page did not respond."
        raise await _recover(browser, tab, problem) from None
    except PlaywrightError as error:
        if not browser.has(tab):
            return Report("The tab was closed during the action.")
        first = str(error).strip().split("\n")[0]
        raise ActionError("The browser reports an error.", first[:300]) from None
    finally:
        browser.answer = None


async def _run_action(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    if arguments.action in AIMED:
        await _check_is_current(browser, tab)
    elif arguments.action in _LEAVING and browser.acted_since:
        await _check_sign_in(tab)
    browser.acted_since = browser.acted_since or arguments.action in ACTING
    tab.target = ""
    started = time.monotonic()
    result: Report | str = ""
    failure = None
    try:
        result = await _ACTIONS[arguments.action](browser, tab, arguments)
    except (PlaywrightError, ToolError) as error:
        failure = error
    if browser.active is not None:  # a failed action may have had an effect too
        await navigate.wait_until_idle(browser, browser.active, started)
    if isinstance(failure, PlaywrightError) and tab.target and browser.has(tab):
        raise pointer.explain_failure(tab.target, failure)
    if failure is not None:
        raise failure
    return Report(result) if isinstance(result, str) else result


async def _check_is_current(browser: Browser, tab: Tab) -> None:
    """Check that the model has seen the current page, since its numbers and keys refer to it.

    An earlier call of the same message may have left that page.

    Raises:
        ToolError: the model has not seen the current page.
    """
    is_same_document = browser.last_page == (tab.id, await tab.token())
    if is_same_document and tab.route == browser.last_route:
        return
    if browser.last_page == (0, ""):
        raise ToolError(
            "Nothing was done: the browser was restarted, and the page that this action was meant "
            "for is no longer open."
        )
    raise ToolError(
        "Nothing was done: the page has changed since it was shown to you; it is now "
        f"{tab.page.url}, which you have not seen yet."
    )


async def _check_sign_in(tab: Tab) -> None:
    """Check that a sign-in of the same message has not failed, since the page says why.

    Raises:
        ToolError: the page still asks for the password.
    """
    had_password = any(
        label.startswith(_PASSWORD) for label in tab.numbering.visible_labels.values()
    )
    if had_password and await attempt(ANSWER_SECONDS, tab.page.evaluate(_ASKS_PASSWORD)):
        raise ToolError(
            "Nothing was done: the page still asks for a password, so the sign-in before this call "
            "may have failed; look at the page first."
        )


async def _wait(_: Browser, _tab: Tab, arguments: BrowserArgs) -> str:
    seconds = min(arguments.seconds or 3, _MAX_WAIT)
    if seconds < 0:
        raise ToolError("`seconds` must be positive.")
    await asyncio.sleep(seconds)
    return f"Waited {seconds:g} s."


_Action = Callable[[Browser, Tab, BrowserArgs], Awaitable[str | Report]]
_ACTIONS: dict[str, _Action] = {
    "go_to_url": navigate.go_to_url,
    "go_back": navigate.go_back,
    "refresh": navigate.refresh,
    "open_tab": navigate.open_tab,
    "switch_tab": navigate.switch_tab,
    "close_tab": navigate.close_tab,
    **dict.fromkeys(("click_element", "click_at", "double_click", "right_click"), pointer.click),
    "drag": drag,
    "hover": pointer.hover,
    "scroll_down": pointer.scroll,
    "scroll_up": pointer.scroll,
    "scroll_to_text": pointer.scroll_to_text,
    "screenshot": pointer.screenshot,
    "input_text": fields.input_text,
    "send_keys": fields.send_keys,
    "get_dropdown_options": dropdown.get_dropdown_options,
    "select_dropdown_option": dropdown.select_dropdown_option,
    "upload_file": fields.upload_file,
    "extract_content": extract_content,
    "evaluate": evaluate,
    "wait": _wait,
}


async def _recover(browser: Browser, tab: Tab, problem: str) -> ToolError:
    """Make the browser usable again after an action that hung; return the error to raise."""
    await tab.stop_loading()
    if await tab.revive():
        return ToolError(f"{problem} The page's loading and scripts were stopped.")
    if browser.has(tab):
        await browser.open_tab()
        await browser.close_tab(tab)
    return ToolError(f"{problem} The tab was closed and replaced by an empty one.")


async def _describe_changes(
    browser: Browser, before: _StateBefore, result: str
) -> tuple[list[str], list[str]]:
    """Describe each change since the action started, in our words and in text of the page.

    An address that the result of the action already names is not repeated.
    """
    tab = browser.active
    if browser.dead:
        return [], []
    lines: list[str] = []
    opened_tabs = [t for t in browser.tabs.values() if t.id not in before.tabs]
    for opened_tab in opened_tabs:
        state = ", now active" if opened_tab is tab else ""
        lines.append(f"- Tab {opened_tab.id} opened{state}: {_address(opened_tab)}")
    if tab is not None and not tab.page.url.startswith("chrome-error:"):
        current = (tab.id, tab.page.url, tab.arrivals)
        if tab not in opened_tabs and current != (before.tab, before.url, before.arrivals):
            subject = "The page is now" if tab.id == before.tab else f"Tab {tab.id} shows"
            if f" {tab.page.url}." not in result:
                lines.append(f"- {subject} {_address(tab)}")
            if tab.status >= 400:
                lines.append(f"- The server returned HTTP {tab.status}.")
    if before.tab not in browser.tabs:
        lines.append(f"- Tab {before.tab} was closed.")
    failures, events = _describe_events(browser, before)
    return _limit_lines(lines + failures), _limit_lines(events)


def _address(tab: Tab) -> str:
    return shorten(tab.page.url, _MAX_ADDRESS)


def _limit_lines(lines: list[str]) -> list[str]:
    distinct = list(dict.fromkeys(lines))
    if (hidden_count := len(distinct) - _MAX_LINES) > 0:
        distinct = [*distinct[:_MAX_LINES], f"- … and {hidden_count} more like these."]
    return distinct


def _describe_events(browser: Browser, before: _StateBefore) -> tuple[list[str], list[str]]:
    """Describe the events since a state, in our words and in text of the page, such as a dialog's.

    A request to an unreachable host is described only if it is the page's own host, since pages
    refer to many others. Of the errors in the console only the first is described.
    """
    tab = browser.active
    host = None
    if tab is not None:
        host = urlsplit(tab.page.url).hostname
    incidents = browser.proxy.incidents.since(before.incidents)
    failures = [f"- {i.reason}" for i in incidents if i.refused or i.host == host]
    events = browser.log.since(before.log)
    own_lines = [f"- {text}" for kind, text in events if kind == "event"]
    lines = [f"- {text}" for kind, text in events if kind in ("dialog", "download")]
    errors = [text for kind, text in events if kind == "console"]
    if failures:  # the console reports them too
        errors = [text for text in errors if not text.startswith(FAILED_RESOURCE)]
    lines += [f"- Error in the page's console: {text}" for text in errors[:1]]
    return own_lines + failures, lines
