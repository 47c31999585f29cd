"""Find the target of an action; mouse actions, scrolling, and screenshots.

Each action returns a sentence about its effect, or raises a `ToolError` with the reason of its
failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import ElementHandle, Frame, Locator, Position
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.state.text import one_line, shorten
from manus.tools.browser.arguments import PICTURE, BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.report import ActionError, Report
from manus.tools.browser.snapshot import render_lines, take_snapshot
from manus.tools.browser.tab import (
    ANSWER_SECONDS,
    SCRIPTS,
    Numbering,
    PageStuckError,
    Tab,
    attempt,
    get_element,
    script,
    with_timeout,
)
from manus.workspace.safe_open import write_file

ACTION_MS = 4_000
"""Milliseconds to wait until an element is ready for an action."""
REACTION_SECONDS = 0.5
"""Time that menus and suggestions take to open, since pages delay them on purpose."""
_STEPS = 4
"""Number of mouse moves on the way to an element."""
_NEAR = 2
"""Distance in pixels from which the mouse approaches the point of a click."""
_MAX_MATCHES = 50
_MAX_LABEL = 50
"""Maximum length of a label in the tool's own sentences: it is text of the page, and outside the
frame of untrusted text."""
_FIELDS = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "listbox"})
_SAME_ROW = 0.5
"""Minimum similarity of the texts around an element and around the one that replaced it."""
_LABEL = """element => [...element.labels].find(one => one.getBoundingClientRect().width > 1)"""
_CENTER = """element => { element.scrollIntoView({block: "center", behavior: "instant"});
  return element.textContent.replace(/\\s+/g, " ").trim().slice(0, 160); }"""


_CLICK: tuple[str, int, Literal["left", "right"]] = ("Clicked", 1, "left")
_CLICKS: dict[str, tuple[str, int, Literal["left", "right"]]] = {
    "double_click": ("Double-clicked", 2, "left"),
    "right_click": ("Right-clicked", 1, "right"),
}
"""The words, number and button of the clicks that are not a simple one."""
# Advice for elements of a kind that an action does not support.
_INSTEAD = {
    "list": "is a dropdown: use `select_dropdown_option`",
    "file": "takes a file: use `upload_file`",
    "button": "does not accept text: click it instead",
    "other": "is not a field; if a click turns it into one, click it and use `send_keys`",
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
    is_field: bool
    """Whether it has a value, which may be its name."""
    is_editor: bool
    """Whether it is a code editor, which renders only part of its text."""
    has_value: bool
    """Whether its text is its `value`, as for an input or a textarea."""
    disabled: bool
    read_only: bool
    suggests: bool
    """Whether the page may suggest values while the user types."""
    is_behind_label: bool
    """Whether the element is hidden and its label receives the clicks."""
    host: str
    """The host of its frame."""

    async def ask(self, text: str, argument: Any = None) -> Any:
        """Run a script on the element."""
        return await with_timeout(ANSWER_SECONDS, self.element.evaluate(text, argument))


async def find_target(tab: Tab, number: int | None, *excluded_kinds: str) -> Target:
    """Return the element with a number.

    Raises:
        ToolError: the element no longer exists, is disabled, or is of an excluded kind.
    """
    reference = tab.numbering.references.get(number or 0)
    description = tab.numbering.labels.get(number or 0, "")
    label = f"[{number}] {shorten(description, _MAX_LABEL)}".rstrip()
    tab.target = label
    element = None
    nearest = ""
    with contextlib.suppress(PlaywrightError):
        element = await get_element(reference, ANSWER_SECONDS) if reference else None
    if element is None and description:
        element, nearest = await _find_replacement(tab, number or 0)
    if element is None:
        reason = "is no longer on the page" if description else "is not on the page"
        raise ToolError(f"Nothing was done: {label} {reason}.{nearest}")
    properties = await _describe(element)
    if properties["disabled"] and excluded_kinds:
        await _leave_field(element)
        properties = await _describe(element)
    before = tab.numbering.visible_labels.get(number or 0, description)
    # the name of a field may be its value or its placeholder, which edits change
    if before != description and not properties["is_field"]:
        raise ToolError(
            f"Nothing was done: [{number}] was {shorten(before, _MAX_LABEL)} when it was shown to "
            f"you, and is {shorten(description, _MAX_LABEL)} now."
        )
    if properties["kind"] in excluded_kinds:
        raise ToolError(f"{label} {_INSTEAD[properties['kind']]}.")
    if excluded_kinds and properties["disabled"]:
        raise ToolError(f"{label} is disabled; another action has to enable it first.")
    # a replaced element may have another frame
    frame = await with_timeout(ANSWER_SECONDS, element.owner_frame())
    host = urlsplit(frame.url).hostname if frame else ""
    return Target(label, element, **properties, host=host or "")


async def _describe(element: ElementHandle) -> dict[str, Any]:
    return dict(await with_timeout(ANSWER_SECONDS, element.evaluate(script("describe"))))


async def _leave_field(element: ElementHandle) -> None:
    """Take the focus away, as a click on a disabled button does: it may wait for that."""
    await with_timeout(ANSWER_SECONDS, element.evaluate("() => document.activeElement.blur()"))
    await asyncio.sleep(REACTION_SECONDS)


async def _find_replacement(tab: Tab, number: int) -> tuple[ElementHandle | None, str]:
    """Return the element that replaced a removed one, or a hint about the nearest ones.

    Pages often rerender a part after an event.
    """
    numbering = tab.numbering
    lines = render_lines(await take_snapshot(tab.page), numbering, None)
    numbers = [line.number for line in lines if line.number is not None]
    if equal := _find_equal(numbering, number, numbers):
        return await get_element(numbering.references[equal], ANSWER_SECONDS), ""
    # without their roles, whose words would make any two buttons similar
    role, _, name = numbering.labels[number].partition(" ")
    prefix = f"{role} "
    names = [numbering.labels[other].removeprefix(prefix) for other in numbers]
    matches = difflib.get_close_matches(name, names, n=1) if name else []
    similar = [f"[{n}]" for n, other in zip(numbers, names, strict=True) if other in matches]
    if not similar:
        return None, ""
    label = numbering.labels[numbers[names.index(matches[0])]]
    return None, f" The most similar element now: {', '.join(similar[:3])} {label[:80]}."


def _find_equal(numbering: Numbering, number: int, numbers: list[int]) -> int | None:
    """Return the only element among `numbers` that equals a removed one; None if in doubt.

    Both must be the only one with their label and key, with their label, or, for a field, whose
    name may change with its value, with their role and key, and must not belong to different
    entries of a list.
    """
    labels = numbering.labels
    keys = numbering.keys
    role = labels[number].partition(" ")[0]
    ways = [(True, True), (True, False)]
    if role in _FIELDS and keys.get(number):
        ways.append((False, True))
    for is_named, is_keyed in ways:

        def is_equal(other: int, *, is_named: bool = is_named, is_keyed: bool = is_keyed) -> bool:
            label = labels.get(other, "")
            is_same = label == labels[number] if is_named else label.partition(" ")[0] == role
            return is_same and (not is_keyed or keys.get(other) == keys.get(number))

        before = list(filter(is_equal, numbering.visible))
        now = list(filter(is_equal, numbers))
        if before == [number] and len(now) == 1:
            rows = (numbering.rows.get(number, ""), numbering.rows.get(now[0], ""))
            similarity = difflib.SequenceMatcher(None, *rows).ratio()
            return now[0] if not all(rows) or similarity >= _SAME_ROW else None
    return None


def explain_failure(label: str, error: PlaywrightError) -> ToolError:
    """Return the error of an action on an element, derived from Playwright's message."""
    text = str(error)
    before, is_covered, _ = text.partition("intercepts pointer events")
    if is_covered:
        cover = one_line(before.rstrip().rpartition("\n")[2].strip(" -"), 160)
        problem = f"{label} is covered; first close or move what covers it, or scroll."
        return ActionError(problem, f"- It is covered by {cover}")
    reasons = ("not visible", "not enabled", "not stable", "not attached", "detached")
    if reason := next((words for words in reasons if words in text.lower()), ""):
        return ToolError(f"Cannot act on {label}: {reason}.")
    return ActionError(f"Cannot act on {label}.", text.strip().splitlines()[0][:200])


