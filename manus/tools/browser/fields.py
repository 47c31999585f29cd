"""What is done with the fields of a form: write, press keys, choose, give a file.

Each says what it has done, or raises a `ToolError` that says why it could not be done.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import FilePayload
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.config.secret_texts import fill, names_in
from manus.execution.text_files import read_file
from manus.execution.workspace import Workspace
from manus.state.errors import ToolError
from manus.state.text import flat, one_line
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import ACTION_MS, Target, find_target
from manus.tools.browser.tab import Tab
from manus.tools.browser_use import BrowserArgs

_TYPED = 400
"""Texts up to this long are typed key by key, since pages listen; longer ones are put in."""
_NAMED = 80
"""Characters that an answer repeats of a text."""
_MAX_OPTIONS = 200
_KEYS = (
    "Control Shift Alt Meta Enter Tab Escape Backspace Delete Insert Home End PageUp PageDown "
    "ArrowUp ArrowDown ArrowLeft ArrowRight Space F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
)
_SHORT = "ctrl=Control cmd=Meta esc=Escape return=Enter del=Delete up=ArrowUp down=ArrowDown "
_SHORT += "left=ArrowLeft right=ArrowRight"
_NAMES = {name.lower(): name for name in _KEYS.split()}
_NAMES |= dict(pair.split("=") for pair in _SHORT.split())
_FORMS = {
    "date": "a date as 2026-01-31",
    "time": "a time as 14:30",
    "datetime-local": "a date and time as 2026-01-31T14:30",
    "month": "a month as 2026-01",
    "week": "a week as 2026-W05",
    "color": "a colour as #rrggbb",
}
_OPTIONS = """element => Array.from(element.options || []).map(o => ({
  text: (o.label || o.value).replace(/\\s+/g, " ").trim(), value: o.value, chosen: !!o.selected,
  disabled: o.disabled || !!o.parentElement.disabled }))"""
_FILE_FIELD = """e => e.type === 'file' ? e : (e.control && e.control.type === 'file' && e.control)
  || e.querySelector('input[type=file]')"""


async def input_text(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Replace what a field holds. A line break at the end of a one-line text presses Enter."""
    target = await find_target(tab, a.index, "list", "file", "button", "other")
    if target.read_only:
        raise ToolError(f"{target.label} is read only: click it and choose from what it shows.")
    given = a.text or ""
    is_password = target.type == "password"
    is_secret = bool(names_in(given))
    text = fill(given, browser.session.settings.secrets, target.host)
    if target.kind != "text":
        text = " ".join(text.splitlines())
    held = await _write(tab, target, text, given)
    what = f'"{given.strip() if is_secret else one_line(text, _NAMED)}"'
    said = f"Typed {'the password' if is_password else what} into {target.label}"
    if not (is_password or is_secret) and held.split() != text.split():
        said += f'; the field made of it: "{one_line(held, 200)}"'
    if target.kind != "text" and given.endswith("\n"):
        await tab.page.keyboard.press("Enter")
        said += ". Pressed Enter"
    return f"{said}."


async def _write(tab: Tab, target: Target, text: str, given: str) -> str:
    """What the field holds afterwards. `given` names secrets that `text` holds."""
    is_formed = target.kind == "formed"
    try:
        if is_formed or len(text) > _TYPED:
            await target.element.fill(text.strip() if is_formed else text, timeout=ACTION_MS)
        else:
            await target.element.fill("", timeout=ACTION_MS)
            await target.element.focus()
            await tab.page.keyboard.type(text)
        held = str(await target.ask("e => e.isContentEditable ? e.innerText : e.value"))
    except PlaywrightError as error:
        if "Malformed value" not in str(error) and "Cannot type text" not in str(error):
            raise
        held = ""
    if is_formed and text.strip() and not held:
        raise ToolError(
            f"{target.label} (a {target.type} field) does not take {given!r}; write "
            f"{_FORMS.get(target.type, 'a number')}."
        )
    return held


