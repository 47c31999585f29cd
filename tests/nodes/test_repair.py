"""Repair of tool calls: what has one reading is repaired, what has two or was cut off is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from manus.models.repair import REPAIRED, repaired_call, with_repairs
from manus.models.repair_names import meant
from manus.state.messages import MALFORMED_AT, calls_of
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import call, calls, cut, text, tokens

BASH = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "timeout": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "restart": {"type": "boolean"},
    },
    "required": ["command"],
}
EDITOR = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "enum": ["view", "create"]},
        "path": {"type": "string"},
        "old_str": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["command", "path"],
}
SCHEMAS: dict[str, Any] = {
    "bash": BASH,
    "str_replace_editor": EDITOR,
    "get_state": {"type": "object"},
}


def read(name: str, args: Any, *, cut_off: bool = False) -> tuple[str, dict[str, Any]] | None:
    found, _ = repaired_call({"id": "1", "name": name, "args": args}, SCHEMAS, cut_off=cut_off)
    return None if found is None else (found["name"], found["args"])


@pytest.mark.parametrize(
    ("args", "meaning"),
    [
        ('{"command": "a\nb\tc"}', {"command": "a\nb\tc"}),
        (json.dumps(json.dumps({"command": "ls"})), {"command": "ls"}),
        ('{"command": "ls"} and then I look', {"command": "ls"}),
        ('{"command": "ls"}}', {"command": "ls"}),
        ('{"command": "ls"}</tool_call>', {"command": "ls"}),
        ('{"command": "ls"}{"command": "ls"}', {"command": "ls"}),
        ('```json\n{"command": "ls"}\n```', {"command": "ls"}),
        (
            "{'command': 'ls', 'restart': False, 'timeout': None}",
            {"command": "ls", "restart": False, "timeout": None},
        ),
        ("{'command': 'ls', 'restart': true}", {"command": "ls", "restart": True}),
        ("{'command': \"it's\"}", {"command": "it's"}),
        ("{'command': 'a\\nb'}", {"command": "a\nb"}),
        ('{"command": "ls",}', {"command": "ls"}),
        ('{command: "ls", timeout: -3}', {"command": "ls", "timeout": -3}),
        ('[{"command": "ls"}]', {"command": "ls"}),
        ('"ls -la"', {"command": "ls -la"}),
        ("null", {}),
        ("[]", {}),
        (
            '{"command": "ls", "timeout": "30", "restart": "True"}',
            {"command": "ls", "timeout": 30, "restart": True},
        ),
        ("{'command': 'a\nb\tc'}", {"command": "a\nb\tc"}),
        ('\ufeff{"command": "ls"} and so on', {"command": "ls"}),
        ('{}{"command": "ls"}', {"command": "ls"}),
    ],
)
def test_what_has_one_reading_is_repaired(args: str, meaning: dict[str, Any]) -> None:
    assert read("bash", args) == ("bash", meaning)


@pytest.mark.parametrize(
    "args",
    [
        '{"command": "rm -rf /tmp/a',
        '{"command": "rm -rf /tmp/a"',
        '{"command": "ls", "timeout": 3',
        "{'command': 'rm -rf /tmp/a",
        "{'command': 'ls'",
        '[{"command": "ls"}',
        '"{\\"command\\": \\"rm -rf /tmp',
        '"ls',
        '{}{"command": "ls"',
        '{}{"command": "ls"}{"command": "pwd"}',
        json.dumps('{"command": "rm -rf'),
        json.dumps("{'command': 'ls'}"),
        json.dumps("[" * 100_000),
        '{"command": "ls"} \'timeout\': 3}',
        '{"command": "ls"}，“timeout”：3}',
        '{"command": "ls"}, ',
        '{"command": "ls", "lines": {"a": 1}, "restart": true}}',
        '{"command": "ls", "lines": [], "restart": true}]}',
        '"command"',
        "{'command': 'ls', 'timeout': 1e999}",
        '{"command": "ls", "timeout": -1e999} x',
        "{'command': 'ls', 'timeout': " + "1" * 30 + "}",
        "{'command': 'a\nb'\n}",
        '{"command": "ls"} {"command": "pwd"}',
        '{"command": "ls"}, "timeout": 3}',
        '{"command": "ls"}, \'timeout\': 3}',
        '[{"command": "ls"}, {"command": "pwd"}]',
        "{'command': 'a', 'command': 'b'} x",
        "{'command': 'grep ''x'' y'}",
        "{'command': 'it's'}",
        "{'command': 'a\\d'}",
        "{'command': b'ls'}",
        "{'command': f'{1}'}",
        "{'command': open('/etc/passwd')}",
        "{'command': NaN}",
        "{1: 2}",
        "{command: ls}",
        "ls -la",
        "3",
        "true and more",
        "{",
        "[" * 100_000,
    ],
)
def test_what_is_cut_off_or_has_two_readings_is_not(args: str) -> None:
    assert read("bash", args) is None


def test_nothing_malformed_is_repaired_in_a_reply_that_was_cut_off() -> None:
    assert read("bash", "{'command': 'ls'}", cut_off=True) is None
    assert read("bash", {"command": "ls"}, cut_off=True) == ("bash", {"command": "ls"})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), st.data())
def test_no_beginning_of_arguments_is_ever_read(args: dict[str, Any], data: st.DataObject) -> None:
    for whole in (json.dumps(args), json.dumps(args, ensure_ascii=False), repr(args)):
        end = data.draw(st.integers(1, len(whole) - 1))
        assert read("bash", whole[:end]) is None


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("Bash", "bash"),
        ("functions.bash", "bash"),
        ("bash<|channel|>commentary", "bash"),
        ("strReplaceEditor", "str_replace_editor"),
        ("str-replace-editor", "str_replace_editor"),
        ("str_replce_editor", "str_replace_editor"),
        ("str_repalce_editor", "str_replace_editor"),
        ("set_state", None),
        ("gat_state", "get_state"),
        ("bish", None),
        ("", None),
        ("…", None),
    ],
)
def test_near_names(given_name: str, name: str | None) -> None:
    assert meant(given_name, list(SCHEMAS)) == name


@pytest.mark.parametrize(
    ("wrong", "known"),
    [("set_state", "get_state"), ("git_push", "git_pull"), ("unlock", "lock"),
     ("disable_rule", "enable_rule"), ("turn_on", "turn_off"), ("delete_item", "delete_items2")],
)  # fmt: skip
def test_a_name_of_another_meaning_is_not_near(wrong: str, known: str) -> None:
    assert meant(wrong, [known]) is None


def test_of_two_near_names_none_is_meant() -> None:
    assert meant("read_fil", ["read_file", "read_fill"]) is None


@pytest.mark.parametrize(
    ("args", "meaning"),
    [
        ({"command": "VIEW", "file_path": "a"}, {"command": "view", "path": "a"}),
        ({"command": "view", "Path": "a"}, {"command": "view", "path": "a"}),
        ({"command": "view", "file": "a"}, {"command": "view", "path": "a"}),
        (
            {"command": "view", "path": "a", "old_string": "x"},
            {"command": "view", "path": "a", "old_str": "x"},
        ),
        ({"command": "view", "path": "a", "reason": 1}, None),
        ({"command": "view", "exclude_path": "a"}, None),
        ({"command": "view", "path_prefix": "a"}, None),
        ({"command": "view", "reason": "a"}, None),
        ({"command": "view", "path_description": "a"}, None),
        ({"command": "view", "target": "a"}, {"command": "view", "path": "a"}),
        ({"command": "view", "file_path": "a", "the_path": "b"}, None),
        ({"command": "look", "path": "a"}, None),
        ({"command": "view", "path": "1"}, None),
    ],
)
def test_arguments(args: dict[str, Any], meaning: dict[str, Any] | None) -> None:
    assert read("str_replace_editor", args) == ("str_replace_editor", meaning or args)


def test_values_of_another_type() -> None:
    args = {"command": "5", "timeout": "30", "restart": "True"}
    assert read("bash", args) == ("bash", {"command": "5", "timeout": 30, "restart": True})
    same = {"command": "5", "timeout": "30 s", "restart": "perhaps"}
    assert read("bash", same) == ("bash", same)


NESTED = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "lines": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "ratio": {"type": "number"},
        "said": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ({"items": "[1, 2]"}, {"items": [1, 2]}),
        ({"items": ["1", 2, "3.0"]}, {"items": [1, 2, 3]}),
        ({"items": '["1"]'}, {"items": [1]}),
        ({"options": '{"depth": "3"}'}, {"options": {"depth": 3}}),
        ({"options": {"depth": "3", "x": "3"}}, {"options": {"depth": 3, "x": "3"}}),
        ({"lines": '["a", "1"]'}, {"lines": ["a", "1"]}),
        ({"ratio": "1.5"}, {"ratio": 1.5}),
    ],
)
def test_values_in_values_and_values_as_json(value: Any, meaning: Any) -> None:
    found, notes = repaired_call({"id": "1", "name": "t", "args": value}, {"t": NESTED})
    assert found is not None
    assert found["args"] == meaning
    assert len(notes) == 1


@pytest.mark.parametrize(
    "value",
    [
        {"items": "[1, 2"},
        {"items": "1, 2"},
        {"items": '{"a": 1}'},
        {"items": ["one"]},
        {"options": '{"depth": 1, "depth": 2}'},
        {"options": "[" * 100_000},
        {"ratio": "1e400"},
        {"said": '{"depth": 1}'},
        {"said": "[1, 2]"},
    ],
)
def test_values_with_another_reading_or_none_stay(value: Any) -> None:
    found, notes = repaired_call({"id": "1", "name": "t", "args": value}, {"t": NESTED})
    assert found is not None
    assert found["args"] == value
    assert notes == []


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a", "line": "x", "n": 1e999}',
        '{"path": "a", "line": "x", "n": -100000000000000000000}',
        '{"path": "a", "line": 1' + "0" * 40 + "}",
        json.dumps('{"path": "a", "line": "x'),
    ],
)
async def test_what_no_store_can_hold_is_told_to_the_model(agent: ScriptedAgent, raw: str) -> None:
    """Such a number broke the run when it was written to the checkpoint, or sent back."""
    outcome = await agent.run(call("append", raw=raw), text("done"))
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    [said] = await agent.observations()
    assert "cannot be read: " in said
    assert agent.lines("a") == []


def test_a_number_that_is_too_large_is_found_whoever_read_it() -> None:
    """Other providers' clients hand over what they have read."""
    message = AIMessage(
        "", tool_calls=[ToolCall(id="a", name="bash", args={"command": "ls", "timeout": 10**30})]
    )
    tools = [{"type": "function", "function": {"name": "bash", "parameters": BASH}}]
    [call] = with_repairs(message, tools).invalid_tool_calls
    assert call["args"] == json.dumps({"command": "ls", "timeout": 10**30})


