"""Enter text into a field as a person does, replace a part of it, and read all of it."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from manus.calls.downloads import add_downloads
from manus.prompts.sources import is_foreign
from manus.state.errors import ToolError
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import ACTION_MS, Target
from manus.tools.browser.tab import SCRIPTS, Tab, script
from manus.workspace.safe_open import write_file
from manus.workspace.text_files import as_text, read_file
from manus.workspace.workspace import Workspace

SECONDS_PER_KEY = 0.02
"""Maximum time that a key press takes on a busy machine."""
MAX_TYPED = 5_000
"""Maximum length of a text for a field of one line."""
_FORMATS = {
    "date": "a date as 2026-01-31",
    "time": "a time as 14:30",
    "datetime-local": "a date and time as 2026-01-31T14:30",
    "month": "a month as 2026-01",
    "week": "a week as 2026-W05",
    "color": "a color as #rrggbb",
}


async def read_value(target: Target) -> str:
    """Return the whole text of a field, or of another element."""
    return str(await target.ask(script("value"))).replace("\r\n", "\n")


async def enter_text(tab: Tab, target: Target, text: str, requested: str) -> str:
    """Replace the content of a field; return the value that the field then has.

    A single line is typed key by key, for the handlers of the page. A text of several lines is
    inserted like pasted text: Enter may submit a form, and editors indent what is typed.
    `requested` is the text with placeholders for secrets.

    Raises:
        ToolError: the text does not match the format of the field.
    """
    if target.kind == "formed":
        return await _fill_formed(target, text.strip(), requested)
    if target.kind == "text":
        await _select_all(tab, target)
        is_pasted = target.is_editor and bool(text) and await target.ask(SCRIPTS["paste"], text)
        if not is_pasted:
            await _insert(tab, text)
        return await read_value(target)
    if len(text) > MAX_TYPED:
        raise ToolError(f"{target.label} has a single line; {len(text):,} characters do not fit.")
    await target.element.select_text(timeout=ACTION_MS)
    if text:
        await tab.page.keyboard.type(text)
    else:
        await tab.page.keyboard.press("Delete")
    return await read_value(target)


async def replace_part(tab: Tab, target: Target, old: str, new: str) -> str:
    """Replace the one occurrence of a text in a field; return the value of the field.

    Raises:
        ToolError: the field does not contain the text, or contains it more than once.
    """
    if target.kind == "text" and not target.is_editor:
        count = int(await target.ask(SCRIPTS["select_part"], old))
    else:
        value = await read_value(target)
        count = value.count(old)
        if count == 1:
            return await enter_text(tab, target, value.replace(old, new), new)
    if count != 1:
        times = "does not contain" if count == 0 else f"contains {count} times"
        remedy = "read it with `extract_content` and its index" if count == 0 else "give more of it"
        raise ToolError(f"{target.label} {times} the `old_text`; {remedy}.")
    await _insert(tab, new)
    return await read_value(target)


async def _select_all(tab: Tab, target: Target) -> None:
    if not target.is_editor:
        await target.element.select_text(timeout=ACTION_MS)
        return
    await target.ask(SCRIPTS["focus_editor"])
    await tab.page.keyboard.press("ControlOrMeta+A")


async def _insert(tab: Tab, text: str) -> None:
    """Replace the selection; press a key without effect, since some pages wait for one."""
    if text:
        await tab.page.keyboard.insert_text(text)
    else:
        await tab.page.keyboard.press("Delete")
    await tab.page.keyboard.press("Shift")


async def _fill_formed(target: Target, text: str, requested: str) -> str:
    value = ""
    try:
        await target.element.fill(text, timeout=ACTION_MS)
        value = await read_value(target)
    except PlaywrightError as error:
        if "Malformed value" not in str(error) and "Cannot type text" not in str(error):
            raise
    if text and not value:
        kind = "" if target.type in target.label else f" (a {target.type} field)"
        raise ToolError(
            f"{target.label}{kind} does not accept {requested!r}; write "
            f"{_FORMATS.get(target.type, 'a number')}."
        )
    return value


async def read_text_file(workspace: Workspace, path: str) -> str:
    """Return the text of a file in the workspace.

    Raises:
        ToolError: the file does not exist, or is not text.
    """
    real_path = workspace.readable(path)
    try:
        data = await asyncio.to_thread(read_file, real_path, path)
    except OSError:
        raise ToolError(f"{path} is not a file in the workspace.") from None
    return as_text(path, data, real_path).text


async def keep_text(browser: Browser, path: str, text: str, source: str) -> None:
    """Write text of a page to a file in the workspace, which then counts as downloaded.

    Raises:
        ToolError: the file cannot be written.
    """
    workspace = browser.session.workspace
    target = await asyncio.to_thread(workspace.writable, path)
    try:
        await asyncio.to_thread(write_file, target, text.encode("utf-8", "replace"))
    except OSError as error:
        raise ToolError(f"Cannot write {path}: {error.strerror}.") from None
    if is_foreign(source):
        await asyncio.to_thread(add_downloads, workspace, [workspace.show(target)])
