"""The user is asked once per run before programs change their repository."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph.types import Command

from tests.helpers.agent import ScriptedAgent
from tests.mcp.conftest import ASKING
from tests.server import call, text

pytestmark = pytest.mark.sandboxes("bubblewrap")

COMMIT = "git commit -q --allow-empty -m {}"
DONE = text("Done.")


def bash(command: str, *, writes_git: bool = False) -> Any:
    return call("bash", command=command, writes_git=writes_git)


def commit(message: str) -> Any:
    return bash(COMMIT.format(message), writes_git=True)


@pytest.fixture
async def agent(agent: ScriptedAgent) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent in a repository, with the shell and Python."""
    git(agent, "init", "-q", "-b", "main")
    git(agent, "config", "user.name", "U")
    git(agent, "config", "user.email", "u@x.example")
    git(agent, "commit", "-q", "--allow-empty", "-m", "First")
    profile = replace(ASKING, tools=("bash", "python_execute"))
    scripted_agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    yield scripted_agent
    await scripted_agent.graph.close_waiting()


def git(agent: ScriptedAgent, *words: str) -> str:
    process = subprocess.run(
        ["git", "-C", str(agent.workspace), *words], capture_output=True, text=True, check=True
    )
    return process.stdout


def log(agent: ScriptedAgent) -> list[str]:
    """Return the subjects of the commits, newest first."""
    return git(agent, "log", "--format=%s").split()


async def test_one_approval_applies_to_the_run(agent: ScriptedAgent) -> None:
    waiting = await agent.run(bash("git status; git branch"), commit("A"))
    assert waiting.stop_reason == "interrupted"
    [question] = waiting.questions
    assert "it changes your git repository" in question.value["question"]
    assert "changes to git repositories until the run ends" in question.value["question"]
    assert log(agent) == ["First"]
    outcome = await agent.invoke(
        Command(resume="yes"), commit("B"), bash("git tag v1", writes_git=True), DONE
    )
    assert outcome.stop_reason == "answered"
    assert log(agent) == ["B", "A", "First"]
    assert git(agent, "tag") == "v1\n"


async def test_the_next_run_asks_again(agent: ScriptedAgent) -> None:
    await agent.run(commit("A"))
    await agent.invoke(Command(resume="yes"), DONE)
    waiting = await agent.run(commit("B"))
    assert waiting.stop_reason == "interrupted"
    assert log(agent) == ["A", "First"]


async def test_a_no_changes_nothing(agent: ScriptedAgent) -> None:
    await agent.run(commit("A"))
    outcome = await agent.invoke(Command(resume="no: not yet"), DONE)
    assert outcome.stop_reason == "answered"
    assert "not yet" in (await agent.observations())[-1]
    assert log(agent) == ["First"]


REQUESTS = ("Fix it and commit it.", "Create a chart of commits per branch.", "修好后提交")


@pytest.mark.parametrize("request_text", REQUESTS)
async def test_a_request_is_not_a_permission(agent: ScriptedAgent, request_text: str) -> None:
    waiting = await agent.run(commit("A"), request=request_text)
    assert waiting.stop_reason == "interrupted"
    assert log(agent) == ["First"]


async def test_a_flag_is_a_permission(agent: ScriptedAgent) -> None:
    outcome = await agent.run(commit("A"), DONE, allow=("git",))
    assert outcome.stop_reason == "answered"
    assert log(agent) == ["A", "First"]


async def test_read_only_commands_need_no_question(agent: ScriptedAgent) -> None:
    script = "git status && git diff && git log -1 && git branch -a && git config user.name"
    outcome = await agent.run(bash(script), DONE)
    assert outcome.stop_reason == "answered"


async def test_a_program_that_may_not_is_refused_by_the_kernel(agent: ScriptedAgent) -> None:
    code = "import subprocess\nsubprocess.run(['git', 'tag', 'v1'])"
    outcome = await agent.run(call("python_execute", code=code), bash("g=git; $g tag v2"), DONE)
    assert outcome.stop_reason == "answered"
    assert git(agent, "tag") == ""


SETTINGS = {
    "covered by the approval of git": {"branch.main.remote": "origin"},
    "of a new remote": {"remote.o.url": "https://o.example/a"},
    "a program": {"core.fsmonitor": "./x"},
    "a helper": {"remote.o.url": "ext::./x"},
}


@pytest.mark.parametrize("name", SETTINGS)
async def test_settings_are_asked_about_with_their_lines(agent: ScriptedAgent, name: str) -> None:
    settings = SETTINGS[name]
    await agent.run(commit("A"))
    is_asked = name in ("a program", "a helper")
    replies: list[Any] = [call("bash", git_config=settings), *([] if is_asked else [DONE])]
    after = await agent.invoke(Command(resume="yes"), *replies)
    [(key, value)] = settings.items()
    if is_asked:
        [question] = after.questions
        assert f"it sets {key}={value}" in question.value["question"]
        after = await agent.invoke(Command(resume="no"), DONE)
        value = ""
    assert after.stop_reason == "answered"
    listing = git(agent, "config", "--local", "--list")
    assert (f"{key}={value}" in listing) is bool(value)


async def test_a_run_without_a_person_refuses_and_lists_it(agent: ScriptedAgent) -> None:
    hidden = bash("g=git; $g tag v2", writes_git=True)
    outcome = await agent.run(commit("A"), hidden, DONE, approve="refuse")
    assert outcome.stop_reason == "answered"
    assert log(agent) == ["First"]
    assert git(agent, "tag") == ""
    reasons = [entry["reason"] for entry in outcome.as_json()["refused"]]
    assert reasons == ["it changes your git repository"] * 2


async def test_yolo_asks_nothing(agent: ScriptedAgent) -> None:
    outcome = await agent.run(commit("A"), DONE, approve="yolo")
    assert outcome.stop_reason == "answered"
    assert log(agent) == ["A", "First"]


async def test_ask_asks_once_for_both(agent: ScriptedAgent) -> None:
    waiting = await agent.run(commit("A"), approve="ask")
    [question] = waiting.questions
    assert "it may change something and it changes your git" in question.value["question"]
    outcome = await agent.invoke(Command(resume="yes"), DONE, approve="ask")
    assert outcome.stop_reason == "answered"
    assert log(agent) == ["A", "First"]


@pytest.mark.parametrize(
    ("lines", "subjects"),
    [
        ('allow = ["git"]', ["A", "First"]),
        ('allow = ["bash(git commit *)"]', ["A", "First"]),
        ('deny = ["git"]', ["First"]),
    ],
)
async def test_rules(agent: ScriptedAgent, lines: str, subjects: list[str]) -> None:
    (agent.workspace.parent / "manus.toml").write_text(f"[approve]\n{lines}\n")
    outcome = await agent.run(commit("A"), DONE)
    assert outcome.stop_reason == "answered"
    assert log(agent) == subjects


async def test_a_repository_of_the_run_needs_no_question(agent: ScriptedAgent) -> None:
    script = (
        "git init -q new && cd new && git config user.name N && git config user.email n@x.example"
        " && git commit -q --allow-empty -m One && git log --format=%s"
    )
    agent.workspace.joinpath(".git").rename(agent.workspace.parent / "away")
    outcome = await agent.run(bash(script), DONE)
    assert outcome.stop_reason == "answered"
    assert (await agent.observations())[-1].startswith("One")
