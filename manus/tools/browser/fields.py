"""Actions on form fields: type text, press keys, select options, upload a file.

Each returns a sentence about its effect, or raises a `ToolError` with the reason of its failure.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re

from playwright.async_api import FilePayload
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.config.safety_settings import fill, names_in
from manus.prompts.approval import LOGIN
from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import ACTION_MS, REACTION_SECONDS, find_target
from manus.tools.browser.report import ActionError, Report
from manus.tools.browser.tab import Tab
from manus.tools.browser.text_entry import (
    contains_text,
    enter_text,
    read_text_file,
    replace_part,
)
from manus.workspace.text_files import read_file
from manus.workspace.workspace import Workspace

_MAX_QUOTED = 80
"""Maximum number of characters of a text that an observation repeats."""
_KEYS = (
    "Control Shift Alt Meta Enter Tab Escape Backspace Delete Insert Home End PageUp PageDown "
    "ArrowUp ArrowDown ArrowLeft ArrowRight Space F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
)
_ALIASES = "ctrl=Control cmd=Meta esc=Escape return=Enter del=Delete up=ArrowUp down=ArrowDown "
_ALIASES += "left=ArrowLeft right=ArrowRight"
_NAMES = {name.lower(): name for name in _KEYS.split()}
_NAMES |= dict(pair.split("=") for pair in _ALIASES.split())
_FILE_FIELD = """e => e.type === 'file' ? e : (e.control && e.control.type === 'file' && e.control)
  || e.querySelector('input[type=file]')"""


async def input_text(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str | Report:
    """Replace the value of a field, or the part of it that equals `old_text`.

    The text may come from a file. A line break at the end of a one-line text presses Enter.
    """
    requested = await _requested_text(browser, arguments)
    target = await find_target(tab, arguments.index, "list", "file", "button", "other")
    if target.read_only:
        raise ToolError(f"{target.label} is read-only: click it and choose from what it shows.")
    is_password = target.type == "password"
    is_secret = not arguments.path and bool(names_in(requested))
    text = requested
    if is_secret:
        text = fill(requested, browser.session.settings.secrets, target.host)
    if target.kind != "text":
        text = " ".join(text.splitlines())
    if arguments.old_text:
        value = await replace_part(tab, target, arguments.old_text, text)
        return f"Replaced a part of {target.label}, which now has {len(value):,} characters."
    if is_password or is_secret:
        browser.session.egress_guard.note_private(LOGIN)
    value = await enter_text(tab, target, text, requested)
    if target.suggests:
        await asyncio.sleep(REACTION_SECONDS)
    quoted = f'"{one_line(text, _MAX_QUOTED)}"'
    if is_secret:
        quoted = f'"{requested.strip()}"'
    if is_password:
        quoted = "the password"
    if arguments.path:
        quoted = f"{arguments.path} ({len(text):,} characters)"
    is_private = is_password or is_secret
    page_text = ""
    if not is_private and value.split() != text.split():
        page_text = f'- The field changed it to: "{one_line(value, 200)}"'
    if value != text if is_password else not contains_text(value, text):
        state = "it is empty" if not value else "it has another value"
        raise ActionError(f"{target.label} did not take {quoted}: {state}.", page_text)
    message = f"Typed {quoted} into {target.label}"
    if target.kind != "text" and requested.endswith("\n"):
        await tab.page.keyboard.press("Enter")
        message += ". Pressed Enter"
    return Report(f"{message}.", page_text)


async def _requested_text(browser: Browser, arguments: BrowserArgs) -> str:
    """Return the text to enter, from the argument or from a file in the workspace."""
    if arguments.path is not None:
        if arguments.text:
            raise ToolError("`input_text` takes `text` or `path`, not both.")
        return await read_text_file(browser.session.workspace, arguments.path)
    if arguments.text is None:
        raise ToolError("`input_text` needs `text`, or the `path` of a file.")
    return arguments.text


async def send_keys(_: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Press keys or chords, separated by spaces; type anything else."""
    keys = arguments.keys or ""
    names = [_parse_key(word) for word in keys.split()]
    if names and all(names):
        for name in names:
            await tab.page.keyboard.press(str(name))
        return f"Pressed {' '.join(map(str, names))}."
    await tab.page.keyboard.type(keys)
    return f'Typed "{one_line(keys, _MAX_QUOTED)}" where the cursor is.'


def enters_data(keys: str) -> bool:
    """Return whether keys enter data chosen by the model into a page.

    Text does, and so do pasting and the keys that move a slider or select an option.
    """
    capital = re.search(r"\bshift\+\S(?:\s|$)", keys, re.IGNORECASE)
    chords = [_parse_key(word) for word in keys.split()]
    if capital is not None or None in chords:
        return True
    return any(_PASTES.fullmatch(str(chord)) or _ADJUSTS.search(str(chord)) for chord in chords)


_PASTES = re.compile(r"(?:Control|Meta|ControlOrMeta)\+(?:Shift\+)?v|Shift\+Insert", re.I)
_ADJUSTS = re.compile(r"(?:^|\+)(?:Arrow\w+)$")


def _parse_key(word: str) -> str | None:
    """Return the browser's name of a key or a chord; None for ordinary text."""
    parts = re.split(r"(?<=[^+])\+", word)
    names: list[str] = []
    for part in parts:
        name = _NAMES.get(part.lower())
        if name is None and len(part) == 1 and len(parts) > 1:
            # Control+A means the key alone; an uppercase letter would also press Shift
            name = part if "Shift" in names else part.lower()
        if name is None:
            return None
        names.append(name)
    return "+".join(names)


async def upload_file(browser: Browser, tab: Tab, arguments: BrowserArgs) -> str:
    """Upload a file through a file field, or a button that opens a file chooser."""
    file = await asyncio.to_thread(_build_payload, browser.session.workspace, arguments.path or "")
    target = await find_target(tab, arguments.index)
    try:
        field = (await target.element.evaluate_handle(_FILE_FIELD)).as_element()
        if field is not None:
            await field.set_input_files(file, timeout=ACTION_MS)
        else:
            async with tab.page.expect_file_chooser(timeout=ACTION_MS) as choosing:
                await target.element.click(timeout=ACTION_MS, no_wait_after=True)
            await (await choosing.value).set_files(file)
    except PlaywrightTimeoutError:
        raise ToolError(f"{target.label} does not accept a file.") from None
    return f"Attached {file['name']} to {target.label}."


def _build_payload(workspace: Workspace, path: str) -> FilePayload:
    """Read a file to upload; given a path, Playwright would access the disk on the event loop."""
    real_path = workspace.readable(path)
    try:
        data = read_file(real_path, path)
    except OSError:
        raise ToolError(f"Cannot upload {path}: it is not a file in the workspace.") from None
    kind = mimetypes.guess_type(real_path.name)[0] or "application/octet-stream"
    return FilePayload(name=real_path.name, mimeType=kind, buffer=data)
