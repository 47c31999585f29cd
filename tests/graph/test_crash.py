"""A process killed at any point: the run continues, nothing is lost and nothing is done twice.

A child is killed; this process, which shares none of its memory, continues from the files.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from manus.nodes.turns import is_summary
from manus.prompts import compaction as prompts
from manus.threads.archive import Archive
from manus.threads.records.seal import Seal
from manus.workspace.workspace import Workspace
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.child import REQUEST, killed_when, start_run
from tests.server import call, calls, hang, mentions, text


def read_journal(agent: ScriptedAgent) -> str:
    """Return the journal of the thread."""
    return "".join(path.read_text() for path in agent.journals.glob("*.jsonl"))


def read_key(agent: ScriptedAgent) -> bytes:
    """Return the key of the journals, which is in the file of the threads."""
    with closing(sqlite3.connect(agent.journals.with_suffix(""))) as database:
        [key] = database.execute("SELECT value FROM record_keys").fetchone()
    assert isinstance(key, bytes)
    return key


def run_until_killed(
    agent: ScriptedAgent, ready: Callable[[], bool], inputs: Any = REQUEST, **settings: Any
) -> None:
    """Kill a process that works on the request once a condition is true."""
    with start_run(agent, inputs, **settings) as child:
        killed_when(child, ready)


WRITE = call("append", path="a", line="1")
IN_A_TOOL = call("hold", path="held", line="1")
SIDE_BY_SIDE = calls(WRITE, IN_A_TOOL, call("append", path="b", line="1"))


@pytest.mark.parametrize("request_", [None, "Do something else."])
async def test_between_two_parallel_calls(agent: ScriptedAgent, request_: str | None) -> None:
    agent.server.script(SIDE_BY_SIDE, text("Gone on."))
    run_until_killed(
        agent, lambda: read_journal(agent).count('"done"') == 2 and agent.lines("held") == ["1"]
    )
    outcome = await (agent.run(request=request_) if request_ else agent.invoke(None))
    assert outcome.output == "Gone on."
    assert [agent.lines(name) for name in ("a", "held", "b")] == [["1"]] * 3
    first, second, third = await agent.observations()
    assert (first, third) == ("Appended to a.", "Appended to b.")
    assert ("unknown" if request_ else "not executed again") in second
    assert outcome.usage["tool_calls"] == (0 if request_ else 3)
    assert outcome.usage["model_calls"] == (1 if request_ else 2), "another request, another run"
    assert_paired(await agent.messages())


def _keep_first_effect(journal: Path, key: bytes) -> None:
    """Make the store older than the journal's trail: another call ended last."""
    lines = journal.read_bytes().splitlines(keepends=True)
    done_line = next(line for line in lines if b'"done"' in line)
    other = {**json.loads(done_line), "key": "another call, of which the store knows nothing"}
    journal.write_bytes(lines[0] + done_line + Seal(key, journal.stem).seal(other))


def _forge(journal: Path, key: bytes) -> None:
    """Replace the claim of the call in progress with a result, sealed with another key."""
    lines = journal.read_bytes().splitlines(keepends=True)
    [claim] = [line for line in lines if b'"hold"' in line]
    message = {"content": "Forged.", "tool_call_id": "1", "name": "hold"}
    forged = {"key": json.loads(claim)["key"], "state": "done", "message": message}
    lines[lines.index(claim)] = Seal(b"guessed", journal.stem).seal(forged)
    journal.write_bytes(b"".join(lines))


def _lose_its_end(journal: Path, key: bytes) -> None:
    """Remove whole lines, including those of the call in progress."""
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])


