"""One action from beginning to end: done within its time whatever the page does, and reported."""

from __future__ import annotations

import asyncio
import time

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.actions import carry_out
from manus.tools.browser.arguments import AIMED, BrowserArgs
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.report import changes, look_before
from manus.tools.browser.state import describe, page_fingerprint
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import NotThereError
from manus.tools.browser.timing import PageStuckError, wait_until_idle
from manus.tools.result import Observation
from manus.tools.session import Session

_UNTIMED = frozenset({"wait", "extract_content"})
_MORE_SECONDS = 90.0
"""What an action may take longer that waits on purpose, or asks a model."""


async def act(session: Session, arguments: BrowserArgs) -> Observation:
    """Carry out an action in the session's browser, which is started if there is none.

    The page as it is afterwards is part of the answer where no next-step prompt shows it, and
    where the action was meant for another page.

    Raises:
        ToolUnavailableError: the browser cannot be started.
    """
    browser, said = await obtain_browser(session)
    mark = browser.log.count
    try:
        tab = await browser.tab()
    except PageStuckError:
        return Observation("The browser does not answer.", is_error=True)
    before = look_before(browser, tab, mark)
    tab.trouble.clear()
    show_page, is_error = not session.page_is_prompted, True
    try:
        done = await _in_time(session, browser, tab, arguments)
        is_error = False
    except NotThereError as error:
        done, show_page = str(error), True
    except ToolError as error:
        done = str(error)
    browser.last_error = ""
    lines = [line for line in (said, done) if line] + await changes(browser, before)
    if show_page and not browser.dead:
        shown = await describe(browser, is_seen=not session.page_is_prompted)
        lines.append(f"\nThe page now:\n{shown}")
    browser.last_error = done if is_error else ""
    fingerprint = await page_fingerprint(browser, mark)
    return Observation("\n".join(lines), is_error=is_error, fingerprint=fingerprint)


async def _in_time(session: Session, browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """The action itself, given up when its time is over or the page is beyond help.

    Raises:
        ToolError: it was not done, or not to the end.
    """
    limit = browser.settings.action_timeout + (_MORE_SECONDS if a.action in _UNTIMED else 0)
    work = asyncio.ensure_future(_work(session, browser, tab, a))
    alarm = asyncio.ensure_future(tab.trouble.wait())
    try:
        await asyncio.wait({work, alarm}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if alarm.done():
            raise ToolError(_trouble(browser))
        if not work.done():
            return await _late(browser, tab, f"It did not come to an end within {limit:g} s.")
        return work.result()
    except PageStuckError:
        return await _stuck(browser, tab, "The page did not answer.")
    except PlaywrightError as error:
        if tab.trouble.is_set() or browser.dead:
            raise ToolError(_trouble(browser)) from None
        if tab.id not in browser.tabs:
            return "The tab was closed while the action was under way."
        first = str(error).strip().split("\n")[0]
        raise ToolError(f"The browser reports: {first[:300]}") from None
    finally:
        for task in (work, alarm):
            task.cancel()
        await asyncio.gather(work, alarm, return_exceptions=True)


async def _work(session: Session, browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    if a.action in AIMED:
        await _require_seen(browser, tab)
    begun = time.monotonic()
    failure: ToolError | None = None
    said = ""
    try:
        said = await carry_out(session, browser, tab, a)
    except NotThereError:
        raise
    except ToolError as error:  # it may have had an effect all the same
        failure = error
    if browser.active is not None:
        await wait_until_idle(browser, browser.active, begun)
    if failure is not None:
        raise failure
    return said


async def _require_seen(browser: Browser, tab: Tab) -> None:
    """Refuse to act on a page that the model has not seen.

    Numbers and keys were chosen for the page that was shown before; an earlier call of the same
    message may have led away from it.
    """
    if browser.seen != (tab.id, await tab.token()):
        raise NotThereError("Nothing was done: the page was not shown before; choose anew.")


def _trouble(browser: Browser) -> str:
    if browser.dead:
        return "The browser ended by itself during this; the next action starts a new one."
    return "The page crashed; the next action gets an empty tab."


async def _late(browser: Browser, tab: Tab, what: str) -> str:
    await tab.stop_loading()
    try:
        await tab.token()
    except PageStuckError:
        return await _stuck(browser, tab, what)
    raise ToolError(f"{what} Loading was stopped; the page can be used.")


async def _stuck(browser: Browser, tab: Tab, what: str) -> str:
    await tab.stop_loading()
    if await tab.revive():
        raise ToolError(
            f"{what} A script of the page ran without end and was stopped; the page answers again."
        )
    if tab.id in browser.tabs and not browser.dead:
        await browser.replace(tab)
    raise ToolError(
        f"{what} It could not be brought back, so it was closed; there is an empty tab now."
    )
