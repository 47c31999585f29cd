"""Tools on demand: listed by name, called through `use_tool`, described when first used."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from manus.graph import build_agent
from manus.state.messages import DESCRIBES
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import Call, Message, Scripted, call, text

EDITOR = "str_replace_editor"
LEAN = replace(
    TESTER,
    name="lean",
    tools=(*TESTER.tools, "skill", EDITOR),
    on_demand=("append", "skill", EDITOR),
)


@pytest.fixture
def lean(agent: ScriptedAgent) -> ScriptedAgent:
    agent.graph = build_agent(LEAN, checkpointer=agent.saver)
    return agent


def through(name: str, **arguments: Any) -> Call:
    return call("use_tool", name=name, arguments=arguments)


async def test_a_request_lists_them_and_describes_one_at_its_first_call(
    lean: ScriptedAgent,
) -> None:
    view = through(EDITOR, command="view", path="a")
    await lean.run(through("append", path="a", line="1"), view, view, text("Done."))
    requests = lean.server.requests
    names = [tool["function"]["name"] for tool in requests[0].tools]
    assert "append" not in names
    assert names[-1] == "use_tool"
    listing = requests[0].tools[-1]["function"]["description"]
    assert "- append(path, line): Append a line to a file." in listing
    assert f"- {EDITOR}(command, path, …): View and edit files in the workspace." in listing
    observations = [m["content"] for m in requests[-1].messages if m["role"] == "tool"]
    # the list names all its arguments
    assert observations[0] == "Appended to a."
    result, _, description = observations[1].partition("\n\n[For further calls]\n")
    assert description.startswith(f"`{EDITOR}`: View and edit files in the workspace. `view` shows")
    assert '"required":["command","path"]' in description
    assert (
        '{"name":"str_replace_editor","arguments":{"command":"str_replace","path":"a.py"'
        in description
    )
    assert observations[2] == result
    # people read only the result
    assert await lean.observations() == [*observations[:1], result, result]


async def test_the_history_has_the_call_of_the_tool_and_the_model_its_own(
    lean: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    work: list[Scripted] = [
        through("append", path="a", line="1"),
        call("append", path="a", line="2"),
        call("use_tool", name="append"),
        call("read", path="a"),
    ]
    await lean.run(*work, text("Done."))
    await lean.run(through("append", path="a", line="3"), text("Yes."), request="More.")
    calls = [c for m in await lean.messages() if isinstance(m, AIMessage) for c in m.tool_calls]
    assert [c["name"] for c in calls] == ["append", "append", "use_tool", "read", "append"]
    assert calls[0]["args"] == {"path": "a", "line": "1"}
    requests = lean.server.requests
    replied = [m["tool_calls"][0]["function"] for m in requests[-1].messages if "tool_calls" in m]
    assert [f["name"] for f in replied] == ["use_tool", "append", "use_tool", "read", "use_tool"]
    assert json.loads(replied[0]["arguments"]) == {
        "name": "append",
        "arguments": {"path": "a", "line": "1"},
    }
    for earlier, later in itertools.pairwise(requests):
        with subtests.test(request=len(later.messages)):
            history = earlier.messages[:-1]
            assert later.messages[: len(history)] == history
            assert later.tools == earlier.tools
            last = json.dumps(earlier.last, ensure_ascii=False, separators=(",", ":")).encode()
            assert later.raw.startswith(earlier.raw[: earlier.raw.rindex(last)])


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "append", "arguments": {"path": "a", "line": "1"}},
        {"name": "APPEND", "arguments": '{"path": "a", "line": "1"}'},
        {"tool": "append", "args": {"path": "a", "line": "1"}},
        {"name": "append", "path": "a", "line": "1"},
    ],
)
async def test_the_forms_in_which_models_write_a_call(
    lean: ScriptedAgent, arguments: dict[str, Any]
) -> None:
    call_of_model = Message(calls=(Call("use_tool", json.dumps(arguments)),))
    await lean.run(call_of_model, text("Done."))
    assert lean.lines("a") == ["1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"name": "append"}, ["`append`: Append a line", "Its arguments", "example"]),
        ({"name": "append", "arguments": {}}, ["`append`: Append a line", "example"]),
        ({"name": "append", "arguments": "no JSON"}, ["`arguments`: Input should be"]),
        ({"name": "apend", "arguments": {"path": "a"}}, ["no tool `apend`", "`append`?"]),
        ({"name": "test-driven-fix"}, ["# Test-driven fix"]),
        ({"name": "use_tool", "arguments": {"name": "a"}}, ["There is no skill"]),
        ({}, ["`name`: Field required"]),
    ],
)
async def test_replies_to_other_calls(
    lean: ScriptedAgent, arguments: dict[str, Any], expected: list[str]
) -> None:
    await lean.run(call("use_tool", **arguments), text("Done."))
    [observation] = await lean.observations()
    assert all(part in observation for part in expected), observation
    assert lean.lines("a") == []


async def test_wrong_arguments_are_answered_with_the_description(lean: ScriptedAgent) -> None:
    await lean.run(call("append", file_name="a"), text("Done."))
    answer = lean.server.requests[-1].messages[-2]["content"]
    assert "`line`: Field required" in answer
    assert "Call it with `use_tool`" in answer


async def test_a_description_appears_once_in_the_history(lean: ScriptedAgent) -> None:
    first = through("append", path="a", line="1")
    await lean.run(call("use_tool", name="append"), first, text("Done."))
    observations = [m["content"] for m in lean.server.requests[-1].messages if m["role"] == "tool"]
    assert observations[1] == "Appended to a."
    # a later process reads the described tools from the history
    lean.graph = build_agent(LEAN, checkpointer=lean.saver)
    await lean.run(through("append", path="a", line="2"), text("Done."), request="More.")
    messages = await lean.messages()
    marks = [m.additional_kwargs.get(DESCRIBES) for m in messages if isinstance(m, ToolMessage)]
    assert marks == ["append", None, None]


async def test_a_tool_of_the_user_keeps_the_name(agent: ScriptedAgent) -> None:
    def use_tool(name: str) -> str:
        """Pick up a tool."""
        return f"You hold the {name}."

    profile = replace(TESTER, tools=(*TESTER.tools, use_tool), on_demand=("append",))
    agent.graph = build_agent(profile, checkpointer=agent.saver)
    await agent.run(call("use_tool", name="append"), text("Done."))
    assert await agent.observations() == ["You hold the append."]
    assert "append" in [tool["function"]["name"] for tool in agent.server.requests[0].tools]


async def test_a_declined_call_is_not_described(lean: ScriptedAgent) -> None:
    (lean.workspace.parent / "manus.toml").write_text(f'[approve]\ndeny = ["{EDITOR}"]\n')
    await lean.run(through(EDITOR, command="view", path="a"), text("Done."))
    [answer] = [m for m in lean.server.requests[-1].messages if m["role"] == "tool"]
    assert "denies it" in answer["content"]
    assert "[For further calls]" not in answer["content"]
