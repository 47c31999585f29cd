"""What is known of the text that was read, and of the hosts that the user has named."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.prompts.sources import AGENT, FILE, MCP, WEB
from manus.state.messages import SOURCE
from manus.state.outside import facts_of, has_read_outside, hosts_named, passed_on
from manus.tools.browser.fields import types_text
from manus.tools.session import Reach

NAMED = {
    "Look at https://www.example.org/a?b=http://c.example.": ["example.org", "c.example"],
    "Ask bob@example.org about Docs.Example": ["docs.example"],
    "Fix app.py and README.md on 10.0.0.7": ["10.0.0.7"],
    "http://good.example@evil.example/": ["evil.example"],
    "Just work.": [],
}


def test_hosts_that_the_user_and_nobody_else_has_named() -> None:
    assert {said: hosts_named([HumanMessage(said)]) for said in NAMED} == NAMED
    answer = ToolMessage("Use a.example", tool_call_id="1", name="ask_human")
    others: list[Any] = [
        AIMessage("b.example"),
        ToolMessage("c.example", tool_call_id="2", name="bash"),
        HumanMessage("d.example found e.example", additional_kwargs=passed_on("d.example", True)),
    ]
    assert hosts_named([answer, *others]) == ["a.example", "d.example"]


OUTSIDE = {
    f"{WEB}: a.example": True,
    f"{WEB}: localhost.example": True,
    f"{MCP} files": True,
    AGENT: True,
    f"{WEB}: localhost": False,
    f"{WEB}: 127.0.0.1": False,
    f"{WEB}: {FILE}": False,
    "": False,
}


def test_what_comes_from_outside_is_not_forgotten() -> None:
    for source, outside in OUTSIDE.items():
        read = ToolMessage("x", tool_call_id="1", additional_kwargs={SOURCE: source})
        assert has_read_outside([read], None) is outside, source
    request = HumanMessage("Do it.", additional_kwargs=passed_on("", True))
    assert facts_of([request], None) == {"outside": True}
    evicted: Any = {"outside": True}
    assert facts_of([HumanMessage("Do it.")], evicted) == {"outside": True}
    assert facts_of([HumanMessage("Do it.")], None) == {}


KNOWN = {
    "https://a.example/b?c=1": True,
    "https://a.example/b?c=1#part": True,
    "https://a.example/b": False,
    "https://a.example/b?c=12": False,
    "https://x.a.example/": False,
    "https://own.example/": False,
}


def test_addresses_that_were_read_and_keys_that_are_text() -> None:
    reach = Reach()
    reach.read("See [this](https://a.example/b?c=1).", "http://news.example/")
    reach.read("https://own.example/", "file:///made/page.html")
    reach.read("https://own.example/", "http://127.0.0.1:8000/")
    assert {address: reach.has_read(address) for address in KNOWN} == KNOWN
    keys = ("Enter", "Tab Tab Space", "hunter2", "Shift+H Shift+I")
    assert [types_text(one) for one in keys] == [False, False, True, True]
