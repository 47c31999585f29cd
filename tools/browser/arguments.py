"""The arguments of `browser_use`, and which of them each action needs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from manus.tools.base import Arguments

PICTURE = "screenshot.png"
"""Where a screenshot goes whose file is not named."""

Action = Literal[
    "go_to_url",
    "go_back",
    "refresh",
    "click_element",
    "click_at",
    "hover",
    "input_text",
    "send_keys",
    "get_dropdown_options",
    "select_dropdown_option",
    "scroll_down",
    "scroll_up",
    "scroll_to_text",
    "extract_content",
    "upload_file",
    "switch_tab",
    "open_tab",
    "close_tab",
    "web_search",
    "wait",
    "screenshot",
]

NEEDS: dict[str, tuple[str, ...]] = {
    "go_to_url": ("url",),
    "click_element": ("index",),
    "click_at": ("x", "y"),
    "hover": ("index",),
    "input_text": ("index", "text"),
    "send_keys": ("keys",),
    "get_dropdown_options": ("index",),
    "select_dropdown_option": ("index", "text"),
    "scroll_to_text": ("text",),
    "upload_file": ("index", "path"),
    "switch_tab": ("tab_id",),
    "web_search": ("query",),
}
"""What an action cannot do without."""

AIMED = frozenset({name for name, needs in NEEDS.items() if {"index", "keys", "x"} & {*needs}})
"""Actions that are meant for a page that has been seen, and wrong on any other."""

READING = frozenset({"extract_content", "get_dropdown_options", "web_search"})
"""Actions that change nothing."""


class BrowserArgs(Arguments):
    """Arguments of `browser_use`."""

    action: Action = Field(description="What to do")
    url: str | None = Field(None, description="Address, for go_to_url and open_tab")
    index: int | None = Field(
        None, ge=1, description="Number of the element, as the page's list shows it in brackets"
    )
    text: str | None = Field(
        None, description="Text to write, to look for, or of the option to choose"
    )
    keys: str | None = Field(None, description='Keys for send_keys, such as "Enter" or "Control+A"')
    scroll_amount: int | None = Field(
        None, ge=1, description="Pixels to scroll; most of a screen where none are given"
    )
    goal: str | None = Field(None, description="What extract_content shall find out")
    page: int | None = Field(
        None, ge=1, description="Which page of a long text, for extract_content without a goal"
    )
    query: str | None = Field(None, description="What web_search shall search for")
    tab_id: int | None = Field(None, description="Number of a tab, for switch_tab and close_tab")
    path: str | None = Field(
        None, description="File in the workspace, for upload_file and screenshot"
    )
    x: int | None = Field(None, description="Pixels from the left of the view")
    y: int | None = Field(None, description="Pixels from the top of the view")
    seconds: float | None = Field(None, gt=0, le=60, description="How long to wait (default 3)")


def missing(arguments: BrowserArgs) -> list[str]:
    """The names of what the action needs and was not given."""
    needed = NEEDS.get(arguments.action, ())
    return [name for name in needed if getattr(arguments, name) is None]
