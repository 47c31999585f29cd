"""The element that an action is meant for, and what one does with a mouse; a picture of the view.

Each action says what it has done, or raises a `ToolError` that says why it could not be done.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError

from manus.execution.safe_open import write_file
from manus.state.errors import ToolError
from manus.state.text import one_line, shortened
from manus.tools.browser.browser import Browser
from manus.tools.browser.snapshot import page_lines, take_snapshot
from manus.tools.browser.tab import (
    ANSWER_SECONDS,
    PageStuckError,
    Tab,
    element_of,
    script,
    with_timeout,
)
from manus.tools.browser_use import PICTURE, BrowserArgs

ACTION_MS = 4_000
"""How long an element may take to become ready to be acted on."""
_CENTER = """element => { element.scrollIntoView({block: "center", behavior: "instant"});
  return element.textContent.replace(/\\s+/g, " ").trim().slice(0, 160); }"""


# What helps with an element of a kind that an action is not for.
_INSTEAD = {
    "list": "is a drop-down list: use `select_dropdown_option`",
    "file": "takes a file: use `upload_file`",
    "button": "cannot be written into: click it instead",
    "other": "is not a field; if it becomes one when it is clicked, click it and use `send_keys`",
}


@dataclass(slots=True)
class Target:
    """An element and what it is."""

    label: str
    """How it is called in what is said of it: `[9] link "Terms"`."""
    element: ElementHandle
    kind: Literal["list", "file", "button", "formed", "line", "text", "other"]
    """`formed` takes a value in a fixed form only."""
    type: str
    disabled: bool
    read_only: bool
    is_behind_label: bool
    """Hidden itself, and acted on through its label."""
    host: str
    """That of the frame it is in."""

    async def ask(self, text: str, argument: Any = None) -> Any:
        """Run a script on the element."""
        return await with_timeout(ANSWER_SECONDS, self.element.evaluate(text, argument))


async def find_target(tab: Tab, number: int | None, *unfit: str) -> Target:
    """The element of a number; to be acted on where some kinds are `unfit` for that.

    Raises:
        ToolError: there is none, it is not on the page any more, or cannot be acted on.
    """
    reference = tab.numbering.references.get(number or 0)
    about = tab.numbering.labels.get(number or 0, "")
    label = f"[{number}] {shortened(about, 80)}".rstrip()
    tab.target = label
    element = None
    nearest = ""
    with contextlib.suppress(PlaywrightError):
        element = await element_of(reference, ANSWER_SECONDS) if reference else None
    if element is None and about:
        element, nearest = await _drawn_anew(tab, about)
    if element is None:
        why = "is no longer on the page" if about else "is not on the page"
        raise ToolError(f"Nothing was done: {label} {why}.{nearest}")
    found = await with_timeout(ANSWER_SECONDS, element.evaluate(script("describe")))
    before = tab.numbering.shown_labels.get(number or 0, about)
    if before != about and found["kind"] != "text":  # what is edited there may be its name
        raise ToolError(
            f"Nothing was done: [{number}] was {shortened(before, 80)} when it was shown to you, "
            f"and is {shortened(about, 80)} now."
        )
    if found["kind"] in unfit:
        raise ToolError(f"{label} {_INSTEAD[found['kind']]}.")
    if unfit and found["disabled"]:
        raise ToolError(f"{label} is disabled; something else has to be done first.")
    frame = await with_timeout(ANSWER_SECONDS, element.owner_frame())  # one drawn anew has its own
    host = urlsplit(frame.url).hostname if frame else ""
    return Target(label, element, **found, host=host or "")


async def _drawn_anew(tab: Tab, about: str) -> tuple[ElementHandle | None, str]:
    """What stands for an element that is gone, since pages draw lists anew; or what is nearest.

    It is the only one of its name, on a page with the same elements: a changed view has others.
    """
    before = Counter(tab.numbering.labels.get(number) for number in tab.numbering.shown)
    lines = page_lines(await take_snapshot(tab.page), tab.numbering, None)
    now = [(tab.numbering.labels[line.number], line.number) for line in lines if line.number]
    if before[about] == 1 and before == Counter(label for label, _ in now):
        reference = tab.numbering.references[dict(now)[about]]
        return await element_of(reference, ANSWER_SECONDS), ""
    found = difflib.get_close_matches(about, [label for label, _ in now], n=1)
    named = [f"[{number}]" for label, number in now if label in found]
    return None, f" Nearest to it: {', '.join(named[:3])} {found[0][:80]}." if found else ""


def explain_failure(label: str, error: PlaywrightError) -> ToolError:
    """What went wrong with an element, in a sentence. Playwright tells it in words only."""
    text = str(error)
    before, is_covered, _ = text.partition("intercepts pointer events")
    if is_covered:
        cover = one_line(before.rstrip().rpartition("\n")[2].strip(" -"), 160)
        return ToolError(f"{label} is covered by {cover}; close or move that first, or scroll.")
    known = ("not visible", "not enabled", "not stable", "not attached", "detached")
    why = next((w for w in known if w in text.lower()), text.strip().splitlines()[0][:200])
    return ToolError(f"{label} could not be acted on: {why}.")


async def click_element(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Click an element."""
    target = await find_target(tab, a.index, "list", "file")
    element = target.element
    if target.is_behind_label:
        label = await element.evaluate_handle("element => element.labels[0]")
        element = label.as_element() or element
    await element.click(timeout=ACTION_MS, no_wait_after=True)
    return f"Clicked {target.label}."


