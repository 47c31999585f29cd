"""Moving through a page."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.patience import PageStuckError, within
from manus.tools.browser.scripts import script
from manus.tools.browser.tab import ANSWER_SECONDS, Tab
from manus.tools.browser.target import find_target


async def scroll(tab: Tab, direction: int, amount: int | None, number: int | None) -> str:
    """Scroll the page, or the area around an element, by pixels or (None) most of a screen."""
    arguments = {"amount": amount, "direction": direction}
    if number is not None:
        got = await (await find_target(tab, number)).ask("scroll", arguments)
    else:
        text = f"(arguments) => ({script('scroll')})(null, arguments)"
        got = await within(ANSWER_SECONDS, tab.page.evaluate(text, arguments))
    what = "area" if got["inner"] else "page"
    left = f"{got['above']} px are above and {got['below']} px below now."
    if not got["moved"]:
        end = "end" if direction > 0 else "beginning"
        if not got["above"] and not got["below"]:
            return (
                f"The {what} does not scroll. An area or a frame inside it does so with the "
                "`index` of an element in it."
            )
        return f"The {what} is at its {end} already; {left}"
    way = "down" if direction > 0 else "up"
    return f"Scrolled the {what} {way} by {abs(got['moved'])} px; {left}"


async def scroll_to_text(tab: Tab, text: str) -> str:
    """Bring the first place of a text into view, in whatever frame.

    Raises:
        ToolError: no frame has it.
    """
    for frame in tab.page.frames:
        try:
            found = await within(ANSWER_SECONDS, frame.evaluate(script("find_text"), text))
        except (PlaywrightError, PageStuckError):
            if frame == tab.page.main_frame:
                raise
            continue
        if found is not None:
            return f'Scrolled to: "{found}"'
    raise ToolError(
        f'"{text}" is not on the page. Try fewer words, or read the page with `extract_content`.'
    )
