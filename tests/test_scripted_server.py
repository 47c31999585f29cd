"""Tests reach only this machine, and their server rejects what the real API rejects."""

import json
import socket
from typing import Any

import openai
import pytest
import pytest_socket
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from tests.server import Request, ScriptedServer, text
from tests.server.rules import refusal

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "bash"}}


def asks(arguments: str) -> dict[str, Any]:
    tool_call = {
        "id": "a",
        "type": "function",
        "function": {"name": "bash", "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [tool_call]}


ASKS = asks("{}")
A, B = ({"role": "tool", "tool_call_id": name, "content": "ok"} for name in "ab")


@pytest.mark.parametrize(
    ("messages", "fields", "reason"),
    [
        ([ASKS], {}, "did not have response messages: a"),
        ([A], {}, "must be a response to a preceding"),
        ([ASKS, A, A], {}, "second tool message"),
        ([ASKS, A, B], {}, "answers 'b'"),
        ([asks('{"command": '), A], {}, "not a JSON string"),
        ([], {"thread_id": "7"}, "Unrecognized request argument supplied: thread_id"),
        ([], {"stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
        ([], {"tool_choice": "auto"}, "only allowed when 'tools'"),
        ([], {"tools": [TOOL, TOOL]}, "must be unique"),
    ],
)
def test_rejected_requests(messages: list[Any], fields: dict[str, Any], reason: str) -> None:
    body = {"model": "m", "messages": [USER, *messages], **fields}
    assert reason in str(refusal(Request(json.dumps(body).encode())))


async def test_a_violation_is_answered_and_an_unused_reply_reported() -> None:
    with ScriptedServer() as server:
        options: Any = {"base_url": server.base_url, "api_key": "x", "model": "scripted"}
        model = ChatOpenAI(**options)
        server.script(text("unused"))
        with pytest.raises(AssertionError, match=r"left unused: .*unused"):
            server.verify()
        with pytest.raises(openai.BadRequestError, match="must be a response to a preceding"):
            await model.ainvoke([HumanMessage("hi"), ToolMessage("x", tool_call_id="a")])
        with pytest.raises(AssertionError, match="refused by the real API"):
            server.allow_unused().verify()


def test_connections_do_not_leave_this_machine() -> None:
    # a warning precedes the error, and warnings are errors here
    refused = (pytest_socket.SocketConnectBlockedError, UserWarning)
    with socket.socket() as connection, pytest.raises(refused, match="allowed"):
        connection.connect(("192.0.2.1", 443))
