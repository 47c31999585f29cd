"""What a notebook is shown: escaped, folded, with nothing in it that loads or runs."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.notebook import (
    Shown,
    show_plan,
    show_run,
    show_update,
    show_usage,
)
from manus.state.plan import Plan
from manus.state.usage import no_usage

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31m & </pre></details>"
CALL = {"name": EVIL, "args": {"command": EVIL, EVIL: 1}, "id": "c"}
VALUES: dict[str, Any] = {
    "messages": [
        HumanMessage(EVIL, id="r"),
        AIMessage(EVIL, tool_calls=[CALL]),
        ToolMessage(EVIL, tool_call_id="c", status="error"),
    ],
    "run": {"request_id": "r"},
    "status": EVIL,
    "stop_reason": EVIL,
    "usage": {**no_usage(), "roles": {EVIL: no_usage(), "main": no_usage()}},
}
PLAN: Plan = {
    "id": EVIL,
    "title": EVIL,
    "steps": [
        {
            "text": EVIL,
            "executor": EVIL,
            "status": status,
            "notes": EVIL,
            "depends_on": [0],
            "result": {"text": EVIL, "files": [EVIL], "tokens": 1},
        }
        for status in ("completed", "blocked", "in_progress", "not_started")
    ],
}
_TAGS = {
    *("b", "dd", "details", "div", "dl", "dt", "li", "ol", "p", "pre", "small", "span", "summary"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}


class Page(HTMLParser):
    """Notes the tags and attributes, and whether each tag is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def html(shown: Shown) -> str:
    """The HTML without its style sheet."""
    return re.sub(r"<style>.*?</style>", "", shown._repr_html_() or "", flags=re.DOTALL)


ALL = {
    "run": show_run(VALUES),
    "update": show_update(EVIL, {**VALUES, "loop": {"what": EVIL}}),
    "observation": show_update("act", {"messages": VALUES["messages"][2:]}),
    "plan": show_plan(PLAN),
    "usage": show_usage(VALUES["usage"]),
    "plans": show_run({"plan": PLAN}),
}


@pytest.mark.parametrize("shown", ALL.values(), ids=ALL)
def test_no_text_becomes_a_part_of_the_page(shown: Shown) -> None:
    page = Page(html(shown))
    assert page.tags <= _TAGS
    assert page.attributes <= {"class", "dir", "start"}
    assert "\x1b" not in html(shown) + repr(shown)
    assert not re.search(r"https?:|url\(|@import", html(shown))


def test_an_observation_of_megabytes_is_cut() -> None:
    messages = [ToolMessage("x" * 5_000_000, tool_call_id="c", name="bash")]
    shown = html(show_update("act", {"messages": messages}))
    assert len(shown) < 30_000
    assert "4,980,000" in shown