async def click(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Click an element, or a point in CSS pixels from the top left corner of the viewport."""
    verb, count, button = _CLICKS.get(arguments.action, _CLICK)
    if arguments.index is None:
        x, y = require_point(tab, arguments)
        await tab.mark(x, y)
        await tab.page.mouse.click(x, y, click_count=count, button=button)
        return f"{verb} at {x},{y}."
    target = await find_target(tab, arguments.index, "list", "file")
    element = target.element
    if target.is_behind_label:
        label = await element.evaluate_handle(_LABEL)
        element = label.as_element() or element
    position = await _approach(tab, element)
    await _mark(tab, element, position)
    await element.click(
        timeout=ACTION_MS, no_wait_after=True, position=position, click_count=count, button=button
    )
    return f"{verb} {target.label}."


async def _mark(tab: Tab, element: ElementHandle, position: Position | None) -> None:
    box = await attempt(ANSWER_SECONDS, element.bounding_box()) if tab.keeps_pictures else None
    if box is not None:
        middle = Position(x=box["width"] / 2, y=box["height"] / 2)
        point = position or middle
        await tab.mark(box["x"] + point["x"], box["y"] + point["y"])


async def _approach(tab: Tab, element: ElementHandle) -> Position | None:
    """Move the mouse to an element; return the point to click if its middle is covered.

    The mouse moves in steps: a menu that opened under the resting mouse takes the first move as a
    hover over the entry under it. Elements in frames are clicked without this.
    """
    point = await with_timeout(ANSWER_SECONDS, element.evaluate(script("point")))
    if point is None:
        return None
    if point["frame"] == "page":
        await tab.page.mouse.move(point["x"] - _NEAR, point["y"], steps=_STEPS)
    position = point["position"]
    return Position(x=position["x"], y=position["y"]) if position else None


def require_point(tab: Tab, arguments: BrowserArgs) -> tuple[int, int]:
    """Return the point of an action without an element.

    Raises:
        ToolError: there is none, or it is outside the viewport.
    """
    if arguments.x is None or arguments.y is None:
        raise ToolError(f"`{arguments.action}` needs `index`, or `x` and `y`.")
    check_point(tab, arguments.x, arguments.y)
    return arguments.x, arguments.y


def check_point(tab: Tab, x: float, y: float) -> None:
    """Raise a `ToolError` if a point is outside the viewport."""
    size = tab.page.viewport_size
    if size is not None and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(f"{x:g},{y:g} is outside the view ({size['width']}×{size['height']}).")


async def hover(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Move the mouse over an element or a point, and leave it there."""
    if arguments.index is None:
        x, y = require_point(tab, arguments)
        await tab.page.mouse.move(x, y, steps=2)
        subject = f"{x},{y}"
    else:
        target = await find_target(tab, arguments.index)
        await _approach(tab, target.element)
        await target.element.hover(timeout=ACTION_MS, no_wait_after=True)
        subject = target.label
    await asyncio.sleep(REACTION_SECONDS)
    return f"The mouse is over {subject}."


async def scroll(_: Browser, tab: Tab, parameters: BrowserArgs) -> str:
    """Scroll the page, or the area around an element, by pixels or (None) most of a screen."""
    direction = parameters.action.removeprefix("scroll_")
    amount = abs(parameters.scroll_amount or 0)
    arguments = {"amount": amount, "direction": 1 if direction == "down" else -1}
    if parameters.index is not None:
        position = await (await find_target(tab, parameters.index)).ask(script("scroll"), arguments)
    else:
        text = f"(arguments) => ({script('scroll')})(null, arguments)"
        position = await with_timeout(ANSWER_SECONDS, tab.page.evaluate(text, arguments))
    subject = "area" if position["inner"] else "page"
    distances = f"{position['above']} px are now above and {position['below']} px below."
    if position["moved"]:
        return f"Scrolled the {subject} {direction} by {abs(position['moved'])} px; {distances}"
    if position["above"] or position["below"]:
        end = "end" if direction == "down" else "beginning"
        return f"The {subject} is already at its {end}; {distances}"
    return f"The {subject} does not scroll; for an area inside it give the `index` of an element."


async def scroll_to_text(_: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Scroll to an occurrence of a text in any frame: the first one that is not in view.

    If the text is the same as before, scroll to its next occurrence.
    """
    text = arguments.text or ""
    matches: list[Locator] = []
    visible: list[bool] = []
    for frame in tab.page.frames:
        try:
            found = await _find_text(frame, text)
        except (PlaywrightError, PageStuckError):
            if frame == tab.page.main_frame:
                raise
            continue
        visible += found
        locator = frame.get_by_text(text).filter(visible=True)
        matches += [locator.nth(number) for number in range(len(found))]
    if not matches:
        raise ToolError(
            f'"{text}" is not on the page. Try fewer words; more may load when you scroll down.'
        )
    position = visible.index(False) if False in visible else 0
    if tab.last_search[0] == text:
        position = (tab.last_search[1] + 1) % len(matches)
    tab.last_search = (text, position)
    shown = await matches[position].evaluate(_CENTER, timeout=ACTION_MS)
    count = f" ({position + 1} of {len(matches)})" if len(matches) > 1 else ""
    return Report(f"Scrolled to the text{count}.", f'"{shown}"')


async def _find_text(frame: Frame, text: str) -> list[bool]:
    """Return, for each occurrence of a text in a frame, whether it is in view."""
    locator = frame.get_by_text(text).filter(visible=True)
    in_view = await with_timeout(ANSWER_SECONDS, locator.evaluate_all(SCRIPTS["in_view"]))
    return list(in_view)[:_MAX_MATCHES]


async def screenshot(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Save a screenshot of the viewport."""
    workspace = browser.session.workspace
    path = arguments.path or PICTURE
    if not path.lower().endswith(".png"):
        raise ToolError(f"{path} is not a PNG path; end it with `.png`.")
    target = await asyncio.to_thread(workspace.writable, path)
    if not (data := await tab.picture("png")):
        raise ToolError("The page was not painted in time.")
    try:
        await asyncio.to_thread(write_file, target, data)
    except OSError as error:
        raise ToolError(f"Cannot write {target.name}: {error.strerror}.") from None
    return f"Saved the view to {workspace.show(target)}."
