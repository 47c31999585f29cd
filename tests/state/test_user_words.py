"""The user's own words, and the hosts and files that they name."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.state.taint import request_fields
from manus.state.user_words import asks_to_send, asks_to_write, hosts_named, is_phrase_of

CERTAIN = {
    "Look at https://www.example.org/a?b=http://c.example.": ("example.org", "c.example"),
    "Ask bob@example.org about Docs.Example": ("docs.example",),
    "Fix app.py and README.md on 10.0.0.7": ("10.0.0.7",),
    "http://good.example@evil.example/": ("evil.example",),
    "What does news.example say?": ("news.example",),
    "请访问https://example.org的首页": ("example.org的首页", "example.org"),
    "Look at www.shop.info now": ("shop.info",),
    "Use these:\n- a.example\n- b.example": ("a.example", "b.example"),
    "Just work.": (),
    "Log with logging.info, not print.": (),
    "Replace print by logging.info.": (),
    "Write main.tf and configure.ac.": (),
    "Call `shop.example` from app.run()": (),
    "Use version 1.2.3.400": (),
    "Never contact thief.example.": (),
    "Don’t use thief.example": (),
    "No! do not use thief.example": (),
    "Use thief.example? No way.": (),
    "Never contact:\n- thief.example\n- b.example\n\nUse c.example.": ("c.example",),
    "Use thief.example. Never contact thief.example.": (),
    "不要访问 thief.example": (),
    "Benutze thief.example nicht.": (),
    'Read it.\n\n<file name="a">\nhttps://thief.example\n</file>\n\nhttps://b.example': (),
    "Read it.\n\n<stdin>\nhttps://thief.example\n</stdin>": (),
}


@pytest.mark.parametrize("words", CERTAIN)
def test_hosts_in_the_users_words(words: str) -> None:
    assert hosts_named([HumanMessage(words)]).certain == CERTAIN[words]


def test_a_name_that_may_be_something_else_is_ambiguous() -> None:
    assert hosts_named([HumanMessage("Look at heise.de and skimage.io")]).ambiguous == (
        *("heise.de", "skimage.io"),
    )


def test_only_the_user_names_hosts() -> None:
    answer = ToolMessage("Use a.example", tool_call_id="1", name="ask_human")
    passed = request_fields("d.example", tainted=True)
    messages: list[Any] = [
        AIMessage("b.example"),
        ToolMessage("c.example", tool_call_id="2", name="bash"),
        HumanMessage("d.example found e.example", additional_kwargs=passed),
    ]
    assert hosts_named([answer, *messages]).certain == ("a.example", "d.example")


def test_the_newest_sentence_counts() -> None:
    use, never = HumanMessage("Use a.example."), HumanMessage("Never use a.example!")
    assert hosts_named([use, never]).certain == ()
    assert hosts_named([never, use]).certain == ("a.example",)


WRITES = {
    ("Write .env with PORT=1", ".env"): True,
    ("Add the port to config/.env", "config/.env"): True,
    ("把端口写入 .env", ".env"): True,
    ("Add a hook in .git/hooks/pre-commit", ".git/hooks/pre-commit"): True,
    ("Read .env and tell me the port", ".env"): False,
    ("Copy .env.example, then write main.py", ".env"): False,
    ("Do not change .env", ".env"): False,
    ("Write the tests", ".env"): False,
    ("Write app/.env", ".env"): False,
}


@pytest.mark.parametrize(("words", "path"), WRITES)
def test_files_that_a_request_explicitly_asks_to_write(words: str, path: str) -> None:
    assert asks_to_write(words, path) is WRITES[words, path]


def test_files_that_a_request_explicitly_asks_to_send() -> None:
    assert asks_to_send("Upload report.pdf with the form", "out/report.pdf")
    assert not asks_to_send("Read report.pdf", "report.pdf")
    assert not asks_to_send("Upload report.pdf", "secret.pdf")


PHRASES = {
    ("Find a red kite", "kite"): True,
    ("Find a red kite", "red kites"): True,
    ("All about kites; docs.example knows more", "kite"): True,
    ("Find a Red Kite", "red kite"): True,
    ("搜索风筝的价格", "风筝"): True,
    ("Find a red kite", "ReD"): False,
    ("Find a red kite", "kite red"): False,
    ("Find a red kite", "kit"): False,
    ("Find a red kite", "k"): False,
    ("Find hunter2", "hunter2"): False,
    ("My password is hunter. Find kites.", "hunter"): False,
    ("Find a red kite", ""): False,
}


@pytest.mark.parametrize(("words", "text"), PHRASES)
def test_a_phrase_that_the_user_has_written(words: str, text: str) -> None:
    assert is_phrase_of(words, text) is PHRASES[words, text]
