"""Find the target of an action; mouse actions, scrolling, and screenshots.

Each action returns a sentence about its effect, or raises a `ToolError` with the reason of its
failure.
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
from manus.state.text import one_line, shorten
from manus.tools.browser.arguments import PICTURE, BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.snapshot import render_lines, take_snapshot
from manus.tools.browser.tab import (
    ANSWER_SECONDS,
    PageStuckError,
    Tab,
    get_element,
    script,
    with_timeout,
)

ACTION_MS = 4_000
"""Milliseconds to wait until an element is ready for an action."""
_CENTER = """element => { element.scrollIntoView({block: "center", behavior: "instant"});
  return element.textContent.replace(/\\s+/g, " ").trim().slice(0, 160); }"""


# Advice for elements of a kind that an action does not support.
_INSTEAD = {
    "list": "is a drop-down list: use `select_dropdown_option`",
    "file": "takes a file: use `upload_file`",
    "button": "cannot be written into: click it instead",
    "other": "is not a field; if it becomes one when it is clicked, click it and use `send_keys`",
}


@dataclass(slots=True)
class Target:
    """The element that an action refers to, and its properties."""

    label: str
    """Its description in messages: `[9] link "Terms"`."""
    element: ElementHandle
    kind: Literal["list", "file", "button", "formed", "line", "text", "other"]
    """`formed` accepts only values in a fixed format."""
    type: str
    disabled: bool
    read_only: bool
    is_behind_label: bool
    """The element is hidden, and its label receives the clicks."""
    host: str
    """The host of its frame."""

    async def ask(self, text: str, argument: Any = None) -> Any:
        """Run a script on the element."""
        return await with_timeout(ANSWER_SECONDS, self.element.evaluate(text, argument))


async def find_target(tab: Tab, number: int | None, *excluded_kinds: str) -> Target:
    """Return the element with a number.

    Raises:
        ToolError: the element does not exist any more, is disabled, or is of an excluded kind.
    """
    reference = tab.numbering.references.get(number or 0)
    description = tab.numbering.labels.get(number or 0, "")
    label = f"[{number}] {shorten(description, 80)}".rstrip()
    tab.target = label
    element = None
    nearest = ""
    with contextlib.suppress(PlaywrightError):
        element = await get_element(reference, ANSWER_SECONDS) if reference else None
    if element is None and description:
        element, nearest = await _find_replacement(tab, description)
    if element is None:
        reason = "is no longer on the page" if description else "is not on the page"
        raise ToolError(f"Nothing was done: {label} {reason}.{nearest}")
    properties = await with_timeout(ANSWER_SECONDS, element.evaluate(script("describe")))
    before = tab.numbering.visible_labels.get(number or 0, description)
    if (
        before != description and properties["kind"] != "text"
    ):  # its label may be its text, which edits change
        raise ToolError(
            f"Nothing was done: [{number}] was {shorten(before, 80)} when it was shown to you, "
            f"and is {shorten(description, 80)} now."
        )
    if properties["kind"] in excluded_kinds:
        raise ToolError(f"{label} {_INSTEAD[properties['kind']]}.")
    if excluded_kinds and properties["disabled"]:
        raise ToolError(f"{label} is disabled; something else has to be done first.")
    frame = await with_timeout(
        ANSWER_SECONDS, element.owner_frame()
    )  # a replaced element may have another
    host = urlsplit(frame.url).hostname if frame else ""
    return Target(label, element, **properties, host=host or "")


async def _find_replacement(tab: Tab, description: str) -> tuple[ElementHandle | None, str]:
    """Return the element that replaced a removed one, or a hint at the nearest ones.

    Pages often render lists again. A replacement must be the only one with its label, on a page
    with the same elements.
    """
    before = Counter(tab.numbering.labels.get(number) for number in tab.numbering.visible)
    lines = render_lines(await take_snapshot(tab.page), tab.numbering, None)
    now = [(tab.numbering.labels[line.number], line.number) for line in lines if line.number]
    if before[description] == 1 and before == Counter(label for label, _ in now):
        reference = tab.numbering.references[dict(now)[description]]
        return await get_element(reference, ANSWER_SECONDS), ""
    matches = difflib.get_close_matches(description, [label for label, _ in now], n=1)
    numbers = [f"[{number}]" for label, number in now if label in matches]
    return None, f" Nearest to it: {', '.join(numbers[:3])} {matches[0][:80]}." if matches else ""


def explain_failure(label: str, error: PlaywrightError) -> ToolError:
    """Return the error of an action on an element, derived from Playwright's message."""
    text = str(error)
    before, is_covered, _ = text.partition("intercepts pointer events")
    if is_covered:
        cover = one_line(before.rstrip().rpartition("\n")[2].strip(" -"), 160)
        return ToolError(f"{label} is covered by {cover}; close or move that first, or scroll.")
    reasons = ("not visible", "not enabled", "not stable", "not attached", "detached")
    reason = next((w for w in reasons if w in text.lower()), text.strip().splitlines()[0][:200])
    return ToolError(f"{label} could not be acted on: {reason}.")


