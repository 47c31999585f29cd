"""Choose from dropdowns: those of HTML, and lists that a page draws when their field is clicked."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.state.text import flat, one_line
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.pointer import ACTION_MS, REACTION_SECONDS, Target, click, find_target
from manus.tools.browser.report import ActionError, Report
from manus.tools.browser.snapshot import Line, render_lines, take_snapshot
from manus.tools.browser.tab import Tab

_MAX_OPTIONS = 200
_MAX_SHOWN = 30
_MAX_CHOICES = 400
_TRIES = 4
"""Looks at a page, one after each reaction time, for a list that it fetches."""
_CHOICES = ("option ", "menuitem", "treeitem ")
"""The roles of what an open list shows."""
_OPTIONS = """element => Array.from(element.options || []).map(o => ({
  text: (o.label || o.value).replace(/\\s+/g, " ").trim(), value: o.value, chosen: !!o.selected,
  disabled: o.disabled || !!o.parentElement.disabled }))"""
_STATE = """element => {
  const kinds = "[aria-haspopup], [aria-expanded], [role=combobox], [type=search]";
  const outer = [element.parentElement, element.parentElement?.parentElement];
  const field = element.matches(kinds) ? element
    : element.matches("button, a, input, [role=button], [role=link], [role=checkbox]") ? null
    : outer.find((box) => box?.matches(kinds)) || element.querySelector("[role=combobox]");
  return field && (field.getAttribute("aria-expanded") || "false");
}"""
"""Whether the list of a field is open, "true" or "false"; null if the element opens no list."""
_SHOWS = """(element, words) => {
  for (let box = element, n = 0; box && n < 5; box = box.parentElement, n++)
    if (`${box.value || ""} ${box.innerText || ""}`.toLowerCase().includes(words)) return true;
  return !element.isConnected;
}"""
"""Whether the field, or a box around it, shows the words; unknown if the page has replaced it."""


async def get_dropdown_options(_: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """List the options of a dropdown; an asterisk marks the selected ones."""
    target = await find_target(tab, arguments.index)
    options = await _get_options(target)
    lines: list[str] = []
    for option in options[:_MAX_OPTIONS]:
        bullet = "*" if option["chosen"] else "-"
        suffix = " (disabled)" if option["disabled"] else ""
        lines.append(f"{bullet} {option['text']}{suffix}")
    if (hidden_count := len(options) - _MAX_OPTIONS) > 0:
        lines.append(f"… and {hidden_count} more")
    return Report(f"Options of {target.label}:", "\n".join(lines))


async def select_dropdown_option(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Select an option by its text or value, or several options, one per line."""
    target = await find_target(tab, arguments.index)
    text = arguments.text or ""
    requested = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    if not await target.ask(_OPTIONS) and await target.ask(_STATE):
        return await _choose_in_list(browser, tab, arguments.index, requested)
    options = await _get_options(target)
    indexes = [_find_option(target.label, options, choice) for choice in requested]
    await target.element.select_option(index=indexes, timeout=ACTION_MS)
    names = [str(options[index]["text"]) for index in indexes]
    words = ", ".join(f'"{choice}"' for choice in requested)
    is_exact = [flat(name.lower()) for name in names] == [flat(word.lower()) for word in requested]
    page_text = "" if is_exact else f"- In full: {one_line(', '.join(names), _MAX_CHOICES)}"
    return Report(f"Chose {words} in {target.label}.", page_text)


async def _choose_in_list(
    browser: Browser, tab: Tab, number: int | None, requested: list[str]
) -> Report:
    """Click options of a list that opens when its field is clicked, as a person would."""
    missing: list[str] = []
    for words in requested:
        target = await find_target(tab, number)
        await _choose_one(browser, tab, target, number, words)
        await asyncio.sleep(REACTION_SECONDS)
        if not await target.ask(_SHOWS, flat(words.lower())):
            missing.append(words)
    quoted = ", ".join(f'"{words}"' for words in requested)
    if missing:
        return Report(f"Clicked {quoted} in the list of {target.label}, which does not show it.")
    if await target.ask(_STATE) == "true":
        # a list that takes several choices stays open, and covers the fields below
        await target.ask("() => document.activeElement.blur()")
    return Report(f"Chose {quoted} in {target.label}.")


async def _choose_one(
    browser: Browser, tab: Tab, target: Target, number: int | None, words: str
) -> None:
    """Click an option. Nothing is typed to filter the list: text for a page is asked about.

    Raises:
        ActionError: there is no such option; the error names those that are shown.
    """
    known = {line.number for line in await _read_lines(tab)}
    if await target.ask(_STATE) == "true":
        known = set()
    else:
        await _click(browser, tab, number)
    option, shown = await _find_shown(tab, words, known)
    if option is None:
        names = " | ".join(line.label for line in shown[:_MAX_SHOWN])
        problem = f'{target.label} shows no option "{words}"; scroll it, or filter it by text.'
        raise ActionError(problem, f"It shows: {names}")
    try:
        await _click(browser, tab, option.number)
    except PlaywrightError:  # the page has drawn its list again
        option, _ = await _find_shown(tab, words, known)
        if option is None:
            raise
        await _click(browser, tab, option.number)


async def _click(browser: Browser, tab: Tab, number: int | None) -> None:
    await click(browser, tab, BrowserArgs(action="click_element", index=number))


async def _read_lines(tab: Tab) -> list[Line]:
    return render_lines(await take_snapshot(tab.page), tab.numbering, None)


async def _find_shown(
    tab: Tab, words: str, known: Collection[int | None]
) -> tuple[Line | None, list[Line]]:
    """Return the option with a text among the elements that are not known, and all of these.

    Elements that are no options count only if they are new.
    """
    wanted = flat(words.lower())
    shown: list[Line] = []
    for _ in range(_TRIES):
        await asyncio.sleep(REACTION_SECONDS)
        lines = [line for line in await _read_lines(tab) if line.number is not None]
        shown = [line for line in lines if line.number not in known]
        shown = [line for line in shown if known or line.label.startswith(_CHOICES)]
        names = [flat(line.label.partition(" ")[2].strip('"').lower()) for line in shown]
        if wanted in names:
            return shown[names.index(wanted)], shown
        partial = [n for n, name in enumerate(names) if wanted in name]
        if len(partial) == 1:
            return shown[partial[0]], shown
    return None, shown


async def _get_options(target: Target) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = await target.ask(_OPTIONS)
    if not options:
        raise ToolError(f"{target.label} is not a dropdown. If it opens a list, click it.")
    return options


def _find_option(label: str, options: list[dict[str, Any]], requested: str) -> int:
    lowered = flat(requested.lower())
    exact = [n for n, o in enumerate(options) if lowered in {o["text"].lower(), o["value"].lower()}]
    matches = exact or [n for n, o in enumerate(options) if lowered in o["text"].lower()]
    if matches and options[matches[0]]["disabled"]:
        raise ToolError(f'The option "{requested}" of {label} is disabled.')
    if matches:
        return matches[0]
    names = " | ".join(option["text"] for option in options[:30])
    if len(options) > 30:
        names += f" … ({len(options)} in all)"
    raise ActionError(f'{label} has no option "{requested}".', f"It has: {names}")
