"""The element that an action is meant for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.patience import within
from manus.tools.browser.scripts import script
from manus.tools.browser.tab import ANSWER_SECONDS, Tab

ACTION_MS = 4_000
"""How long an element may take to become ready to be acted on."""


class NotThereError(ToolError):
    """The page is not the one that the number was read from; the present one must be shown."""


@dataclass(slots=True)
class Target:
    """An element and what it is."""

    number: int
    element: ElementHandle
    tag: str
    type: str
    editable: bool
    multiple: bool
    disabled: bool
    read_only: bool
    shown: bool
    label: bool
    opens: bool
    """Whether a click on it opens another tab."""

    async def ask(self, name: str, argument: Any = None) -> Any:
        """Run one of our scripts on the element."""
        return await within(ANSWER_SECONDS, self.element.evaluate(script(name), argument))


async def find_target(tab: Tab, number: int) -> Target:
    """The element of a number.

    Raises:
        NotThereError: there is none, or it is not on the page any more.
    """
    element = await tab.element(number)
    if element is None:
        known = tab.numbering.find(number) is not None
        why = "is no longer on the page" if known else "is not on the page"
        raise NotThereError(f"Nothing was done: element {number} {why}.")
    about = await within(ANSWER_SECONDS, element.evaluate(script("describe")))
    about["read_only"] = about.pop("readOnly")
    return Target(number, element, **about)


def explain_failure(number: int, error: PlaywrightError) -> ToolError:
    """What went wrong with an element, in a sentence."""
    text = str(error)
    if "intercepts pointer events" in text:
        cover = text.split("intercepts pointer events")[0].rstrip().rsplit("\n", 1)[-1]
        cover = " ".join(cover.strip(" -").split())[:160]
        return ToolError(
            f"Element {number} is covered by {cover}; close or move that first, or scroll."
        )
    if "not attached" in text or "detached" in text.lower():
        return NotThereError(f"Element {number} vanished while it was being acted on.")
    if "outside of the viewport" in text:
        return ToolError(f"Element {number} cannot be brought into view.")
    if "not visible" in text or "element is not visible" in text:
        return ToolError(f"Element {number} is hidden at the moment.")
    if "not enabled" in text or "disabled" in text:
        return ToolError(f"Element {number} is disabled at the moment.")
    if "not stable" in text:
        return ToolError(f"Element {number} does not stop moving.")
    first = text.strip().split("\n")[0]
    return ToolError(f"Element {number} could not be acted on: {first[:200]}")
