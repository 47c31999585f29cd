"""Taint in a history, and the egress guard that acts on it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.calls.egress_guard import EgressGuard
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.prompts.sources import AGENT, COMMAND, FILE, MCP, WEB, WORKSPACE
from manus.state.messages import SOURCE, last_request
from manus.state.request import all_own_words
from manus.state.taint import (
    PRIVATE,
    TAINTED,
    Exposure,
    HistoryFacts,
    collect_facts,
    find_exposure,
    request_fields,
)
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
    assert find_exposure([read]) == Exposure(untrusted=SOURCES[source])


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
BOTH = Exposure(untrusted=True, private=True)
REQUESTS: dict[str, tuple[AnyMessage, bool]] = {
    "typed": (HumanMessage("Do it."), False),
    "attached": (HumanMessage('Read it.\n\n<file name="a.txt">\nx\n</file>'), True),
    "piped": (HumanMessage("Read it.\n\n<stdin>\nx\n</stdin>"), True),
    "a picture": (HumanMessage([{"type": "text", "text": "Read it."}, PICTURE]), True),
    "marked": (HumanMessage("Do it.", additional_kwargs=request_fields("", BOTH)), True),
    "judged": (
        HumanMessage("x\n\n<file>", additional_kwargs=request_fields("x", Exposure())),
        False,
    ),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_attachments_of_a_request_are_untrusted_and_private(kind: str) -> None:
    message, expected = REQUESTS[kind]
    assert find_exposure([message]) == (BOTH if expected else Exposure())


def test_taint_survives_compaction() -> None:
    for mark in (TAINTED, PRIVATE):
        assert collect_facts([HumanMessage("Do it.")], {mark: True}) == {mark: True}
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
def guard() -> EgressGuard:
    guard = EgressGuard()
    guard.read("See [this](https://a.example/b?c=1).", "http://news.example/")
    guard.read("and https://b.example/#top", "http://news.example/")
    guard.read("https://own.example/", "file:///made/page.html")
    guard.read("https://own.example/", "http://127.0.0.1:8000/")
    return guard


@pytest.mark.parametrize("address", READ)
def test_only_an_address_that_was_read_is_not_composed(guard: EgressGuard, address: str) -> None:
    assert guard.is_composed(address) is not READ[address]


TYPED = (
    "Look at docs.example, (http://a.example/b?c=1) and打开 https://c.example/d，"
    "then x.example/e?f."
)
ADDRESSES = {
    "http://docs.example/": True,
    "https://docs.example": True,
    "docs.example": True,
    "https://docs.example/manual": False,
    "https://api.docs.example/": False,
    "http://a.example/b?c=1": True,
    "http://a.example/b?c=12": False,
    "http://a.example/": True,
    "https://c.example/d": True,
    "http://x.example/e?f": True,
    "http://x.example/e?f=hunter2": False,
    "http://then/": False,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_a_whole_address_that_the_user_typed_is_not_composed(address: str) -> None:
    guard = EgressGuard()
    facts: Any = collect_facts([HumanMessage(TYPED)], None)
    guard.begin(facts, resolve_settings(Settings()), is_free=False)
    assert guard.is_composed(address) is not ADDRESSES[address]


WEB_PAGE, FILE_PAGE = f"{WEB}: a.example", f"{WEB}: {FILE}"
EXPOSED: dict[tuple[str, bool], Exposure] = {
    (COMMAND, True): Exposure(private=True),
    (COMMAND, False): Exposure(),
    (WORKSPACE, True): Exposure(private=True),
    (FILE_PAGE, True): Exposure(private=True),
    (f"{WEB}: localhost", False): Exposure(),
    (WEB_PAGE, True): Exposure(untrusted=True),
    (f"{MCP} mail", False): BOTH,
    ("", True): Exposure(),
}


@pytest.mark.parametrize(("source", "has_files"), EXPOSED)
def test_what_a_source_exposes(source: str, has_files: bool) -> None:
    guard = EgressGuard(has_files=has_files)
    assert guard.exposure_from(source) == EXPOSED[source, has_files]


NEEDED: list[tuple[dict[str, bool], dict[str, Any], bool]] = [
    ({}, {}, False),
    ({TAINTED: True}, {}, False),
    ({PRIVATE: True}, {}, False),
    ({TAINTED: True, PRIVATE: True}, {}, True),
    ({TAINTED: True}, {"by_program": True}, True),
    ({PRIVATE: True}, {"by_program": True}, False),
]


@pytest.mark.parametrize(("marks", "options", "is_needed"), NEEDED)
def test_both_kinds_of_text_make_what_leaves_need_approval(
    marks: Any, options: Any, is_needed: bool
) -> None:
    guard = EgressGuard()
    settings = resolve_settings(Settings())
    guard.begin(marks, settings, is_free=False)
    assert guard.needs_approval("x.example", **options) is is_needed
    assert not guard.needs_approval("localhost", **options)
    for rule in ("host(x.example)", "host(*)", "host(*.example)"):
        guard.begin({**marks, "approved": [rule]}, settings, is_free=False)  # type: ignore[typeddict-item]
        assert not guard.needs_approval("x.example", **options)
    guard.begin(marks, settings, is_free=True)
    assert not guard.needs_approval("x.example", **options)


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
