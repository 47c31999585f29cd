"""The actions of `browser_use` and their arguments."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from manus.calls.base import Arguments

PICTURE = "screenshot.png"
"""Default path of a screenshot."""

ACTIONS: dict[str, tuple[str, ...]] = {
    "go_to_url": ("url",),
    "go_back": (),
    "refresh": (),
    "click_element": ("index",),
    "click_at": ("x", "y"),
    "double_click": (),
    "right_click": (),
    "drag": (),
    "hover": (),
    "input_text": ("index",),
    "send_keys": ("keys",),
    "get_dropdown_options": ("index",),
    "select_dropdown_option": ("index", "text"),
    "scroll_down": (),
    "scroll_up": (),
    "scroll_to_text": ("text",),
    "extract_content": (),
    "evaluate": ("text",),
    "upload_file": ("index", "path"),
    "switch_tab": ("tab_id",),
    "open_tab": (),
    "close_tab": (),
    "web_search": ("query",),
    "wait": (),
    "screenshot": (),
}
"""The actions, each with its required arguments."""

_AIMS = {"index", "keys", "x"}
POINTING = frozenset({"click_element", "click_at", "double_click", "right_click", "drag"})
"""Actions of the mouse, whose effect only the page shows."""

AIMED = frozenset(
    {"hover", *POINTING, *(name for name, needs in ACTIONS.items() if _AIMS & {*needs})}
)
"""Actions that refer to the page as the model has seen it."""

SENDING = frozenset({"upload_file", "input_text"})
"""Actions that pass the file at `path` to the page."""

ACTING = frozenset({*POINTING, "input_text", "send_keys", "select_dropdown_option", "upload_file"})
"""Actions that may make a page change something on its server."""

READING = frozenset({"evaluate", "extract_content", "get_dropdown_options", "web_search"})
"""Actions without side effects, except on a file."""


def _as_numbers(value: Any) -> Any:
    """Return the list of numbers that a model sent as one number, or as "120, 30"."""
    if isinstance(value, str) and re.fullmatch(r"[\d\s,.-]+", value):
        return [round(float(part)) for part in re.findall(r"-?\d+(?:\.\d+)?", value)]
    return [value] if isinstance(value, int) else value


class BrowserArgs(Arguments):
    """Arguments of `browser_use`."""

    action: Literal[tuple(ACTIONS)] = Field(description="What to do")  # type: ignore[valid-type]
    index: int | None = Field(None, description="Number of an element")
    text: str | None = Field(None, description="To enter, find or choose")
    old_text: str | None = Field(None, description="Part of a field")
    path: str | None = Field(None, description="Workspace file")
    to: Annotated[list[int] | None, BeforeValidator(_as_numbers)] = Field(
        None, description="Where a drag ends"
    )
    x: int | None = Field(None, description="Pixels")
    y: int | None = Field(None, description="Pixels")
    keys: str | None = Field(None, description="For send_keys")
    url: str | None = Field(None, description="Address")
    goal: str | None = Field(None, description="What to find out")
    page: int | None = Field(None, description="Part of a long text")
    scroll_amount: int | None = Field(None, description="Pixels")
    seconds: float | None = Field(None, description="To wait")
    tab_id: int | None = Field(None, description="Number of a tab")
    query: str | None = Field(None, description="For web_search")
    accept: bool | None = Field(None, description="Accept the dialog; `text` answers a prompt")
