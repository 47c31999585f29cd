"""The effect of an approval's answer that edits the call, or that decides nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import Command

from manus.calls.decisions import edited_arguments, read_answer
from tests.helpers.agent import ScriptedAgent
from tests.mcp.conftest import ASKING
from tests.server import call, text

NEITHER = "is neither a clear yes nor a clear no, so nothing was decided"
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
        ("edit command ls", NEITHER),
        (edit("python_execute", code="1"), "cannot call `python_execute`"),
        (edit(), "names no arguments"),
        ("yse", f"`yse` {NEITHER}"),
        ("yes, but only in src", NEITHER),
        ("Looks good to me", NEITHER),
        ("好的，继续", NEITHER),
        ("Where does it write?", NEITHER),
        ("no problem, go ahead", NEITHER),
        ("web", "`web` is not offered here"),
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


CLEAR: list[tuple[Any, str]] = [
    *(
        (answer, "once")
        for answer in ("yes", "Y", "ok", "OK.", "go ahead", "Do it!", "好的", "可以。")
    ),
    *((answer, "run") for answer in ("run", "r")),
    *((answer, "web") for answer in ("web", "w")),
    *((answer, "always") for answer in ("always", "a")),
    *((answer, "no") for answer in ("no", "n", "Nope.", "stop", "不要", False)),
    ({"type": "ignore"}, "no"),
    ({"type": "respond", "message": "yes"}, "once"),
]
UNCLEAR: tuple[Any, ...] = (
    *("", "maybe", "looks good", "sounds fine", "continue", "yes but later", "no problem"),
    *("Use the other folder.", "Why?", "What does it do?", "is that safe", "ok?", "yes?"),
    *(
        "好的，继续",
        "看起来不错",
        "为什么？",
        "ja, aber",
        "not sure",
        "nothing",
        "yes yes no",
    ),
    *("I never said no", "do not hesitate", "please don't", "thanks", "👍", "1", "y/n"),
    *(None, 1, [], {"type": "respond", "message": "Why?"}, {"type": "something"}),
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
)


def test_only_a_clear_yes_or_no_decides(subtests: pytest.Subtests) -> None:
    for answer, decision in CLEAR:
        with subtests.test(answer=answer):
            assert read_answer(answer) == (decision, "")
    for answer in UNCLEAR:
        with subtests.test(answer=answer):
            assert read_answer(answer)[0] == "unclear"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("no: not there", "not there"),
        ("No, use the other folder.", "use the other folder."),
        ("不要：请写到另一个文件夹里", "请写到另一个文件夹里"),
        ({"type": "reject", "message": "Too soon."}, "Too soon."),
    ],
)
def test_a_no_has_a_reason(answer: Any, reason: str) -> None:
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
