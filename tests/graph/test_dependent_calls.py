"""Calls of one message on the same resource: which ones a failure stops, and which ones wait."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph.types import Command

from manus.calls.base import AgentTool
from manus.calls.result import Observation
from manus.calls.session import EVERYTHING, Resource
from manus.graph import build_agent
from manus.state.messages import FAILED
from tests.helpers import tools
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired
from tests.helpers.child import REQUEST, killed_when, start_run
from tests.server import Call, call, calls, text

EDITOR = "str_replace_editor"
NOT_EXECUTED = "Not executed, because an earlier call in the same message failed"


class Stuck(tools.Append):
    """Works on a file and never ends."""

    name: str = "stuck"
    time_limit = 0.05

    async def observe(self, path: str, line: str, **_: Any) -> Observation:
        await asyncio.Event().wait()
        raise AssertionError("never reached")


class Steer(AgentTool):
    """Works on the state of another program, which cannot be inspected."""

    name: str = "steer"
    description: str = "Steer."
    args_schema: type[tools.LineArgs] = tools.LineArgs

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(EVERYTHING), Resource(f"program/{args['path']}")})

    async def observe(self, **_: Any) -> Observation:
        return Observation("Steered.")


def look_up(word: str) -> str:
    """Look up a word."""
    if word == "missing":
        raise LookupError(word)
    return f"{word}: found"


def edit(path: str, old: str = "gone", new: str = "x") -> Call:
    """Return a replacement, which fails if the old text is not in the file."""
    return call(EDITOR, command="str_replace", path=path, old_str=old, new_str=new)


def create(path: str, content: str = "x\n") -> Call:
    return call(EDITOR, command="create", path=path, file_text=content)


def view(path: str) -> Call:
    return call(EDITOR, command="view", path=path)


def bash(command: str, **arguments: Any) -> Call:
    return call("bash", command=command, **arguments)


MARK = bash("echo done > mark")
PROFILE = replace(
    TESTER, tools=(*tools.ALL, EDITOR, "bash", "python_execute", Stuck, Steer, look_up)
)


@pytest.fixture
async def worker(agent: ScriptedAgent) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent with the editor, the shell and the small tools."""
    (agent.workspace / "a.txt").write_text("text\n")
    scripted_agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, PROFILE)
    yield scripted_agent
    await scripted_agent.graph.close_waiting()


def settings(agent: ScriptedAgent, lines: str) -> None:
    (agent.workspace.parent / "manus.toml").write_text(lines)


