"""Taint in a history, and the egress guard that acts on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.execution.egress_guard import EgressGuard
from manus.prompts.sources import AGENT, FILE, MCP, WEB
from manus.state.messages import SOURCE, last_request
from manus.state.taint import TAINTED, HistoryFacts, collect_facts, is_tainted, request_fields
from manus.state.user_words import all_own_words
from manus.tools.browser.fields import enters_data

SOURCES = {
    f"{WEB}: a.example": True,
    f"{WEB}: localhost.example": True,
    f"{MCP} files": True,
    AGENT: True,
    f"{WEB}: localhost": False,
    f"{WEB}: 127.0.0.1": False,
    f"{WEB}: {FILE}": False,
    "": False,
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_source_of_a_result_decides(source: str) -> None:
    read = ToolMessage("x", tool_call_id="1", additional_kwargs={SOURCE: source})
    assert is_tainted([read], None) is SOURCES[source]


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
REQUESTS: dict[str, tuple[AnyMessage, bool]] = {
    "typed": (HumanMessage("Do it."), False),
    "attached": (HumanMessage('Read it.\n\n<file name="a.txt">\nx\n</file>'), True),
    "piped": (HumanMessage("Read it.\n\n<stdin>\nx\n</stdin>"), True),
    "a picture": (HumanMessage([{"type": "text", "text": "Read it."}, PICTURE]), True),
    "marked": (HumanMessage("Do it.", additional_kwargs=request_fields("", tainted=True)), True),
    "judged": (
        HumanMessage("x\n\n<file>", additional_kwargs=request_fields("x", tainted=False)),
        False,
    ),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_attachments_of_a_request_are_untrusted(kind: str) -> None:
    message, expected = REQUESTS[kind]
    assert is_tainted([message], None) is expected


def test_taint_survives_compaction() -> None:
    evicted: Any = {TAINTED: True}
    assert collect_facts([HumanMessage("Do it.")], evicted) == {"outside": True}
    assert collect_facts([HumanMessage("Do it.")], None) == {}


USE = HumanMessage("Use a.example.com.", id="1")
REPLY = AIMessage("Shall I?", id="2")
ANSWER = ToolMessage("And b.example.com.", tool_call_id="c", name="ask_human", id="3")
PAGE = ToolMessage("x", tool_call_id="d", additional_kwargs={SOURCE: f"{WEB}: a.example"}, id="4")
HISTORIES: dict[str, list[list[AnyMessage]]] = {
    "grows": [[USE], [USE, REPLY, ANSWER], [USE, REPLY, ANSWER, PAGE]],
    "loses its end": [[USE, REPLY, ANSWER, PAGE], [USE, REPLY]],
    "loses its start": [[USE, REPLY, ANSWER, PAGE], [REPLY, ANSWER]],
    "is replaced": [[USE, REPLY, PAGE], [ANSWER, REPLY, USE]],
    "does not change": [[USE, PAGE], [USE, PAGE]],
}


@pytest.mark.parametrize("change", HISTORIES)
def test_the_facts_are_those_of_the_whole_history(change: str) -> None:
    facts = HistoryFacts()
    for history in HISTORIES[change]:
        facts.read(history)
    newest = HISTORIES[change][-1]
    assert facts.collect(None) == collect_facts(newest, None)
    assert facts.words == all_own_words(newest)
    assert facts.request == last_request(newest)


READ = {
    "https://a.example/b?c=1": True,
    "https://a.example/b?c=1#part": False,
    "https://a.example/b?c=1.": False,
    "https://a.example/b?c=1#": False,
    "https://a.example/b": False,
    "https://a.example/b?c=12": False,
    "https://a.example": True,
    "https://a.example/": True,
    "https://b.example/#top": True,
    "https://b.example/#other": False,
    "https://x.a.example/": False,
    "https://own.example/": False,
}


@pytest.fixture
def guard(tmp_path: Path) -> EgressGuard:
    guard = EgressGuard(tmp_path)
    guard.read("See [this](https://a.example/b?c=1).", "http://news.example/")
    guard.read("and https://b.example/#top", "http://news.example/")
    guard.read("https://own.example/", "file:///made/page.html")
    guard.read("https://own.example/", "http://127.0.0.1:8000/")
    return guard


@pytest.mark.parametrize("address", READ)
def test_only_an_address_that_was_read_is_known(guard: EgressGuard, address: str) -> None:
    assert guard.has_read(address) is READ[address]


SEARCHES = {
    "https://a.example/?q=kites": True,
    "https://a.example/?q=red+kites": True,
    "https://a.example/?q=kites&q=red": True,
    "https://a.example/?q=hunter2": False,
    "https://a.example/?q=kItEs": False,
    "https://a.example/?kites=red": False,
    "https://a.example/find?q=kites": False,
    "https://a.example/?q=kites#x": False,
    "https://new.example/?q=kites": False,
}


@pytest.mark.parametrize("address", SEARCHES)
def test_a_search_for_the_users_words_is_known(guard: EgressGuard, address: str) -> None:
    guard.read_user_words([HumanMessage("Find red kites. My password is hunter2.")])
    assert guard.is_known_search(address) is SEARCHES[address]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        *((keys, False) for keys in ("Enter", "Tab Tab Space", "Control+A", "PageDown Escape")),
        *((keys, True) for keys in ("hunter2", "Shift+H Shift+I", "Control+V", "Tab cmd+v")),
        *((keys, True) for keys in ("shift+insert", "ctrl+shift+v", "down", "Shift+ArrowLeft")),
    ],
)
def test_keys_that_put_data_into_a_page(keys: str, expected: bool) -> None:
    assert enters_data(keys) is expected