def test_calls_keep_their_order_and_the_repair_is_noted() -> None:
    message = AIMessage(
        "",
        tool_calls=[ToolCall(id="b", name="bash", args={"command": "pwd"})],
        invalid_tool_calls=[
            InvalidToolCall(
                type="invalid_tool_call", id="a", name="BASH", args="{'command': 'ls'}", error=None
            ),
            InvalidToolCall(
                type="invalid_tool_call", id="c", name="bash", args='{"comm', error=None
            ),
        ],
        additional_kwargs={MALFORMED_AT: [0, 2]},
    )
    tools = [{"type": "function", "function": {"name": "bash", "parameters": BASH}}]
    repaired = with_repairs(message, tools)
    assert [c["id"] for c in calls_of(repaired)] == ["a", "b", "c"]
    assert [c["id"] for c in repaired.tool_calls] == ["a", "b"]
    assert repaired.additional_kwargs[MALFORMED_AT] == [2]
    assert list(repaired.additional_kwargs[REPAIRED]) == ["a"]


@pytest.mark.parametrize("id_", [None, "", "x"], ids=["null", "empty", "the same"])
async def test_the_note_is_found_by_the_id_that_a_call_gets(
    agent: ScriptedAgent, id_: str | None
) -> None:
    made = (call("poll", id=id_), call("append", raw="{'path': 'a', 'line': '1'}", id=id_))
    await agent.run(calls(*made), text("done"))
    message = (await agent.messages())[1]
    assert isinstance(message, AIMessage)
    poll, append = message.tool_calls
    assert append["args"] == {"path": "a", "line": "1"}
    assert poll["id"] != append["id"]
    assert list(message.additional_kwargs[REPAIRED]) == [append["id"]]


