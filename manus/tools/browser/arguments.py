"""The actions of `browser_use` and their arguments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from manus.execution.base import Arguments

PICTURE = "screenshot.png"
"""Default path of a screenshot."""

ACTIONS: dict[str, tuple[str, ...]] = {
    "go_to_url": ("url",),
    "go_back": (),
    "refresh": (),
    "click_element": ("index",),
    "click_at": ("x", "y"),
    "hover": ("index",),
    "input_text": ("index", "text"),
    "send_keys": ("keys",),
    "get_dropdown_options": ("index",),
    "select_dropdown_option": ("index", "text"),
    "scroll_down": (),
    "scroll_up": (),
    "scroll_to_text": ("text",),
    "extract_content": (),
    "upload_file": ("index", "path"),
    "switch_tab": ("tab_id",),
    "open_tab": (),
    "close_tab": (),
    "web_search": ("query",),
    "wait": (),
    "screenshot": (),
}
"""The actions, each with its required arguments."""

AIMED = frozenset({name for name, needs in ACTIONS.items() if {"index", "keys", "x"} & {*needs}})
"""Actions that refer to the page that the model has seen."""

READING = frozenset({"extract_content", "get_dropdown_options", "web_search"})
"""Actions without side effects."""


class BrowserArgs(Arguments):
    """Arguments of `browser_use`."""

    action: Literal[tuple(ACTIONS)] = Field(description="What to do")  # type: ignore[valid-type]
    url: str | None = Field(None, description="Address, for go_to_url and open_tab")
    index: int | None = Field(None, ge=1, description="The number in brackets of an element")
    text: str | None = Field(None, description="Text to write or look for, or an option to choose")
    keys: str | None = Field(None, description='Keys for send_keys, such as "Enter" or "Control+A"')
    scroll_amount: int | None = Field(None, ge=1, description="Pixels (default most of a screen)")
    goal: str | None = Field(None, description="What extract_content shall find out")
    page: int | None = Field(None, ge=1, description="Which page, for extract_content without goal")
    query: str | None = Field(None, description="What web_search shall search for")
    tab_id: int | None = Field(None, description="Number of a tab, for switch_tab and close_tab")
    path: str | None = Field(None, description="Workspace file, for upload_file and screenshot")
    x: int | None = Field(None, description="Pixels from the left of the view")
    y: int | None = Field(None, description="Pixels from the top of the view")
    seconds: float | None = Field(None, gt=0, le=60, description="How long to wait (default 3)")
    accept: bool = Field(False, description="Say yes to a confirm it opens, `text` to a prompt")
