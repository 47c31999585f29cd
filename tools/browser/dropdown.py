"""Lists to choose from: the browser's own and those that pages make of other elements."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab
from manus.tools.browser.target import ACTION_MS, Target, explain_failure, find_target

_MAX_OPTIONS = 200


async def get_dropdown_options(tab: Tab, number: int) -> str:
    """The options of a list, one a line; an asterisk marks what is chosen.

    Raises:
        ToolError: it is gone, or has no options (yet).
    """
    offered = await _offered(await find_target(tab, number))
    lines = [f"Options of element {number}:"]
    group = ""
    for option in offered["options"][:_MAX_OPTIONS]:
        if option["group"] and option["group"] != group:
            group = option["group"]
            lines.append(f"{group}:")
        mark = "*" if option["chosen"] else "-"
        off = " (disabled)" if option["disabled"] else ""
        value = option["value"]
        shown = f" [value {value}]" if value and value != option["text"] else ""
        lines.append(f"{mark} {option['text']}{shown}{off}")
    if (more := len(offered["options"]) - _MAX_OPTIONS) > 0:
        lines.append(f"… and {more} more")
    if offered["multiple"]:
        lines.append("Several can be chosen: give them in `text`, one a line.")
    return "\n".join(lines)


async def select_dropdown_option(tab: Tab, number: int, text: str) -> str:
    """Choose an option by its text or value; several, one a line, where the list takes several.

    Raises:
        ToolError: it is gone, or has no such option; it then names those there are.
    """
    target = await find_target(tab, number)
    offered = await _offered(target)
    wanted = [line.strip() for line in text.splitlines() if line.strip()]
    if not offered["multiple"] or not wanted:
        wanted = [" ".join(text.split())]
    places = [_place(number, offered["options"], one) for one in wanted]
    names = ", ".join(f'"{offered["options"][place]["text"]}"' for place in places)
    try:
        await _choose(target, offered, places)
    except PlaywrightError as error:
        raise explain_failure(number, error) from None
    return f"Chose {names} in element {number}."


async def _choose(target: Target, offered: dict[str, Any], places: list[int]) -> None:
    if offered["kind"] == "select":
        element = target.element
        if target.tag != "SELECT":
            element = await element.query_selector("select") or element
        await element.select_option(index=places, timeout=ACTION_MS)
    elif offered["kind"] == "datalist":
        await target.element.fill(offered["options"][places[0]]["value"], timeout=ACTION_MS)
    else:
        handle = await target.element.evaluate_handle(_NTH, places[0])
        option = handle.as_element()
        if option is None:
            raise ToolError(f"The list of element {target.number} changed; look at it again.")
        await option.click(timeout=ACTION_MS, no_wait_after=True)


_NTH = """(element, place) => {
  const ids = (element.getAttribute("aria-controls") || element.getAttribute("aria-owns") || "").split(/\\s+/);
  const lists = [element, ...ids.map((id) => id && document.getElementById(id)).filter(Boolean)];
  for (const list of lists) {
    const items = list.querySelectorAll('[role="option"], [role="menuitem"], [role="menuitemradio"], [role="menuitemcheckbox"], [role="treeitem"]');
    if (items.length) return items[place];
  }
  return null;
}"""  # noqa: E501


async def _offered(target: Target) -> dict[str, Any]:
    offered: dict[str, Any] | None = await target.ask("options")
    if not offered or not offered["options"]:
        raise ToolError(
            f"Element {target.number} shows no list of options; if it opens one, click it and "
            "then click the option's own number."
        )
    return offered


def _place(number: int, options: list[dict[str, Any]], wanted: str) -> int:
    low = wanted.lower()
    tests = (
        lambda option: option["text"] == wanted,
        lambda option: option["text"].lower() == low,
        lambda option: option["value"] == wanted,
        lambda option: low in option["text"].lower(),
    )
    for test in tests:
        found = [place for place, option in enumerate(options) if test(option)]
        if len(found) == 1 or (found and test is not tests[-1]):
            if options[found[0]]["disabled"]:
                raise ToolError(f'The option "{wanted}" of element {number} is disabled.')
            return found[0]
    names = " | ".join(option["text"] for option in options[:30])
    raise ToolError(f'Element {number} has no option "{wanted}". It has: {names}.')
