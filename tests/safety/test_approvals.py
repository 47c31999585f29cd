"""Which calls wait for a person, and the effect of the answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.types import Command, interrupt

from manus.calls.decisions import read_answer
from manus.config.safety_settings import matches
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.child import REQUEST, killed_when, start_run
from tests.mcp.conftest import ASKING, ODD_SERVER
from tests.server import call, calls, text

EDITOR = "str_replace_editor"
ENV = call(EDITOR, command="create", path=".env", file_text="KEY=1\n")
AGAIN = call(EDITOR, command="str_replace", path=".env", old_str="1", new_str="2")
HOLD = call("hold", path="held", line="1")

RULES = {
    ("bash", "bash", "anything"): True,
    ("bash", "python_execute", ""): False,
    ("mcp_odd_*", "mcp_odd_note", ""): True,
    ("MCP_odd_note", "mcp_odd_note", ""): True,
    ("bash(git *)", "bash", "git push"): True,
    ("bash(git *)", "bash", "git"): True,
    ("bash(git *)", "bash", "gitk"): False,
    (f"{EDITOR}(.env*)", EDITOR, ".env.local"): True,
    (f"{EDITOR}(.env*)", EDITOR, "src/.env"): False,
    (f"{EDITOR}(a(1).txt)", EDITOR, "a(1).txt"): True,
    ("browser_use(upload_file *.example)", "browser_use", "upload_file a.example"): True,
    ("browser_use(upload_file *.example)", "browser_use", "go_to_url a.example"): False,
}


def test_which_rules_match() -> None:
    assert {call: matches(*call) for call in RULES} == RULES


APPROVE = {"type": "approve"}
ANSWERS: list[tuple[Any, tuple[str, str]]] = [
    *((answer, (answer, "")) for answer in ("run", "always", "no")),
    *((answer, ("once", "")) for answer in ("yes", True)),
    (False, ("no", "")),
    ({"decisions": [APPROVE]}, ("once", "")),
    ({"decisions": [{**APPROVE, "scope": "run"}]}, ("run", "")),
    ({"decisions": [{"type": "reject", "message": "Too soon."}]}, ("no", "Too soon.")),
    ({"type": "edit", "edited_action": {"args": {"a": 1}}}, ("edit", '{"a": 1}')),
    ('edit {"a": 1}', ("edit", '{"a": 1}')),
]


def test_answers(subtests: pytest.Subtests) -> None:
    for answer, expected in ANSWERS:
        with subtests.test(answer=answer, expected=expected):
            assert read_answer(answer) == expected


@pytest.fixture
async def editing(agent: ScriptedAgent) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent with the editor and the shell."""
    profile = replace(ASKING, tools=(EDITOR, "bash"))
    scripted_agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    yield scripted_agent
    await scripted_agent.graph.close_waiting()


def settings(agent: ScriptedAgent, lines: str) -> None:
    (agent.workspace.parent / "manus.toml").write_text(lines)


async def test_a_protected_name_is_shown_and_written_after_a_yes(editing: ScriptedAgent) -> None:
    (editing.workspace / ".env").write_text("KEY=0\n")
    waiting = await editing.run(ENV)
    assert waiting.stop_reason == "interrupted"
    [question] = waiting.questions
    assert {"-KEY=0", "+KEY=1"} <= set(waiting.output.split())
    [action] = question.value["action_requests"]
    assert (action["name"], action["args"]["path"]) == (EDITOR, ".env")
    [review] = question.value["review_configs"]
    assert review == {"action_name": EDITOR, "allowed_decisions": ["approve", "edit", "reject"]}
    assert editing.lines(".env") == ["KEY=0"]
    approved: Command[Any] = Command(resume={"decisions": [APPROVE]})
    waiting = await editing.invoke(approved, AGAIN)
    assert editing.lines(".env") == ["KEY=1"]
    assert waiting.stop_reason == "interrupted", "the approval was only for the first call"
    outcome = await editing.invoke(approved, text("Done."))
    assert outcome.stop_reason == "answered"
    assert editing.lines(".env") == ["KEY=2"]
    assert_paired(await editing.messages())


async def test_changed_arguments_are_what_is_called(editing: ScriptedAgent) -> None:
    args = {"command": "create", "path": ".envrc", "file_text": "B=2\n"}
    await editing.run(ENV)
    decided = {"type": "edit", "edited_action": {"name": EDITOR, "args": args}}
    outcome = await editing.invoke(Command(resume={"decisions": [decided]}), text("Done."))
    assert outcome.stop_reason == "answered"
    assert (editing.lines(".env"), editing.lines(".envrc")) == ([], ["B=2"])
    [observation] = await editing.observations()
    assert json.dumps(args) in observation, "the model sees the executed call"
    assert_paired(await editing.messages())