async def test_a_repaired_call_is_carried_out_once(agent: ScriptedAgent) -> None:
    made = (
        call("Apend", raw="{'path': 'a.txt', 'line': 'it''s'}"),
        call("apend", raw="{'path': 'a.txt', 'line': 'one'} "),
    )
    outcome = await agent.run(calls(*made), text("done"))
    assert outcome.stop_reason == "answered"
    assert agent.lines("a.txt") == ["one"]
    history = await agent.messages()
    assert_paired(history)
    sent = agent.server.requests[1].messages[-3:-1]
    assert "cannot be read" in sent[0]["content"]
    assert "Appended" in sent[1]["content"]


async def test_arguments_cut_off_at_the_length_limit_are_not_executed(agent: ScriptedAgent) -> None:
    short = calls(
        call("append", raw="{'path': 'a.txt', 'line': 'one'}"),
        finish_reason="length",
        usage=tokens(10, 10),
    )
    outcome = await agent.run(short, text("done"))
    assert outcome.stop_reason == "answered"
    assert agent.lines("a.txt") == []


async def test_a_stream_that_broke_off_is_asked_again(agent: ScriptedAgent) -> None:
    whole = call("append", path="a.txt", line="a line long enough to be cut in its middle")
    events = await agent.events(cut(4, reply=whole), whole, text("done"))
    assert [e["type"] for e in events].count("retry") == 1
    assert len(agent.lines("a.txt")) == 1
