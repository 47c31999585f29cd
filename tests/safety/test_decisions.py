"""The effect of an approval's answer that edits the call, or that decides nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import Command

from manus.execution.decisions import edited_arguments, read_answer
from tests.helpers.agent import ScriptedAgent
from tests.mcp.conftest import ASKING
from tests.server import call, text

RUN = call("bash", command="echo first > made", timeout=50)


def edit(name: str = "bash", **args: Any) -> dict[str, Any]:
    return {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": args}}]}


@tool
def count(start: int, steps: list[int], label: str = "") -> str:
    """Count."""
    return f"{start} {steps} {label}"


@pytest.fixture
async def asking(agent: ScriptedAgent) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent that asks before each call that may change something."""
    profile = replace(ASKING, tools=("bash", count))
    scripted_agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    yield scripted_agent
    await scripted_agent.graph.close_waiting()


@pytest.mark.parametrize("answer", ['edit {"command": "echo other > made"}', edit(command="ok")])
async def test_an_edit_changes_only_the_arguments_that_it_names(
    asking: ScriptedAgent, answer: Any
) -> None:
    await asking.run(RUN, approve="ask")
    outcome = await asking.invoke(Command(resume=answer), text("Done."), approve="ask")
    assert outcome.stop_reason == "answered"
    [observed] = await asking.observations()
    assert '"timeout": 50' in observed


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('edit {"command": ', "valid JSON"),
        ('edit {"comand": "ls"}', "did you mean `command`?"),
        ('edit {"timeout": "soon"}', "`timeout`"),
        ("edit {}", "names no arguments"),
        ("edit command ls", "neither a yes nor a no"),
        (edit("python_execute", code="1"), "cannot call `python_execute`"),
        (edit(), "names no arguments"),
        ("maybe", "`maybe` is neither a yes nor a no"),
        ("yse", "`yse` is neither a yes nor a no"),
        ("yes, but only in src", "neither a yes nor a no"),
        ("也许", "`也许` is neither a yes nor a no"),
    ],
)
async def test_an_answer_that_decides_nothing_asks_again(
    asking: ScriptedAgent, answer: Any, problem: str
) -> None:
    [first] = (await asking.run(RUN, approve="ask")).questions
    waiting = await asking.invoke(Command(resume=answer), approve="ask")
    assert waiting.stop_reason == "interrupted"
    assert problem in waiting.output
    assert str(first.value["question"]) in waiting.output
    assert asking.lines("made") == []
    outcome = await asking.invoke(Command(resume="yes"), text("Done."), approve="ask")
    assert outcome.stop_reason == "answered"
    assert asking.lines("made") == ["first"]


async def test_asked_again_in_another_process(asking: ScriptedAgent) -> None:
    await asking.run(RUN, approve="ask")
    await asking.invoke(Command(resume="hm"), approve="ask")
    await asking.graph.close_waiting()
    await asking.invoke(Command(resume="what?"), approve="ask")
    await asking.graph.close_waiting()
    changed = 'edit {"command": "echo two > made"}'
    outcome = await asking.invoke(Command(resume=changed), text("Done."), approve="ask")
    assert (outcome.stop_reason, asking.lines("made")) == ("answered", ["two"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("no: not there", "not there"),
        ("Use the other folder.", "Use the other folder."),
        ("请写到另一个文件夹里", "请写到另一个文件夹里"),
        ("stop", ""),
        ("Nope.", ""),
    ],
)
def test_a_sentence_or_a_no_refuses(answer: str, reason: str) -> None:
    assert read_answer(answer) == ("no", reason)


ARGS = {"start": 1, "steps": [1, 2], "label": "a"}


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ('{"start": "7"}', {**ARGS, "start": 7}),
        ('{"steps": "[3]"}', {**ARGS, "steps": [3]}),
        ('{"label": "7"}', {**ARGS, "label": "7"}),
        ('{"label": null}', {"start": 1, "steps": [1, 2]}),
    ],
)
def test_arguments_that_a_chat_ui_has_edited_as_text(text: str, edited: dict[str, Any]) -> None:
    assert edited_arguments(count, ARGS, text) == edited


@pytest.mark.parametrize("text", ['{"start": null}', '{"stop": 1}', '{"start": "x"}', "[1]"])
def test_an_edit_that_does_not_fit_a_users_tool(text: str) -> None:
    with pytest.raises(ValueError, match=r"start|stop|object"):
        edited_arguments(count, ARGS, text)
