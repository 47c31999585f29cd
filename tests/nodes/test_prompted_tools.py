"""Models that cannot call tools are told of them in words, behind the same interface."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage

from nodes.prompted_tools import has_no_tools, with_prompted_calls
from state.errors import ModelRefusedError
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import fail, text

NO_TOOLS = fail(400, message="registry.ollama.ai/library/tiny does not support tools")


def block(name: str, **arguments: str) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.fixture
def prompted(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    monkeypatch.setenv("MANUS_TOOL_CALLING", "prompted")
    return agent


async def test_by_setting(prompted: ScriptedAgent) -> None:
    both = f"I write.\n{block('append', path='a', line='1')}\n{block('Append', path='b', line='2')}"
    outcome = await prompted.run(text(both), text("done"))
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    assert (prompted.lines("a"), prompted.lines("b")) == (["1"], ["2"])
    history = await prompted.messages()
    assert_paired(history)
    assert history[1].text == "I write."
    first, second = prompted.server.requests
    assert "tools" not in first.body
    assert '"name": "append"' in first.messages[0]["content"]
    assert [m["role"] for m in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[0] == first.messages[0]
    assert block("append", path="a", line="1") in second.messages[2]["content"]
    assert "Result of `append`:\n\nAppended to a." in second.messages[3]["content"]


async def test_once_the_server_has_said_that_it_has_no_tools(agent: ScriptedAgent) -> None:
    agent.server.script(NO_TOOLS)
    outcome = await agent.run(text(block("append", path="a", line="1")), text("done"))
    assert outcome.stop_reason == "answered"
    assert agent.lines("a") == ["1"]
    offered = ["tools" in request.body for request in agent.server.requests]
    assert offered == [True, False, False]


async def test_not_if_tools_must_be_native(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_TOOL_CALLING", "native")
    outcome = await agent.run(NO_TOOLS)
    assert outcome.stop_reason == "error"
    assert "does not support tools" in outcome.output


async def test_a_call_that_is_cut_off_is_not_carried_out(prompted: ScriptedAgent) -> None:
    half = '<tool_call>\n{"name": "append", "arguments": {"path": "a", "line": "1'
    outcome = await prompted.run(text(half, finish_reason="length"), text("done"))
    assert outcome.stop_reason == "answered"
    assert prompted.lines("a") == []
    assert "cannot be read" in prompted.server.requests[1].text


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("plain words", []),
        ('<tool_call>{"name": "a", "arguments": "{\\"b\\": 1}"}</tool_call>', [("a", {"b": 1})]),
        ('<tool_call>{"name": "a"}</tool_call>', [("a", {})]),
        ('<tool_call>{"name": "a", "parameters": {"b": 1}}', [("a", {"b": 1})]),
        ('<tool_call>{"name": "a"}<tool_call>{"name": "c"}</tool_call>', [("a", {}), ("c", {})]),
    ],
)
def test_what_is_read(said: str, calls: list[tuple[str, dict[str, int]]]) -> None:
    message = with_prompted_calls(AIMessage(said))
    assert [(c["name"], c["args"]) for c in message.tool_calls] == calls


@pytest.mark.parametrize("said", ["<tool_call>", "<tool_call>[1]</tool_call>", '<tool_call>{"name'])
def test_what_cannot_be_read_is_malformed(said: str) -> None:
    message = with_prompted_calls(AIMessage(said))
    assert not message.tool_calls
    assert len(message.invalid_tool_calls) == 1


@pytest.mark.parametrize(
    ("said", "is_about_tools"),
    [
        ("model tiny does not support tools", True),
        ("No endpoints found that support tool use.", True),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser', True),
        ("Tool calling is not supported with this model", True),
        ("`tools` is not supported", True),
        ("Invalid value for 'tools[0].function.name'", False),
        ("The model does not exist", False),
    ],
)
def test_which_refusals_are_about_tools(said: str, is_about_tools: bool) -> None:
    assert has_no_tools(ModelRefusedError(said)) is is_about_tools
