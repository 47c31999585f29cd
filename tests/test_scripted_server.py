"""The scripted server, through the real client that the agent uses."""

import json
from collections.abc import Iterator
from typing import Any, cast

import openai
import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.server import (
    Request,
    ScriptedServer,
    text,
)
from tests.server.rules import refusal

pytest_plugins = ["pytester", "tests.server.fixtures"]

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


@pytest.fixture
def loose() -> Iterator[ScriptedServer]:
    """A server that nothing verifies at the end, for what must go wrong."""
    with ScriptedServer() as server:
        yield server


def chat(server: ScriptedServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(
        **{
            "base_url": server.base_url,
            "api_key": SecretStr("x"),
            "model": "scripted",
            "use_responses_api": False,
            "stream_usage": True,
            "max_retries": 0,
            "timeout": 5,
            **options,
        }
    )


async def ask(server: ScriptedServer, stream: bool, words: str = "hi", **options: Any) -> AIMessage:
    """Ask with the tool bound, streamed or not; the answer in whole."""
    model = chat(server, **options).bind_tools([BASH])
    if not stream:
        return await model.ainvoke(words)
    chunks = [chunk async for chunk in model.astream(words)]
    whole: Any = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return cast(AIMessage, whole)


class TestScript:
    async def test_nothing_left(self, loose: ScriptedServer) -> None:
        with pytest.raises(openai.InternalServerError, match="Nothing is left in the script"):
            await ask(loose, True, max_retries=2)
        assert len(loose.unexpected) == len(loose.requests) == 1
        with pytest.raises(AssertionError, match=r"unexpected: .*'hi'"):
            loose.verify()

    async def test_replies_left(self, loose: ScriptedServer) -> None:
        loose.script(text("unused"))
        with pytest.raises(AssertionError, match=r"left unused: .*unused"):
            loose.verify()
        loose.allow_unused().verify()

    def test_fixture_fails_the_test_at_its_end(self, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        pytester.makepyfile(
            """
            from tests.server import text

            def test_leaves_replies(server):
                server.script(text("unused"))

            def test_goes_by_the_script(server, new_server):
                assert server.base_url != new_server().base_url
            """
        )
        result = pytester.runpytest_inprocess("-p", "tests.server.fixtures")
        result.assert_outcomes(passed=2, errors=1)
        result.stdout.fnmatch_lines(["*left unused: Message(content='unused'*"])


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*ids: Any, arguments: Any = "{}", **fields: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": arguments}
    made = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **fields}


def tool(id_: str, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def image(url: str = "data:image/png;base64,iVBORw0KGgo=") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def refused(*messages: Any, **fields: Any) -> str | None:
    body = {"model": "m", "messages": list(messages) or [user()], **fields}
    return refusal(Request(json.dumps(body).encode()))


def array_tool(items: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"list": {"type": "array", **items}}}
    return {"type": "function", "function": {"name": "x", "parameters": schema}}


class TestRules:
    @pytest.mark.parametrize(
        ("messages", "reason"),
        [
            ([user(), assistant("a")], "did not have response messages: a"),
            ([user(), tool("a")], "must be a response to a preceding"),
            ([user(), assistant("a"), tool("a"), tool("a")], "second tool message"),
            ([user(), assistant("a"), tool("a"), tool("b")], "answers 'b'"),
            ([user(), assistant("a" * 41)], "maximum length of 40"),
            ([user(), assistant("a", arguments='{"command": '), tool("a")], "not a JSON string"),
            ([user(), {"role": "tool", "content": "ok"}], "tool_call_id"),
            ([user(), assistant("a"), tool("a", [image()])], "'image_url' is not allowed"),
            ([user(), {"role": "assistant", "content": None}], "got null"),
            ([{"role": "system", "content": [image()]}, user()], "not allowed for role 'system'"),
            ([user([image("screenshot.png")])], "image_url"),
        ],
    )
    def test_refused_conversation(self, messages: list[Any], reason: str) -> None:
        assert reason in str(refused(*messages))

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"thread_id": "7"}, "Unrecognized request argument supplied: thread_id"),
            ({"stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
            ({"tool_choice": "auto"}, "only allowed when 'tools'"),
            ({"tools": [BASH, BASH]}, "must be unique"),
            ({"tools": [BASH], "tool_choice": "any"}, "Tool choice"),
            ({"tools": [array_tool({})]}, "array schema missing items"),
        ],
    )
    def test_refused_field(self, fields: dict[str, Any], reason: str) -> None:
        assert reason in str(refused(**fields))

    async def test_violation_is_answered_and_recorded(self, loose: ScriptedServer) -> None:
        loose.script(text("kept"))
        with pytest.raises(openai.BadRequestError, match="must be a response to a preceding"):
            await chat(loose).ainvoke([HumanMessage("hi"), ToolMessage("x", tool_call_id="a")])
        with pytest.raises(AssertionError, match="refused by the real API"):
            loose.allow_unused().verify()