async def test_changed_arguments_have_to_be_allowed(editing: ScriptedAgent) -> None:
    settings(editing, f'[approve]\ndeny = ["{EDITOR}(x)"]\n')
    await editing.run(ENV)
    await editing.invoke(Command(resume='edit {"command": "view", "path": "x"}'), text("Well."))
    [observation] = await editing.observations()
    assert "Not executed" in observation


async def test_each_call_is_asked_by_itself(editing: ScriptedAgent) -> None:
    (editing.workspace / "notes").symlink_to(".envrc")  # which hides no protected name
    other, link, inside = (
        call(EDITOR, command="create", path=path, file_text="x")
        for path in ("app/.env", "notes", "a.txt")
    )
    waiting = await editing.run(calls(ENV, other, link, inside, call("bash", command="ls")))
    first, second, third = waiting.questions
    answers = {first.id: "always", second.id: "no: it is mine", third.id: "no"}
    outcome = await editing.invoke(Command(resume=answers), text("Done."))
    assert outcome.stop_reason == "answered"
    assert (editing.workspace / ".env").exists()
    assert not (editing.workspace / "app").exists()
    assert "it is mine" in (await editing.observations())[1]


async def test_for_this_run(editing: ScriptedAgent) -> None:
    await editing.run(ENV)
    outcome = await editing.invoke(Command(resume="run"), AGAIN, text("Done."))
    assert outcome.stop_reason == "answered"
    assert editing.lines(".env") == ["KEY=2"]
    assert (await editing.run(ENV)).stop_reason == "interrupted", "another run asks again"


async def test_always_in_this_folder(editing: ScriptedAgent, tmp_path: Path) -> None:
    await editing.run(ENV)
    await editing.invoke(Command(resume="always"), text("Done."))
    outcome = await editing.run(ENV, text("Done."), thread="another")
    assert outcome.stop_reason == "answered"
    other = call(EDITOR, command="create", path=".envrc", file_text="x")
    assert (await editing.run(other, thread="a third")).stop_reason == "interrupted"
    assert not [f for f in editing.workspace.rglob("*") if "approved" in f.name]
    elsewhere = ScriptedAgent(editing.server, tmp_path / "b", editing.saver, editing.graph.profile)
    assert (await elsewhere.run(ENV, thread="b")).stop_reason == "interrupted"
    await elsewhere.graph.close_waiting()


async def test_the_modes_and_rules_of_the_settings(
    editing: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    allow, deny = f'"bash(echo free)", "{EDITOR}(.env)"', f'"bash(curl *)", "{EDITOR}(secret/*)"'
    settings(editing, f"[approve]\nallow = [{allow}]\ndeny = [{deny}]\n")
    curl = call("bash", command="echo x; curl --version")
    secret, view = (call(EDITOR, command="view", path=path) for path in ("secret/a", "."))
    echo, other = (call("bash", command=f"echo {word}") for word in ("free", "hi"))
    monkeypatch.setenv("MANUS_APPROVE", "ask")
    all_four = calls(echo, ENV, curl, secret)
    for thread, mode in (("1", {"approve": "yolo"}), ("2", {})):
        with subtests.test(thread=thread, mode=mode):
            outcome = await editing.run(all_four, text("Done."), thread=thread, **mode)
            assert outcome.stop_reason == "answered"
            free, _, *denied = await editing.observations(thread)
            assert "free" in free
            assert ["bash(curl *)" in denied[0], "secret/*" in denied[1]] == [True, True]
    assert editing.lines(".env") == ["KEY=1"]
    assert (await editing.run(view, other, thread="3")).stop_reason == "interrupted"
    assert len(await editing.observations("3")) == 1
    again = call("bash", command="echo again | cat")
    waiting = await editing.invoke(Command(resume="run"), again, thread="3")
    assert waiting.stop_reason == "interrupted", "`cat` was not approved"


async def test_a_changed_call_is_asked_about_again(editing: ScriptedAgent) -> None:
    [question] = (await editing.run(ENV)).questions
    message = (await editing.messages())[-1]
    assert isinstance(message, AIMessage)
    changed = message.model_copy(deep=True)
    changed.tool_calls[0]["args"]["file_text"] = "KEY=2"
    config = thread_config("t")
    await editing.graph.aupdate_state(config, {"messages": [changed]}, as_node="think")
    waiting = await editing.invoke(Command(resume={question.id: "yes"}))
    assert waiting.stop_reason == "interrupted"
    assert "+KEY=2" in waiting.output
    await editing.graph.aupdate_state(config, {"messages": [message]}, as_node="think")
    outcome = await editing.invoke(Command(resume="yes"), text("Well."))
    assert not (editing.workspace / ".env").exists(), "the answer belonged to no question"
    assert outcome.stop_reason == "answered"


async def test_a_refusal_applies_even_if_approval_is_no_longer_needed(
    editing: ScriptedAgent,
) -> None:
    await editing.run(ENV)
    settings(editing, f'[approve]\nallow = ["{EDITOR}"]\n')
    await editing.graph.close_waiting()
    outcome = await editing.invoke(Command(resume="no"), text("Well."))
    assert outcome.stop_reason == "answered"
    assert not (editing.workspace / ".env").exists()


async def test_a_process_is_killed_between_question_and_answer(agent: ScriptedAgent) -> None:
    settings(agent, '[approve]\nmode = "ask"\nallow = ["hold"]\n')
    agent.server.script(calls(call("append", path="a", line="1"), HOLD))
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: agent.lines("held") == ["1"])
    waiting = await agent.invoke(None)
    assert waiting.stop_reason == "interrupted"
    assert agent.lines("a") == []
    outcome = await agent.invoke(Command(resume="yes"), text("Done."))
    assert outcome.stop_reason == "answered"
    assert (agent.lines("a"), agent.lines("held")) == (["1"], ["1"])
    assert_paired(await agent.messages())


