"""What one does with a keyboard: write into a field, press keys."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target

# Fields that take a value in a fixed form only; the form stands beside them on the page.
_FORMED = frozenset({"date", "time", "datetime-local", "month", "week", "color", "range", "number"})
_CLICKED = frozenset({"checkbox", "radio", "button", "submit", "reset", "image"})
_TYPED = 400
"""Texts up to this long are typed key by key, since pages listen; longer ones are put in."""
_ALIASES = {
    "ctrl": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "option": "Alt",
    "esc": "Escape",
    "return": "Enter",
    "del": "Delete",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
}
_KEYS = (
    "Control Shift Alt Meta Enter Tab Escape Backspace Delete Insert Home End PageUp PageDown "
    "ArrowUp ArrowDown ArrowLeft ArrowRight Space F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
)
_NAMES = {name.lower(): name for name in _KEYS.split()} | _ALIASES


async def input_text(tab: Tab, number: int, text: str) -> str:
    """Replace what a field holds. A line break at the end of a one-line text presses Enter.

    Raises:
        ToolError: it is gone, not a field, or does not take this text.
    """
    target = await find_target(tab, number)
    _require_field(target)
    presses_enter = target.tag == "INPUT" and text.endswith("\n")
    if target.tag == "INPUT":
        text = " ".join(text.splitlines())
    try:
        await _write(tab, target, text)
        held = await target.ask("e => e.isContentEditable ? e.innerText : e.value")
    except PlaywrightError as error:
        if "Malformed value" in str(error) or "Cannot type text" in str(error):
            raise _wrong_form(target, text) from None
        raise explain_failure(target.label, error) from None
    if presses_enter:
        await tab.page.keyboard.press("Enter")
    return _written(target, text, str(held)) + (" Pressed Enter." if presses_enter else "")


def _require_field(target: Target) -> None:
    if target.tag == "INPUT" and target.type in _CLICKED:
        raise ToolError(f"{target.label} cannot be written into: click it instead.")
    if target.tag == "INPUT" and target.type == "file":
        raise ToolError(f"{target.label} takes a file: use `upload_file`.")
    if target.tag == "SELECT":
        raise ToolError(f"{target.label} is a drop-down list: use `select_dropdown_option`.")
    target.require_enabled()
    if target.read_only:
        raise ToolError(f"{target.label} is read only: click it and choose from what it shows.")
    if target.tag not in {"INPUT", "TEXTAREA"} and not target.editable:
        raise ToolError(
            f"{target.label} is not a field; click it first, then use `send_keys` if a cursor "
            "appears."
        )


async def _write(tab: Tab, target: Target, text: str) -> None:
    element = target.element
    if target.tag == "INPUT" and target.type in _FORMED:
        await element.fill(text.strip(), timeout=ACTION_MS)
        return
    await element.fill("", timeout=ACTION_MS)
    await element.focus()
    if len(text) <= _TYPED:
        await tab.page.keyboard.type(text)
    else:
        await element.fill(text, timeout=ACTION_MS)


def _wrong_form(target: Target, text: str) -> ToolError:
    return ToolError(
        f"{target.label} (a {target.type} field) does not take {text!r}: write it in the form "
        "that the page's list gives beside it."
    )


def _written(target: Target, text: str, held: str) -> str:
    if target.tag == "INPUT" and target.type in _FORMED and text.strip() and not held:
        raise _wrong_form(target, text)
    if target.type == "password" or held.split() == text.split():
        return f"Wrote into {target.label}."
    return f'Wrote into {target.label}; the field made of it: "{" ".join(held.split())[:200]}".'


async def send_keys(tab: Tab, keys: str) -> str:
    """Press keys or chords, several separated by spaces; what is none of these is typed."""
    names = [_key(word) for word in keys.split()]
    if names and all(names):
        for name in names:
            await tab.page.keyboard.press(str(name))
        return f"Pressed {' '.join(map(str, names))}."
    await tab.page.keyboard.type(keys)
    return "Typed the text."


def _key(word: str) -> str | None:
    """The name that the browser knows for a key or a chord; None if it is ordinary text."""
    parts = re.split(r"(?<=[^+])\+", word)
    found: list[str] = []
    for part in parts:
        name = _NAMES.get(part.lower())
        if name is None and len(part) == 1 and len(parts) > 1:
            # Control+A means the key, not the key with Shift, which an upper case letter would be
            name = part if "Shift" in found else part.lower()
        if name is None:
            return None
        found.append(name)
    return "+".join(found)
