"""Models that cannot call tools are told of them in words, behind the same interface."""

import json

import pytest
from langchain_core.messages import AIMessage

from manus.models.prompted import with_prompted_calls
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import text


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


async def test_a_call_that_is_cut_off_is_not_carried_out(prompted: ScriptedAgent) -> None:
    half = '<tool_call>\n{"name": "append", "arguments": {"path": "a", "line": "1'
    outcome = await prompted.run(text(half, finish_reason="length"), text("done"))
    assert outcome.stop_reason == "answered"
    assert prompted.lines("a") == []
    assert "cannot be read" in prompted.server.requests[1].text


READ: list[tuple[str, list[tuple[str, dict[str, int]]]]] = [
    ('<tool_call>{"name": "a", "arguments": "{\\"b\\": 1}"}</tool_call>', [("a", {"b": 1})]),
    ('<tool_call>{"name": "a", "parameters": {"b": 1}}', [("a", {"b": 1})]),
    (
        '<tool_call>{"type": "function", "function": {"name": "a", "arguments": {"b": 1}}}'
        "</tool_call>",
        [("a", {"b": 1})],
    ),
    ('<tool_call>{"name": "a"}<tool_call>{"name": "c"}</tool_call>', [("a", {}), ("c", {})]),
    ("<tool_call>", []),
    ("<tool_call>[1]</tool_call>", []),
    ('<tool_call>{"name', []),
]


def test_what_is_read() -> None:
    for said, calls in READ:
        message = with_prompted_calls(AIMessage(said))
        assert [(c["name"], c["args"]) for c in message.tool_calls] == calls
        assert len(message.invalid_tool_calls) == (0 if calls else 1), "what cannot be read"


async def test_what_is_repaired_and_what_is_but_a_thought(prompted: ScriptedAgent) -> None:
    only, own = block("append", path="a", line="1"), block("append", path="b", line="2")
    fenced = own.replace(">\n{", ">\n```json\n{").replace("\n<", "\n```\n<")
    in_python = "<tool_call>{'name': 'append', 'arguments': {'path': 'b', 'line': '2'}}</tool_call>"
    for thread, said in enumerate(
        (
            f"<think>I could {only}.</think>\n\n{own}",
            f"I could {only}.\n</think>\n\n{own}",
            fenced,
            in_python,
        )
    ):
        await prompted.run(text(said), text("done"), thread=str(thread))
        assert (prompted.lines("a"), prompted.lines("b")) == ([], ["2"] * (thread + 1))
        assert_paired(await prompted.messages(str(thread)))


async def test_without_tools_the_history_is_in_words_too(prompted: ScriptedAgent) -> None:
    """A server without tools is not sent calls and tool messages in a request without tools."""
    await prompted.run(text(block("append", path="a", line="1")), text("done"))
    await prompted.run(text("Bye."), tool_choice="none")
    last = prompted.server.requests[-1]
    assert {m["role"] for m in last.messages} <= {"system", "user", "assistant"}
    assert not any("tool_calls" in m for m in last.messages)
    assert "Result of `append`" in last.text
