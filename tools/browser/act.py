"""One action from beginning to end: done within its time whatever the page does, and reported."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from langgraph.types import interrupt
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.actions import carry_out
from manus.tools.browser.arguments import AIMED, BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.fingerprint import page_fingerprint
from manus.tools.browser.navigate import navigation_seconds
from manus.tools.browser.patience import PageStuckError
from manus.tools.browser.report import changes, look_before
from manus.tools.browser.settle import settle
from manus.tools.browser.state import describe
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import NotThereError
from manus.tools.session import Session

_UNTIMED = frozenset({"wait", "extract_content"})
_MORE_SECONDS = 90.0
"""What an action may take longer that waits on purpose, or asks a model."""


@dataclass(slots=True)
class Outcome:
    """What came of an action, in words."""

    text: str
    failed: bool = False
    show_page: bool = False
    """Whether the page itself has to be shown, since the model has a wrong picture of it."""
    fingerprint: str | None = None
    """A digest of the page afterwards."""


async def act(session: Session, browser: Browser, arguments: BrowserArgs) -> Outcome:
    """Carry out an action and say what it changed.

    Raises:
        GraphBubbleUp: a dialog of the page is left to a person.
    """
    mark = browser.log.count
    tab = await browser.tab()
    before = look_before(browser, tab, mark)
    if browser.question is not None:
        outcome = await _answered(browser, tab)
    else:
        tab.dialogs = 0
        tab.trouble.clear()
        outcome = await _done(session, browser, tab, arguments)
        if _asks(browser):
            outcome = await _answered(browser, tab, outcome)
    browser.last_error = ""
    said = "\n".join([outcome.text, *await changes(browser, before)])
    if outcome.show_page:
        said += "\n\nThe page now:\n" + await describe(browser, mark=not session.page_is_prompted)
    browser.last_error = outcome.text if outcome.failed else ""
    outcome.text = said
    outcome.fingerprint = await page_fingerprint(browser, mark)
    return outcome


def _asks(browser: Browser) -> bool:
    return browser.question is not None


async def _done(session: Session, browser: Browser, tab: Tab, a: BrowserArgs) -> Outcome:
    """The action itself, given up when its time is over or the page is beyond help."""
    limit = browser.settings.action_timeout + (_MORE_SECONDS if a.action in _UNTIMED else 0)
    work = asyncio.ensure_future(_work(session, browser, tab, a))
    alarm = asyncio.ensure_future(tab.trouble.wait())
    try:
        await asyncio.wait({work, alarm}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if alarm.done():
            return await _trouble(browser, tab)
        if not work.done():
            return await _late(browser, tab, f"It did not come to an end within {limit:g} s.")
        return work.result()
    except PageStuckError:
        return await _stuck(browser, tab, "The page did not answer.")
    except NotThereError as error:
        return Outcome(str(error), failed=True, show_page=True)
    except ToolError as error:
        return Outcome(str(error), failed=True)
    except PlaywrightError as error:
        if tab.trouble.is_set() or browser.dead:
            return await _trouble(browser, tab)
        if tab.id not in browser.tabs:
            return Outcome("The tab was closed while the action was under way.")
        first = str(error).strip().split("\n")[0]
        return Outcome(f"The browser reports: {first[:300]}", failed=True)
    finally:
        for task in (work, alarm):
            task.cancel()
        await asyncio.gather(work, alarm, return_exceptions=True)


async def _work(session: Session, browser: Browser, tab: Tab, a: BrowserArgs) -> Outcome:
    if a.action in AIMED:
        await _require_seen(browser, tab)
    begun = time.monotonic()
    failure: ToolError | None = None
    said = ""
    try:
        said = await carry_out(session, browser, tab, a)
    except NotThereError:
        raise
    except ToolError as error:
        failure = error
    front = browser.active
    if front is not None:
        await settle(browser, front, begun, navigation_seconds(browser))
    if failure is not None:
        raise failure
    return Outcome(said)


async def _require_seen(browser: Browser, tab: Tab) -> None:
    """Refuse to act on a page that the model has not seen.

    Numbers and keys were chosen for the page that was shown before; an earlier call of the same
    message may have led away from it.
    """
    if browser.seen == (tab.id, await tab.token()):
        return
    if browser.seen[0] == 0:
        raise NotThereError("Nothing was done: look at the page first.")
    raise NotThereError(
        "Nothing was done: the page is not the one that was shown before; choose anew."
    )


async def _trouble(browser: Browser, tab: Tab) -> Outcome:
    if browser.question is not None:
        return Outcome("The action opened a dialog.")
    if browser.dead:
        return Outcome(
            "The browser ended by itself during this; the next action starts a new one.",
            failed=True,
        )
    if tab.crashed:
        return Outcome("The page crashed; the next action gets an empty tab.", failed=True)
    await browser.replace(tab)
    return Outcome(
        "The page opened dialogs without end, so it was closed; there is an empty tab now.",
        failed=True,
    )


async def _late(browser: Browser, tab: Tab, what: str) -> Outcome:
    await tab.stop_loading()
    try:
        await tab.token()
    except PageStuckError:
        return await _stuck(browser, tab, what)
    return Outcome(f"{what} Loading was stopped; the page can be used.", failed=True)


async def _stuck(browser: Browser, tab: Tab, what: str) -> Outcome:
    await tab.stop_loading()
    if await tab.revive():
        return Outcome(
            f"{what} A script of the page ran without end and was stopped; the page answers again.",
            failed=True,
        )
    if tab.id in browser.tabs and not browser.dead:
        await browser.replace(tab)
    return Outcome(
        f"{what} It could not be brought back, so it was closed; there is an empty tab now.",
        failed=True,
    )


async def _answered(browser: Browser, tab: Tab, outcome: Outcome | None = None) -> Outcome:
    """Ask the person what the page asks. On a resume this comes first, and the answer is there."""
    question = browser.question
    assert question is not None
    try:
        answer = str(interrupt({"kind": "question", "question": question.text}))
    except (RuntimeError, KeyError):  # not in a graph: nobody can be asked
        answer = ""
    browser.question = None
    begun = time.monotonic()
    question.tab.trouble.clear()
    await question.answer(answer, browser.log)
    try:
        await settle(browser, tab, begun, navigation_seconds(browser))
    except PageStuckError:
        return await _stuck(browser, tab, "The page did not answer.")
    return outcome or Outcome("The action opened a dialog.")