async def click_at(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Click a place of the viewport, in CSS pixels from its top left corner."""
    x = a.x or 0
    y = a.y or 0
    size = tab.page.viewport_size
    if size is not None and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(f"{x},{y} is outside the view ({size['width']}×{size['height']}).")
    await tab.page.mouse.click(x, y)
    return f"Clicked at {x},{y}."


async def hover(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Move the mouse over an element and leave it there."""
    target = await find_target(tab, a.index)
    await target.element.hover(timeout=ACTION_MS, no_wait_after=True)
    return f"The mouse is over {target.label}."


async def scroll(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Scroll the page, or the area around an element, by pixels or (None) most of a screen."""
    way = a.action.removeprefix("scroll_")
    arguments = {"amount": a.scroll_amount, "direction": 1 if way == "down" else -1}
    if a.index is not None:
        got = await (await find_target(tab, a.index)).ask(script("scroll"), arguments)
    else:
        text = f"(arguments) => ({script('scroll')})(null, arguments)"
        got = await with_timeout(ANSWER_SECONDS, tab.page.evaluate(text, arguments))
    what = "area" if got["inner"] else "page"
    left = f"{got['above']} px are above and {got['below']} px below now."
    if got["moved"]:
        return f"Scrolled the {what} {way} by {abs(got['moved'])} px; {left}"
    if got["above"] or got["below"]:
        return f"The {what} is at its {'end' if way == 'down' else 'beginning'} already; {left}"
    return f"The {what} does not scroll; an area inside it does with the `index` of an element."


async def scroll_to_text(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Bring the first place of a text into view, in whatever frame."""
    for frame in tab.page.frames:
        place = frame.get_by_text(a.text or "").filter(visible=True).first
        try:
            if await with_timeout(ANSWER_SECONDS, place.count()):
                found = await place.evaluate(_CENTER, timeout=ACTION_MS)
                return f'Scrolled to: "{found}"'
        except (PlaywrightError, PageStuckError):
            if frame == tab.page.main_frame:
                raise
    raise ToolError(f'"{a.text}" is not on the page. Try fewer words, or `extract_content`.')


async def screenshot(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Take a picture of the viewport."""
    workspace = browser.session.workspace
    path = a.path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path}: give a name that ends in .png.")
    place = await asyncio.to_thread(workspace.writable, path)
    if not (data := await tab.picture("png")):
        raise ToolError("The page could not be painted in time.")
    try:
        await asyncio.to_thread(write_file, place, data)
    except OSError as error:
        raise ToolError(f"{place.name} could not be written ({error.strerror}).") from None
    return f"The view is in {workspace.show(place)}."
