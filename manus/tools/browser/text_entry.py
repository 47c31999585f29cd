"""Enter text into a field as a person does, replace a part of it, and read all of it."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from playwright.async_api import Error as PlaywrightError

from manus.calls.changed_files import add_downloads
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
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/-]")
"""Characters with a meaning in a pattern of Python or JavaScript."""
_SELECT = "(e, [start, end]) => { e.focus(); e.setSelectionRange(start, end) }"
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
        if not target.has_value:  # some editors leave the cursor elsewhere, and keys may follow
            await tab.page.keyboard.press("Control+End")
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

    The text is matched exactly, or else with any white space for each run of it.

    Raises:
        ToolError: the field does not contain the text, contains it more than once, or does not
            have the expected value afterwards.
    """
    before = await read_value(target)
    if target.has_value or target.is_editor:
        part = find_part(before, old, new)
        count = len(part.spans)
    else:
        part = _without_common_space(old, new)
        if part.old != part.old.strip():
            raise ToolError(
                f"Nothing was done: in {target.label}, line breaks are part of the layout. Begin "
                "and end `old_text` with a word on each side of the line break to change."
            )
        count = int(await target.ask(SCRIPTS["select_part"], _as_pattern(part.old)))
    if count != 1:
        times = "does not contain" if count == 0 else f"contains {count} times"
        remedy = "read it with `extract_content` and its index" if count == 0 else "give more of it"
        raise ToolError(f"{target.label} {times} the `old_text`; {remedy}.")
    await _write_part(tab, target, before, part)
    value = await read_value(target)
    if value == before:
        raise ToolError(f"{target.label} did not take the text: its value is the same as before.")
    if not contains_text(value, part.new):
        raise ToolError(f"{target.label} did not take the text: it is not in its value.")
    return value


async def _write_part(tab: Tab, target: Target, before: str, part: Part) -> None:
    """Write the new text in the place of the old one; without spans, that one is selected."""
    if part.spans:
        start, end = part.spans[0]
        if target.is_editor or target.kind != "text":
            text = before[:start] + part.new + before[end:]
            await enter_text(tab, target, text, part.new)
            return
        await target.ask(_SELECT, [_utf16_length(before[:start]), _utf16_length(before[:end])])
    await _insert(tab, part.new)


class Part(NamedTuple):
    """A replacement in a text: where the old part is, and what is replaced by what."""

    old: str
    new: str
    spans: tuple[tuple[int, int], ...] = ()


def find_part(value: str, old: str, new: str) -> Part:
    """Return the occurrences of a text: exact ones, or else those with other white space."""
    part = Part(old, new)
    matches = [*re.finditer(re.escape(old), value)]
    if not matches:
        part = _without_common_space(old, new)
        matches = [*re.finditer(_as_pattern(part.old), value)]
    return part._replace(spans=tuple(match.span() for match in matches))


def _without_common_space(old: str, new: str) -> Part:
    """Return two texts without the white space that both begin with, and that both end with."""
    if not old.strip():
        return Part(old, new)
    while old[0].isspace() and new.startswith(old[0]):
        old, new = old[1:], new[1:]
    while old[-1].isspace() and new.endswith(old[-1]):
        old, new = old[:-1], new[:-1]
    return Part(old, new)


def _as_pattern(text: str) -> str:
    """Return a pattern, for Python and JavaScript, in which runs of white space equal any other."""
    parts = re.split(r"(\s+)", text)
    return "".join(r"\s+" if part.isspace() else _SPECIAL.sub(r"\\\g<0>", part) for part in parts)


def _utf16_length(text: str) -> int:
    """Return the length of a text as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def contains_text(value: str, text: str) -> bool:
    """Return whether a field has taken a text, though it may format it in another way.

    A mask or a date has the same digits, perhaps in another order; other texts are compared without
    white space and punctuation.
    """
    if not _core(text):
        return text.strip() in value
    is_numeric = _core(text).isdigit()
    digits = [sorted(filter(str.isdigit, each)) for each in (value, text)]
    return _core(text) in _core(value) or (is_numeric and digits[0] == digits[1])


def _core(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


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