async def click_element(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Click an element."""
    target = await find_target(tab, arguments.index, "list", "file")
    element = target.element
    if target.is_behind_label:
        label = await element.evaluate_handle("element => element.labels[0]")
        element = label.as_element() or element
    await element.click(timeout=ACTION_MS, no_wait_after=True)
    return f"Clicked {target.label}."


async def click_at(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Click a point of the viewport, in CSS pixels from its top left corner."""
    x = arguments.x or 0
    y = arguments.y or 0
    size = tab.page.viewport_size
    if size is not None and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(f"{x},{y} is outside the view ({size['width']}×{size['height']}).")
    await tab.page.mouse.click(x, y)
    return f"Clicked at {x},{y}."


async def hover(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Move the mouse over an element and leave it there."""
    target = await find_target(tab, arguments.index)
    await target.element.hover(timeout=ACTION_MS, no_wait_after=True)
    return f"The mouse is over {target.label}."


async def scroll(_: Browser, tab: Tab, parameters: BrowserArgs) -> str:
    """Scroll the page, or the area around an element, by pixels or (None) most of a screen."""
    direction = parameters.action.removeprefix("scroll_")
    arguments = {"amount": parameters.scroll_amount, "direction": 1 if direction == "down" else -1}
    if parameters.index is not None:
        position = await (await find_target(tab, parameters.index)).ask(script("scroll"), arguments)
    else:
        text = f"(arguments) => ({script('scroll')})(null, arguments)"
        position = await with_timeout(ANSWER_SECONDS, tab.page.evaluate(text, arguments))
    subject = "area" if position["inner"] else "page"
    distances = f"{position['above']} px are above and {position['below']} px below now."
    if position["moved"]:
        return f"Scrolled the {subject} {direction} by {abs(position['moved'])} px; {distances}"
    if position["above"] or position["below"]:
        end = "end" if direction == "down" else "beginning"
        return f"The {subject} is at its {end} already; {distances}"
    return f"The {subject} does not scroll; an area inside it does with the `index` of an element."


async def scroll_to_text(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Scroll to the first occurrence of a text, in any frame."""
    for frame in tab.page.frames:
        locator = frame.get_by_text(arguments.text or "").filter(visible=True).first
        try:
            if await with_timeout(ANSWER_SECONDS, locator.count()):
                text = await locator.evaluate(_CENTER, timeout=ACTION_MS)
                return f'Scrolled to: "{text}"'
        except (PlaywrightError, PageStuckError):
            if frame == tab.page.main_frame:
                raise
    raise ToolError(
        f'"{arguments.text}" is not on the page. Try fewer words, or `extract_content`.'
    )


async def screenshot(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Take a picture of the viewport."""
    workspace = browser.session.workspace
    path = arguments.path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path}: give a name that ends in .png.")
    target = await asyncio.to_thread(workspace.writable, path)
    if not (data := await tab.picture("png")):
        raise ToolError("The page could not be painted in time.")
    try:
        await asyncio.to_thread(write_file, target, data)
    except OSError as error:
        raise ToolError(f"{target.name} could not be written ({error.strerror}).") from None
    return f"The view is in {workspace.show(target)}."