async def test_a_process_is_killed_after_the_answer(agent: ScriptedAgent) -> None:
    waiting = await agent.run(HOLD, approve="ask")
    assert waiting.stop_reason == "interrupted"
    await agent.graph.close_waiting()
    with start_run(agent, Command(resume="yes"), approve="ask") as child:
        killed_when(child, lambda: agent.lines("held") == ["1"])
    outcome = await agent.invoke(None, text("Done."), approve="ask")
    assert outcome.stop_reason == "answered", "an answered question is not asked again"
    assert agent.lines("held") == ["1"]


async def test_a_tool_that_asks_gets_its_own_answer(agent: ScriptedAgent) -> None:
    profile = replace(ASKING, tools=(pick,))
    asking = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    await asking.run(call("pick"), approve="ask")
    waiting = await asking.invoke(Command(resume="always"), approve="ask")
    assert waiting.output == "Which?"
    await asking.invoke(Command(resume="the left one"), text("Done."), approve="ask")
    assert await asking.observations() == ["the left one"]


def pick() -> str:
    """Ask for a choice."""
    return str(interrupt({"question": "Which?"}))


async def test_an_mcp_tool_is_asked_about_unless_the_settings_say_that_it_only_reads(
    agent: ScriptedAgent,
) -> None:
    settings(agent, f"{ODD_SERVER}sandbox = false\nread_only = ['add']\n")
    asking = ScriptedAgent(agent.server, agent.workspace, agent.saver, ASKING)
    waiting = await asking.run(
        calls(call("mcp_odd_add", a=2, b=3), call("mcp_odd_note", line="one"))
    )
    assert len(waiting.questions) == 1
    assert "line: one" in waiting.output
    outcome = await asking.invoke(Command(resume="yes"), text("Done."))
    assert outcome.stop_reason == "answered"
    assert agent.lines("noted") == ["one"]
    assert await asking.observations() == ["5", "noted"]


@pytest.mark.parametrize("action", ["upload_file", "input_text"])
async def test_an_upload_is_asked_about_with_its_host(editing: ScriptedAgent, action: str) -> None:
    """A file that is put into a field is sent away, too."""
    profile = replace(ASKING, tools=("browser_use",))
    agent = ScriptedAgent(editing.server, editing.workspace, editing.saver, profile)
    upload = call("browser_use", action=action, index=1, path="a.txt")
    waiting = await agent.run(upload)
    assert waiting.stop_reason == "interrupted"
    assert "a.txt" in waiting.output
    await agent.invoke(Command(resume="no"), text("Done."))


async def test_for_the_whole_flow_in_another_process(agent: ScriptedAgent) -> None:
    flow = ScriptedFlow(agent.server, agent.workspace, agent.saver)
    write = call("append", path="a", line="1")
    flow.plans(makes("Write", "Then write"))
    flow.step("Write", write, call("ask_human", inquire="Go on?"), succeeds())
    flow.step("Then write", write, succeeds())
    flow.sums_up(text("All is done."))
    await flow.run(approve="ask")
    waiting = await flow.invoke(Command(resume="run"), approve="ask")
    assert waiting.output == "Go on?"
    await flow.graph.close_waiting()
    outcome = await flow.invoke(Command(resume="yes"), approve="ask")
    assert outcome.stop_reason == "completed", outcome.output
    assert flow.lines("a") == ["1", "1"]