async def send_keys(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Press keys or chords, several separated by spaces; what is none of these is typed."""
    keys = a.keys or ""
    names = [_key(word) for word in keys.split()]
    if names and all(names):
        for name in names:
            await tab.page.keyboard.press(str(name))
        return f"Pressed {' '.join(map(str, names))}."
    await tab.page.keyboard.type(keys)
    return f'Typed "{one_line(keys, _NAMED)}" where the cursor is.'


def enters_data(keys: str) -> bool:
    """Return whether keys put data of the model's choice into a page.

    Text does, and so do pasting, and the keys that move a slider or choose an option.
    """
    capital = re.search(r"\bshift\+\S(?:\s|$)", keys, re.IGNORECASE)
    chords = [_key(word) for word in keys.split()]
    if capital is not None or None in chords:
        return True
    return any(_PASTES.fullmatch(str(chord)) or _ADJUSTS.search(str(chord)) for chord in chords)


_PASTES = re.compile(r"(?:Control|Meta|ControlOrMeta)\+(?:Shift\+)?v|Shift\+Insert", re.I)
_ADJUSTS = re.compile(r"(?:^|\+)(?:Arrow\w+)$")


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


async def get_dropdown_options(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """The options of a list, one a line; an asterisk marks what is chosen."""
    target = await find_target(tab, a.index)
    options = await _options(target)
    lines = [f"Options of {target.label}:"]
    for option in options[:_MAX_OPTIONS]:
        off = " (disabled)" if option["disabled"] else ""
        lines.append(f"{'*' if option['chosen'] else '-'} {option['text']}{off}")
    if (more := len(options) - _MAX_OPTIONS) > 0:
        lines.append(f"… and {more} more")
    return "\n".join(lines)


async def select_dropdown_option(_: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Choose an option by its text or value; several, one a line, where the list takes several."""
    target = await find_target(tab, a.index)
    text = a.text or ""
    options = await _options(target)
    wanted = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    places = [_place(target.label, options, one) for one in wanted]
    await target.element.select_option(index=places, timeout=ACTION_MS)
    names = ", ".join(f'"{options[place]["text"]}"' for place in places)
    return f"Chose {names} in {target.label}."


async def _options(target: Target) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = await target.ask(_OPTIONS)
    if not options:
        raise ToolError(f"{target.label} is no list of options; if it opens one, click it.")
    return options


def _place(label: str, options: list[dict[str, Any]], wanted: str) -> int:
    low = flat(wanted.lower())
    exact = [n for n, o in enumerate(options) if low in {o["text"].lower(), o["value"].lower()}]
    found = exact or [n for n, o in enumerate(options) if low in o["text"].lower()]
    if found and options[found[0]]["disabled"]:
        raise ToolError(f'The option "{wanted}" of {label} is disabled.')
    if found:
        return found[0]
    names = " | ".join(option["text"] for option in options[:30])
    more = f" … ({len(options)} in all)" if len(options) > 30 else ""
    raise ToolError(f'{label} has no option "{wanted}". It has: {names}{more}.')


async def upload_file(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Give a file to a field for files, or to a button that asks for one."""
    file = await asyncio.to_thread(_payload, browser.session.workspace, a.path or "")
    target = await find_target(tab, a.index)
    try:
        field = (await target.element.evaluate_handle(_FILE_FIELD)).as_element()
        if field is not None:
            await field.set_input_files(file, timeout=ACTION_MS)
        else:
            async with tab.page.expect_file_chooser(timeout=ACTION_MS) as choosing:
                await target.element.click(timeout=ACTION_MS, no_wait_after=True)
            await (await choosing.value).set_files(file)
    except PlaywrightTimeoutError:
        raise ToolError(f"{target.label} takes no file.") from None
    return f"Gave {a.path} to {target.label}."


def _payload(workspace: Workspace, path: str) -> FilePayload:
    """Name, type and content: given a path, Playwright would look at the disk on the event loop."""
    place = workspace.readable(path)
    try:
        data = read_file(place, path)
    except OSError:
        raise ToolError(f"{path} is not a file in the workspace to be uploaded.") from None
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    return FilePayload(name=place.name, mimeType=kind, buffer=data)
