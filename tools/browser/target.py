"""The element that an action is meant for."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle
from playwright.async_api import Error as PlaywrightError

from manus.state.errors import ToolError
from manus.tools.browser.tab import Tab, script
from manus.tools.browser.timing import ANSWER_SECONDS, with_timeout

ACTION_MS = 4_000
"""How long an element may take to become ready to be acted on."""


class NotThereError(ToolError):
    """The page is not the one that the number was read from; the present one must be shown."""


@dataclass(slots=True)
class Target:
    """An element and what it is."""

    label: str
    """How it is called in what is said of it: `[9] link "Terms"`."""
    element: ElementHandle
    tag: str
    type: str
    editable: bool
    disabled: bool
    read_only: bool
    is_behind_label: bool
    """Hidden itself, and acted on through its label."""
    opens_tab: bool
    """Whether a click on it opens another tab."""

    async def ask(self, text: str, argument: Any = None) -> Any:
        """Run a script on the element."""
        return await with_timeout(ANSWER_SECONDS, self.element.evaluate(text, argument))

    def require_enabled(self) -> None:
        """Refuse to act on what is disabled."""
        if self.disabled:
            raise ToolError(f"{self.label} is disabled; something else has to be done first.")


async def find_target(tab: Tab, number: int) -> Target:
    """The element of a number.

    Raises:
        NotThereError: there is none, or it is not on the page any more.
    """
    element = await tab.element(number)
    about = tab.numbering.labels.get(number, "")
    label = f"[{number}] {about if len(about) <= 80 else about[:79] + '…'}".rstrip()
    tab.target = label
    if element is None:
        why = "is no longer on the page" if about else "is not on the page"
        raise NotThereError(f"Nothing was done: {label} {why}.{_nearest(tab, about)}")
    found = await with_timeout(ANSWER_SECONDS, element.evaluate(script("describe")))
    return Target(label, element, **found)


def _nearest(tab: Tab, about: str) -> str:
    """The element of the last look that is called most like one that is gone."""
    labels = {tab.numbering.labels.get(number, ""): number for number in tab.numbering.shown}
    found = difflib.get_close_matches(about, labels, n=1)
    return f" Nearest to it is [{labels[found[0]]}] {found[0][:80]}." if found else ""


def explain_failure(label: str, error: PlaywrightError) -> ToolError:
    """What went wrong with an element, in a sentence. Playwright tells it in words only."""
    text = str(error)
    if "intercepts pointer events" in text:
        cover = text.split("intercepts pointer events")[0].rstrip().rsplit("\n", 1)[-1]
        cover = " ".join(cover.strip(" -").split())[:160]
        return ToolError(f"{label} is covered by {cover}; close or move that first, or scroll.")
    if "not attached" in text or "detached" in text.lower():
        return NotThereError(f"{label} vanished while it was being acted on.")
    why = [words for words in ("not visible", "not enabled", "not stable") if words in text]
    return ToolError(
        f"{label} could not be acted on: {why[0] if why else text.strip().splitlines()[0][:200]}."
    )
