"""The report of an action or a snapshot: the tool's own sentences, and text of the page."""

from __future__ import annotations

from typing import NamedTuple

from manus.state.errors import ToolError


class Report(NamedTuple):
    """The tool's own sentences, and text of the page, which follows them in a frame.

    The sentences may quote the name of an element, but nothing else from the page.
    """

    text: str
    page_text: str = ""


class ActionError(ToolError):
    """A failed action whose message is followed by text of the page."""

    def __init__(self, message: str, page_text: str) -> None:
        super().__init__(message)
        self.page_text = page_text
