"""Drop-down lists. Those that pages make of other elements are opened and clicked like anything."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target

_MAX_OPTIONS = 200
_OPTIONS = """element => Array.from((element.list || element).options || []).map(o => ({
  text: (o.label || o.value).replace(/\\s+/g, " ").trim(), value: o.value, chosen: !!o.selected,
  disabled: o.disabled || !!o.parentElement.disabled }))"""


async def get_dropdown_options(tab: Tab, number: int) -> str:
    """The options of a list, one a line; an asterisk marks what is chosen.

    Raises:
        ToolError: it is gone, or no list.
    """
    target = await find_target(tab, number)
    options = await _options(target)
    lines = [f"Options of {target.label}:"]
    for option in options[:_MAX_OPTIONS]:
        mark = "*" if option["chosen"] else "-"
        off = " (disabled)" if option["disabled"] else ""
        lines.append(f"{mark} {option['text']}{off}")
    if (more := len(options) - _MAX_OPTIONS) > 0:
        lines.append(f"… and {more} more")
    return "\n".join(lines)


async def select_dropdown_option(tab: Tab, number: int, text: str) -> str:
    """Choose an option by its text or value; several, one a line, where the list takes several.

    Raises:
        ToolError: it is gone, or has no such option; it then names those there are.
    """
    target = await find_target(tab, number)
    options = await _options(target)
    wanted = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    places = [_place(target.label, options, one) for one in wanted]
    try:
        if target.tag == "SELECT":
            await target.element.select_option(index=places, timeout=ACTION_MS)
        else:
            await target.element.fill(options[places[0]]["value"], timeout=ACTION_MS)
    except PlaywrightError as error:
        raise explain_failure(target.label, error) from None
    names = ", ".join(f'"{options[place]["text"]}"' for place in places)
    return f"Chose {names} in {target.label}."


async def _options(target: Target) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = await target.ask(_OPTIONS)
    if not options:
        raise ToolError(
            f"{target.label} is no list of options; if it opens one, click it and then click the "
            "option's own number."
        )
    return options


def _place(label: str, options: list[dict[str, Any]], wanted: str) -> int:
    low = " ".join(wanted.lower().split())
    exact = [n for n, o in enumerate(options) if low in {o["text"].lower(), o["value"].lower()}]
    found = exact or [n for n, o in enumerate(options) if low in o["text"].lower()]
    if found and options[found[0]]["disabled"]:
        raise ToolError(f'The option "{wanted}" of {label} is disabled.')
    if found:
        return found[0]
    names = " | ".join(option["text"] for option in options[:30])
    raise ToolError(f'{label} has no option "{wanted}". It has: {names}.')