@pytest.mark.parametrize("harm", [_keep_first_effect, _lose_its_end, _forge])
async def test_in_a_tool_with_an_inconsistent_journal(
    agent: ScriptedAgent, harm: Callable[[Path, bytes], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever happened to the journal or the store: no call that was in progress runs twice."""
    agent.server.script(WRITE, SIDE_BY_SIDE, text("Gone on."))
    run_until_killed(
        agent, lambda: read_journal(agent).count('"done"') == 3 and agent.lines("held") == ["1"]
    )
    [journal] = agent.journals.glob("*.jsonl")
    harm(journal, read_key(agent))
    outcome = await agent.invoke(None)
    assert outcome.output == "Gone on."
    assert [agent.lines(name) for name in ("a", "held", "b")] == [["1", "1"], ["1"], ["1"]]
    assert "not executed again" in (await agent.observations())[2]
    assert "not repeated" in caplog.text, "the user is informed"
    assert_paired(await agent.messages())


async def test_in_think(agent: ScriptedAgent) -> None:
    agent.server.script(WRITE, hang(), text("Gone on."))
    run_until_killed(agent, lambda: len(agent.server.requests) == 2)
    before = await agent.outcome()
    assert (before.status, before.stop_reason) == ("thinking", None)
    outcome = await agent.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("answered", "Gone on.")
    assert agent.lines("a") == ["1"]
    unanswered, again = agent.server.requests[1:]
    assert unanswered.body == again.body
    assert_paired(await agent.messages())


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="4000")
async def test_in_a_compaction(agent: ScriptedAgent) -> None:
    is_summary_request = mentions(prompts.SUMMARIZER[:40])
    agent.server.when(is_summary_request).script(hang()).always(text("- The wall is red [#2]"))
    for number in range(6):
        (agent.workspace / f"{number}").write_text(f"{number}: a wall, a door, a window\n" * 100)
    reads = [call("read", path=f"{number}") for number in range(6)]
    agent.server.script(*reads, text("Gone on."))
    run_until_killed(agent, lambda: any(map(is_summary_request, agent.server.requests)))
    outcome = await agent.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("answered", "Gone on.")
    values = await agent.values()
    assert_paired(values["messages"])
    [path] = (Workspace(agent.workspace).records / "archive").glob("*.sqlite")
    archive = Archive(path)
    numbers = range(1, values["compaction"]["evicted"] + 1)
    ids = [message.id for number in numbers for message in archive.numbered(number)]
    assert len(ids) == len(set(ids)) == len(numbers), "each one exactly once"
    assert not set(ids) & {m.id for m in values["messages"] if not is_summary(m)}


async def test_a_server_repeats_the_input_of_a_run_on_a_machine_without_its_records(
    agent: ScriptedAgent,
) -> None:
    """A server that lost a worker executes the run again, under the same id."""
    agent.server.script(WRITE, IN_A_TOOL, text("Gone on."))
    run_until_killed(agent, lambda: agent.lines("held") == ["1"], run_id="r1")
    shutil.rmtree(agent.journals)
    outcome = await agent.invoke(REQUEST, run_id="r1")
    assert outcome.output == "Gone on."
    assert (agent.lines("a"), agent.lines("held")) == (["1"], ["1"])
    assert "not executed again" in (await agent.observations())[1]
    history = await agent.messages()
    assert sum(message.type == "human" for message in history) == 1, "one request"
    assert outcome.usage["tool_calls"] == 2, "the usage before the takeover counts"
    assert_paired(history)
    again = await agent.invoke(REQUEST, run_id="r1")
    assert again.output == "Gone on.", "a run that has ended does nothing more"
    other = await agent.invoke(REQUEST, text("Another run."), run_id="r2")
    assert other.output == "Another run."


async def test_a_repeated_answer_does_not_answer_the_next_question(agent: ScriptedAgent) -> None:
    questions = [call("ask_human", inquire=f"Which {name}?") for name in ("colour", "size")]
    await agent.run(*questions)
    answer: Command[Any] = Command(resume="blue")
    waiting = await agent.invoke(answer, run_id="r2")
    assert "Which size?" in waiting.output
    waiting = await agent.invoke(answer, run_id="r2")
    assert "Which size?" in waiting.output
    outcome = await agent.invoke(Command(resume="10"), text("Done."), run_id="r3")
    assert outcome.output == "Done."
    assert await agent.observations() == ["blue", "10"]


async def test_approvals_and_budget_survive_a_repeated_input(agent: ScriptedAgent) -> None:
    limits: dict[str, Any] = {"approve": "ask", "budget": {"tool_calls": 3}}
    agent.server.script(WRITE)
    await agent.invoke(REQUEST, run_id="r1", **limits)
    agent.server.script(call("append", path="a", line="2"), hang())
    answer: Command[Any] = Command(resume="run")
    run_until_killed(
        agent, lambda: len(agent.server.requests) == 3, inputs=answer, run_id="r2", **limits
    )
    agent.server.script(call("append", path="a", line="3"), text("Unreachable."))
    outcome = await agent.invoke(answer, run_id="r2", **limits)
    assert outcome.stop_reason == "budget"
    assert agent.lines("a") == ["1", "2", "3"]


async def test_a_repeated_fork_forks_once(agent: ScriptedAgent) -> None:
    await agent.run(WRITE, text("Done."))
    config = thread_config("t", "r2")
    [*_, first] = [state async for state in agent.graph.aget_state_history(thread_config("t"))]
    config["configurable"]["checkpoint_id"] = first.config["configurable"]["checkpoint_id"]
    agent.server.script(call("append", path="b", line="1"), text("Forked."))
    for _ in range(2):
        await agent.graph.ainvoke(REQUEST, config, context=agent.context())
    assert agent.lines("b") == ["1"]
    assert (await agent.outcome()).output == "Forked."
