"""What one does with a keyboard: write into a field, press keys."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target

# Fields that take a value in a fixed form only; the form stands beside them on the page.
_FORMED = frozenset({"date", "time", "datetime-local", "month", "week", "color", "range", "number"})
_TYPED = 400
"""Texts up to this long are typed key by key, since pages listen; longer ones are put in."""

_ALIASES = {
    "ctrl": "Control",
    "strg": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "win": "Meta",
    "option": "Alt",
    "esc": "Escape",
    "return": "Enter",
    "del": "Delete",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pgup": "PageUp",
    "pgdn": "PageDown",
    "spacebar": "Space",
}
_NAMED = {
    name.lower(): name
    for name in re.findall(
        r"\w+",
        "Control Shift Alt Meta Enter Tab Escape Backspace Delete Insert Home End PageUp PageDown "
        "ArrowUp ArrowDown ArrowLeft ArrowRight Space ContextMenu CapsLock",
    )
} | {f"f{number}": f"F{number}" for number in range(1, 13)}


async def input_text(tab: Tab, number: int, text: str) -> str:
    """Replace what a field holds. A line break at the end of a one-line text presses Enter.

    Raises:
        ToolError: it is gone, not a field, or does not take this text.
    """
    target = await _field(await find_target(tab, number))
    one_line = target.tag == "INPUT"
    enter = one_line and text.endswith("\n")
    if one_line:
        text = " ".join(text.splitlines())
    try:
        await _write(tab, target, text)
    except PlaywrightError as error:
        raise _explain(target, error, text) from None
    said = await _check(target, text.strip())
    if enter:
        await tab.page.keyboard.press("Enter")
        said += " Pressed Enter."
    return said


async def _field(target: Target) -> Target:
    """The field that is meant: the element, or the only one inside it.

    Raises:
        ToolError: it cannot be written into.
    """
    if target.tag == "INPUT":
        if target.type in {"checkbox", "radio", "button", "submit", "reset", "image"}:
            raise ToolError(f"Element {target.number} cannot be written into: click it instead.")
        if target.type == "file":
            raise ToolError(f"Element {target.number} takes a file: use `upload_file`.")
    if target.tag == "SELECT":
        raise ToolError(
            f"Element {target.number} is a drop-down list: use `select_dropdown_option`."
        )
    if target.disabled:
        raise ToolError(
            f"Element {target.number} is disabled; something else has to be done first."
        )
    if target.read_only:
        raise ToolError(
            f"Element {target.number} is read only: click it and choose from what it shows."
        )
    if target.tag in {"INPUT", "TEXTAREA"} or target.editable:
        return target
    inner = await target.element.query_selector(
        "input:not([type=hidden]):not([type=checkbox]):not([type=radio]), textarea, "
        "[contenteditable]:not([contenteditable=false])"
    )
    if inner is None:
        raise ToolError(
            f"Element {target.number} is not a field; click it first, then use `send_keys` if a "
            "cursor appears."
        )
    kind = await inner.evaluate("e => [e.tagName, e.type || '', e.isContentEditable]")
    target.element, (target.tag, target.type, target.editable) = inner, kind
    return target


async def _write(tab: Tab, target: Target, text: str) -> None:
    element = target.element
    if target.type in _FORMED and target.tag == "INPUT":
        await element.fill(text.strip(), timeout=ACTION_MS)
        return
    await element.fill("", timeout=ACTION_MS)
    await element.focus()
    if len(text) <= _TYPED:
        await tab.page.keyboard.type(text)
    elif target.editable:
        await tab.page.keyboard.insert_text(text)
    else:
        await element.fill(text, timeout=ACTION_MS)


def _explain(target: Target, error: PlaywrightError, text: str) -> ToolError:
    if "Malformed value" in str(error) or "Cannot type text" in str(error):
        return _wrong_form(target, text)
    return explain_failure(target.number, error)


def _wrong_form(target: Target, text: str) -> ToolError:
    return ToolError(
        f"Element {target.number} (a {target.type} field) does not take {text!r}: write it in "
        "the form that the page's list gives beside it."
    )


async def _check(target: Target, text: str) -> str:
    number = target.number
    try:
        held = await target.ask("read")
    except PlaywrightError:
        return f"Wrote into element {number}; the page changed at once."
    if held is None or held.get("secret"):
        return f"Wrote into element {number}."
    value = str(held["value"])
    if target.tag == "INPUT" and target.type in _FORMED and text and not value:
        raise _wrong_form(target, text)
    if _squash(value) == _squash(text):
        return f"Element {number} now holds what was given."
    shown = " ".join(value.split())
    shown = shown if len(shown) <= 200 else shown[:199] + "…"
    return f'Wrote into element {number}; the field made of it: "{shown}".'


async def send_keys(tab: Tab, keys: str) -> str:
    """Press keys or chords, several separated by spaces; what is none of these is typed."""
    if not keys:
        raise ToolError('`keys` is empty; give keys such as "Enter", or text to type.')
    names = [_key(word) for word in keys.split()]
    if names and all(name is not None for name in names):
        for name in names:
            await tab.page.keyboard.press(str(name))
        return f"Pressed {' '.join(str(name) for name in names)}."
    await tab.page.keyboard.type(keys)
    return "Typed the text."


def _key(word: str) -> str | None:
    """The name that the browser knows for a key or a chord; None if it is ordinary text."""
    parts = re.split(r"(?<=[^+])\+", word)
    found: list[str] = []
    for part in parts:
        low = part.lower()
        name = _NAMED.get(_ALIASES.get(low, low).lower())
        if name is None and len(part) == 1 and len(parts) > 1:
            # Control+A means the key, not the key with Shift, which an upper case letter would be
            name = part if "Shift" in found else part.lower()
        if name is None:
            return None
        found.append(name)
    return "+".join(found)


def _squash(text: str) -> str:
    return " ".join(text.split())
