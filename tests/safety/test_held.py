"""What a run must not leave in a workspace: a person who is present is asked once."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from manus.graph import build_agent
from manus.sandbox.held_files import list_held
from manus.workspace.workspace import Workspace
from tests.cli.program import Program
from tests.helpers.agent import ScriptedAgent
from tests.helpers.sandboxes import Kind
from tests.server import ScriptedServer, call, calls, text

PLANT = "mkdir -p .vscode; echo 'planted on open' > .vscode/tasks.json; echo data > data.csv"
SANDBOXES = pytest.mark.sandboxes("bubblewrap")


async def answer(agent: ScriptedAgent, outcome: Any, words: str) -> Any:
    [question] = outcome.questions
    value: Command[Any] = Command(resume={question.id: words})
    return await agent.invoke(value, interactive=True)


@SANDBOXES
@pytest.mark.parametrize(("words", "stays"), [("yes", True), ("no", False)])
async def test_a_person_is_asked_once_with_the_content(
    agent: ScriptedAgent, sandbox_kind: Kind, words: str, stays: bool
) -> None:
    agent.graph = build_agent("manus", checkpointer=agent.saver)
    later = call("bash", command="echo more >> data.csv")
    agent.server.script(calls(call("bash", command=PLANT)), calls(later), text("Done."))
    outcome = await agent.run(request="Write a table.", interactive=True)
    assert outcome.stop_reason == "interrupted"
    text_of_question = str(outcome.questions[0].value["question"])
    assert ".vscode/tasks.json\n  │ planted on open\n" in text_of_question
    assert not (agent.workspace / ".vscode" / "tasks.json").exists()
    unclear = await answer(agent, outcome, "perhaps later")
    assert unclear.stop_reason == "interrupted", "what is neither a yes nor a no asks again"
    ended = await answer(agent, unclear, words)
    assert ended.stop_reason == "answered", "it is asked about once"
    assert (agent.workspace / ".vscode" / "tasks.json").exists() == stays
    assert (agent.workspace / "data.csv").read_text() == "data\nmore\n"
    held = list_held(Workspace(agent.workspace).records)
    assert list(held) == ([] if stays else [".vscode/tasks.json"])


@SANDBOXES
def test_an_unattended_run_holds_it_and_a_command_brings_it_back(
    manus: Program, server: ScriptedServer, sandbox_kind: Kind
) -> None:
    server.script(calls(call("bash", command=PLANT))).always(text("Done."))
    result = manus("run", "Write a table.")
    assert result.code == 0, result.err
    assert not (manus.workspace / ".vscode" / "tasks.json").exists()
    listing = manus("held").err + manus("held").out
    assert ".vscode/tasks.json" in listing
    assert manus("held", "nothing").code == 2
    assert manus("held", ".vscode/tasks.json").code == 0
    assert (manus.workspace / ".vscode" / "tasks.json").read_text() == "planted on open\n"
    server.script(calls(call("bash", command="echo 1"))).always(text("Done."))
    assert manus("run", "Go on.").code == 0
    assert (manus.workspace / ".vscode" / "tasks.json").exists(), "it is not looked at again"
    assert ".vscode/tasks.json" not in manus("held").err + manus("held").out