FAILURES = {
    "an edit that does not fit": edit("a.txt"),
    "invalid arguments": call(EDITOR, command="insert", path="a.txt", insert_line="three"),
    "arguments that are no JSON": call(EDITOR, raw='{"command": "cre'),
    "a refusal": bash("curl --version"),
    "a time limit of the tool": call("stuck", path="a.txt", line="1"),
    "a time limit of the command": bash("sleep 60", timeout=0.1),
    "a time limit of the program": call(
        "python_execute", code="import time; time.sleep(60)", timeout=0.5
    ),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failed_call_stops_dependent_ones(worker: ScriptedAgent, name: str) -> None:
    settings(worker, '[approve]\ndeny = ["bash(curl *)"]\n')
    outcome = await worker.run(calls(FAILURES[name], MARK), text("I see."))
    assert outcome.stop_reason == "answered"
    failed, stopped = await worker.observations()
    assert NOT_EXECUTED in stopped
    assert not failed.startswith("Not executed, because")
    assert not (worker.workspace / "mark").exists()
    assert outcome.usage["tool_calls"] <= 1, "calls that were not executed do not count"
    assert_paired(await worker.messages())


NO_FAILURES = {
    "an exit code of the shell": bash("exit 3"),
    "an exit code of a command": bash("grep nothing a.txt"),
    "an exit code of a program": call("python_execute", code="raise SystemExit(3)"),
    "a file that cannot be read": view("missing.txt"),
    "a file beside": edit("b.txt"),
}


@pytest.mark.parametrize("name", NO_FAILURES)
async def test_outcomes_that_stop_nothing(worker: ScriptedAgent, name: str) -> None:
    await worker.run(calls(NO_FAILURES[name], create("c.txt")), text("I see."))
    assert (await worker.observations())[1].startswith("Created c.txt")


async def test_skipped_calls_are_reported_with_the_cause(worker: ScriptedAgent) -> None:
    after = [view("a.txt"), edit("a.txt", "text", "new"), create("b.txt"), MARK, edit("b.txt", "x")]
    await worker.run(calls(edit("a.txt"), *after), text("I see."))
    failed, content, stopped, beside, shell, last = await worker.observations()
    assert "is not in a.txt" in failed
    assert "text" in content, "reads are always executed"
    assert NOT_EXECUTED in stopped
    assert '`str_replace_editor` with {"command": "str_replace", "path": "a.txt"' in stopped
    assert beside.startswith("Created b.txt")
    assert NOT_EXECUTED in shell, "the shell works on all files"
    assert '"path": "a.txt"' in last, "the cause is the call that failed, not the one it stopped"
    assert (worker.workspace / "a.txt").read_text() == "text\n"
    assert (worker.workspace / "b.txt").read_text() == "x\n"
    marked = [FAILED in m.additional_kwargs for m in (await worker.messages())[2:-1]]
    assert marked == [True, False, True, False, True, True]


async def test_the_next_message_starts_over(worker: ScriptedAgent) -> None:
    await worker.run(calls(edit("a.txt"), MARK), calls(edit("a.txt", "text"), MARK), text("Done."))
    assert worker.lines("a.txt") == ["x"]
    assert worker.lines("mark") == ["done"]


async def test_other_tools_do_not_depend_on_each_other(worker: ScriptedAgent) -> None:
    """As in LangGraph's ToolNode: the resources of a user's function are unknown."""
    words = [call("look_up", word=word) for word in ("missing", "otter")]
    steers = [call("steer", path="p"), call("steer", path="p", line="1")]
    other_calls = [call("steer", path="q", line="1"), MARK]
    await worker.run(calls(*words, *steers, *other_calls), text("Done."))
    missing, result, failed, stopped, *rest = await worker.observations()
    assert "LookupError" in missing
    assert result == "otter: found"
    assert "`line`" in failed
    assert NOT_EXECUTED in stopped
    assert rest[0] == "Steered."
    assert worker.lines("mark") == ["done"]


ENV = create(".env", "KEY=1\n")


@pytest.mark.parametrize("resumed", ["here", "in another process", "on another machine"])
@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_calls_wait_with_one_that_waits_for_a_person(
    worker: ScriptedAgent, answer: str, resumed: str
) -> None:
    command = bash("cat .env a.txt; echo done > mark")
    create_b, beside = create("b.txt"), create("c.txt")
    waiting = await worker.run(calls(create_b, ENV, view(".env"), beside, command, MARK))
    assert waiting.stop_reason == "interrupted"
    assert len(waiting.questions) == 1
    assert worker.lines("b.txt") == worker.lines("c.txt") == ["x"], "unrelated calls are executed"
    assert not (worker.workspace / "mark").exists()
    if resumed != "here":
        await worker.graph.close_waiting()
        if resumed == "on another machine":  # which has no journal of this thread
            shutil.rmtree(worker.journals)
        worker = ScriptedAgent(worker.server, worker.workspace, worker.saver, PROFILE)
    outcome = await worker.invoke(Command(resume=answer), text("Done."))
    assert outcome.stop_reason == "answered"
    _, env, viewed, _, shell, _ = await worker.observations()
    if answer == "yes":
        assert "KEY=1" in viewed
        assert "KEY=1\ntext" in shell
        assert worker.lines("mark") == ["done"]
    else:
        assert "the user declined" in env
        assert "KEY" not in viewed
        assert NOT_EXECUTED in shell
        assert not (worker.workspace / "mark").exists()
    assert_paired(await worker.messages())


async def test_questions_about_one_resource_are_asked_one_after_the_other(
    worker: ScriptedAgent,
) -> None:
    config = {"approve": "ask"}
    lines = [call("append", path="log", line=str(n)) for n in range(3)]
    waiting = await worker.run(calls(*lines, call("look_up", word="otter")), **config)
    assert len(waiting.questions) == 2, "the first one of the file, and the one of the other tool"
    first, other = waiting.questions
    assert "line: 0" in str(first.value)
    still = await worker.invoke(Command(resume={first.id: "yes", other.id: "no"}), **config)
    [second] = still.questions
    assert "line: 1" in str(second.value)
    outcome = await worker.invoke(Command(resume="run"), text("Done."), **config)
    assert outcome.stop_reason == "answered", "`run` holds for the third"
    assert worker.lines("log") == ["0", "1", "2"]


HELD = call("hold", path="held", line="1")


def count_finished(agent: ScriptedAgent) -> int:
    """Return how many calls have ended according to the checkpoints and the journal."""
    return sum(path.read_text().count('"done"') for path in agent.journals.glob("*.jsonl"))


async def test_a_failure_is_remembered_when_the_process_is_killed(agent: ScriptedAgent) -> None:
    """The failed call is not repeated, and calls that depend on it are still not executed."""
    (agent.workspace / "sub").mkdir()
    failing = call("append", path="sub", line="1")
    anywhere = call("append", path="sub/../x", line="1")  # waits for the two before it
    agent.server.script(calls(failing, call("append", path="b", line="1"), HELD, anywhere))
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: agent.lines("held") == ["1"] and count_finished(agent) >= 2)
    (agent.workspace / "release").touch()
    await agent.invoke(None, text("Done."))
    failed, appended, unknown, stopped = await agent.observations()
    assert "IsADirectoryError" in failed
    assert appended == "Appended to b."
    assert "may have taken effect" in unknown
    assert '`append` with {"path": "sub"' in stopped
    assert agent.lines("held") == ["1"]
    assert agent.lines("x") == []
    assert_paired(await agent.messages())


async def test_calls_that_depend_on_a_call_in_doubt_are_not_executed(
    agent: ScriptedAgent,
) -> None:
    agent.server.script(calls(HELD, call("append", path="held", line="2")))
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: agent.lines("held") == ["1"])
    await agent.invoke(None, text("Done."))
    unknown, stopped = await agent.observations()
    assert "may have taken effect" in unknown
    assert NOT_EXECUTED in stopped
    assert agent.lines("held") == ["1"]


@pytest.mark.parametrize(
    ("failing", "is_refused"),
    [
        (call("bash", command="exit 3"), True),
        (edit("missing.txt"), True),
        (call("bash", command="true"), False),
    ],
    ids=["an exit code", "an error", "no error"],
)
async def test_success_is_not_reported_together_with_a_failed_call(
    agent: ScriptedAgent, failing: Call, *, is_refused: bool
) -> None:
    profile = replace(TESTER, tools=(*TESTER.tools, "bash", EDITOR))
    agent.graph = build_agent(profile, checkpointer=agent.saver)
    claim = call("terminate", status="success", answer="All is done.")
    again = call("terminate", status="failure", answer="It does not work.")
    agent.server.script(calls(failing, claim), again)
    agent.server.allow_unused()
    outcome = await agent.run()
    assert outcome.success is not is_refused
    assert outcome.output == ("It does not work." if is_refused else "All is done.")
    observations = await agent.observations()
    assert (NOT_EXECUTED in observations[1]) is is_refused
