"""Unambiguous tool calls are repaired, others rejected; models without tools call in text."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from manus.models.prompted import with_text_calls
from manus.models.tool_calls import repair_arguments
from manus.state.text import MAX_DEPTH
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import call, calls, text

LS = {"command": "ls"}
READ: dict[str, dict[str, Any]] = {
    json.dumps(json.dumps(LS)): LS,
    '```json\n{"command": "ls"}\n```': LS,
    '{"command": "ls"} and then I look': LS,
    "{'command': 'ls', 'restart': False, 'timeout': None}": {
        **LS,
        "restart": False,
        "timeout": None,
    },
    "{'command': \"it's\"}": {"command": "it's"},
}
NOT_READ = (
    'Here: ```json\n{"command": "ls"}\n```',
    '{"command": "rm -rf /tmp/a',
    "{'command': 'rm -rf /tmp/a",
    '[{"command": "ls"}',
    json.dumps('{"command": "rm -rf'),
    '{"command": "ls"} \'timeout\': 3}',
    '{"command": "ls"} {"command": "pwd"}',
    '{"command": "ls"}, "timeout": 3}',
    "{'command': open('/etc/passwd')}",
    "{'command': 'ls', 'timeout': " + "1" * 30 + "}",
    "{1: 2}",
    "ls -la",
    "[" * 200_000,
)


def test_only_unambiguous_arguments_are_repaired() -> None:
    assert {args: repair_arguments(args) for args in READ} == READ
    assert [args[:40] for args in NOT_READ if repair_arguments(args) is not None] == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), st.data())
def test_a_prefix_of_arguments_is_never_parsed(args: dict[str, Any], data: st.DataObject) -> None:
    for encoded in (json.dumps(args), json.dumps(args, ensure_ascii=False), repr(args)):
        end = data.draw(st.integers(1, len(encoded) - 1))
        assert repair_arguments(encoded[:end]) is None, encoded[:end]


async def test_unreadable_calls_are_reported_and_a_repaired_one_executed(
    agent: ScriptedAgent,
) -> None:
    unread = {
        "infinite": '{"path": "a", "line": "x", "n": 1e999}',
        "too large": '{"path": "a", "line": "x", "n": -100000000000000000000}',
        "twice": '{"path": "a", "line": "x", "line": "y"}',
        "cut off": json.dumps('{"path": "a", "line": "x'),
        "200,000 brackets": '{"path": "a", "line": ' + "[" * 200_000,
        "too deep": '{"path": "a", "line": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}",
    }
    unreadable = [call("append", raw=raw) for raw in unread.values()]
    repaired = call("append", raw="{'path': 'a', 'line': 'one'} ")
    outcome = await agent.run(calls(*unreadable, repaired), text("done"))
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    observations = await agent.observations()
    assert ["cannot be read: " in observation for observation in observations] == [
        *[True] * len(unread),
        False,
    ]
    assert "`line` is given twice" in observations[2]
    assert agent.lines("a") == ["one"]
    assert_paired(await agent.messages())
    messages = agent.server.requests[1].messages[-3:-1]
    assert "cannot be read" in messages[0]["content"]
    assert "Appended" in messages[1]["content"]


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


async def test_a_truncated_call_is_not_executed(prompted: ScriptedAgent) -> None:
    half = '<tool_call>\n{"name": "append", "arguments": {"path": "a", "line": "1'
    outcome = await prompted.run(text(half, finish_reason="length"), text("done"))
    assert outcome.stop_reason == "answered"
    assert prompted.lines("a") == []
    assert "cannot be read" in prompted.server.requests[1].text


TOOLS = [{"type": "function", "function": {"name": name}} for name in "ac"]
PROMPTED: list[tuple[str, list[tuple[str, dict[str, int]]]]] = [
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


def test_calls_in_text(subtests: pytest.Subtests) -> None:
    for content, expected in PROMPTED:
        with subtests.test(content=content, expected=expected):
            message = with_text_calls(AIMessage(content), TOOLS, is_prompted=True)
            assert [(c["name"], c["args"]) for c in message.tool_calls] == expected
            assert bool(message.additional_kwargs) == (not expected), "unreadable calls"


async def test_repaired_calls_and_calls_in_thoughts(
    prompted: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    only, own = block("append", path="a", line="1"), block("append", path="b", line="2")
    fenced = own.replace(">\n{", ">\n```json\n{").replace("\n<", "\n```\n<")
    in_python = "<tool_call>{'name': 'append', 'arguments': {'path': 'b', 'line': '2'}}</tool_call>"
    for thread, reply in enumerate(
        (
            f"<think>I could {only}.</think>\n\n{own}",
            f"I could {only}.\n</think>\n\n{own}",
            fenced,
            in_python,
        )
    ):
        with subtests.test(thread=thread, reply=reply):
            await prompted.run(text(reply), text("done"), thread=str(thread))
            assert (prompted.lines("a"), prompted.lines("b")) == ([], ["2"] * (thread + 1))
            assert_paired(await prompted.messages(str(thread)))


async def test_without_tools_the_history_is_text_as_well(prompted: ScriptedAgent) -> None:
    """A server without tools is not sent calls and tool messages in a request without tools."""
    await prompted.run(text(block("append", path="a", line="1")), text("done"))
    await prompted.run(text("Bye."), tool_choice="none")
    last = prompted.server.requests[-1]
    assert {m["role"] for m in last.messages} <= {"system", "user", "assistant"}
    assert not any("tool_calls" in m for m in last.messages)
    assert "Result of `append`" in last.text
