"""Repair of tool calls: three things with one reading; what has two or was cut off is told."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from manus.models.tool_calls import read_arguments
from manus.state.text import DEEPEST
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


def test_what_has_one_reading_is_repaired_and_nothing_else() -> None:
    assert {args: read_arguments(args) for args in READ} == READ
    assert [args[:40] for args in NOT_READ if read_arguments(args) is not None] == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), st.data())
def test_no_beginning_of_arguments_is_ever_read(args: dict[str, Any], data: st.DataObject) -> None:
    for whole in (json.dumps(args), json.dumps(args, ensure_ascii=False), repr(args)):
        end = data.draw(st.integers(1, len(whole) - 1))
        assert read_arguments(whole[:end]) is None


async def test_what_cannot_be_read_is_told_and_a_repaired_call_made(agent: ScriptedAgent) -> None:
    unread = {
        "infinite": '{"path": "a", "line": "x", "n": 1e999}',
        "too large": '{"path": "a", "line": "x", "n": -100000000000000000000}',
        "twice": '{"path": "a", "line": "x", "line": "y"}',
        "cut off": json.dumps('{"path": "a", "line": "x'),
        "200,000 brackets": '{"path": "a", "line": ' + "[" * 200_000,
        "too deep": '{"path": "a", "line": ' + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1) + "}",
    }
    made = [call("append", raw=raw) for raw in unread.values()]
    repaired = call("append", raw="{'path': 'a', 'line': 'one'} ")
    outcome = await agent.run(calls(*made, repaired), text("done"))
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    told = await agent.observations()
    assert ["cannot be read: " in said for said in told] == [*[True] * len(unread), False]
    assert "`line` stands there twice" in told[2]
    assert agent.lines("a") == ["one"]
    assert_paired(await agent.messages())
    sent = agent.server.requests[1].messages[-3:-1]
    assert "cannot be read" in sent[0]["content"]
    assert "Appended" in sent[1]["content"]
