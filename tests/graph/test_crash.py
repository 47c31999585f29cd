"""A process killed at any point: the run goes on, nothing is lost and nothing is done twice.

A child is killed; this process, which has seen nothing of its memory, goes on from the files.
"""

import json
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from manus.nodes.context.turns import is_summary
from manus.prompts import compaction as prompts
from manus.tools.archive import Archive
from manus.tools.journal import Seal, key_file, own_key
from manus.tools.workspace import Workspace
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.helpers.child import REQUEST, killed_when, started
from tests.server import Request, call, calls, hang, mentions, text


def recorded(agent: ScriptedAgent) -> str:
    """The journal of the thread."""
    folder = Workspace(agent.workspace).records / "journal"
    return "".join(path.read_text() for path in folder.glob("*.jsonl"))


def answers(agent: ScriptedAgent) -> int:
    """How many answers of a person are stored."""
    with closing(sqlite3.connect(agent.workspace.parent / "threads.sqlite")) as store:
        found = store.execute("SELECT COUNT(*) FROM writes WHERE channel = '__resume__'")
        return int(found.fetchone()[0])


def killed(agent: ScriptedAgent, ready: Callable[[], bool], **chosen: Any) -> None:
    """A process that works on the request is killed once something has happened."""
    with started(agent, REQUEST, **chosen) as child:
        killed_when(child, ready)


WRITE = call("append", path="a", line="1")
IN_A_TOOL = call("hold", path="held", line="1")
SIDE_BY_SIDE = calls(WRITE, IN_A_TOOL, call("append", path="b", line="1"))


@pytest.mark.parametrize("request_", [None, "Do something else."])
async def test_between_two_parallel_calls(agent: ScriptedAgent, request_: str | None) -> None:
    agent.server.script(SIDE_BY_SIDE, text("Gone on."))
    killed(agent, lambda: recorded(agent).count('"done"') == 2 and agent.lines("held") == ["1"])
    outcome = await (agent.run(request=request_) if request_ else agent.invoke(None))
    assert outcome.output == "Gone on."
    assert [agent.lines(name) for name in ("a", "held", "b")] == [["1"]] * 3
    first, second, third = await agent.observations()
    assert (first, third) == ("Appended to a.", "Appended to b.")
    assert ("not known" if request_ else "not executed again") in second
    assert outcome.usage["tool_calls"] == (0 if request_ else 3)
    assert outcome.usage["model_calls"] == (1 if request_ else 2), "another request, another run"
    assert_paired(await agent.messages())


def _remove(journal: Path) -> None:
    shutil.rmtree(journal.parents[1])


def _keep_first_effect(journal: Path) -> None:
    """As a store finds it that is older than the journal's trail: another call ended last."""
    lines = journal.read_bytes().splitlines(keepends=True)
    done = next(line for line in lines if b'"done"' in line)
    other = {**json.loads(done), "key": "another call, of which the store knows nothing"}
    journal.write_bytes(lines[0] + done + Seal(own_key(), journal.stem).line(other))


def _forge(journal: Path) -> None:
    """In place of the claim of the call in progress stands an answer, sealed with another key."""
    lines = journal.read_bytes().splitlines(keepends=True)
    [claim] = [line for line in lines if b'"hold"' in line]
    message = {"content": "Forged.", "tool_call_id": "1", "name": "hold"}
    forged = {"key": json.loads(claim)["key"], "state": "done", "message": message}
    lines[lines.index(claim)] = Seal(b"guessed", journal.stem).line(forged)
    journal.write_bytes(b"".join(lines))


def _lose_the_key(journal: Path) -> None:
    key_file().unlink()


def _lose_its_end(journal: Path) -> None:
    """Whole lines are lost, those of the call in progress among them."""
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])


@pytest.mark.parametrize(
    "harm", [_remove, _keep_first_effect, _lose_its_end, _forge, _lose_the_key]
)
async def test_in_a_tool_with_a_record_that_does_not_fit(
    agent: ScriptedAgent, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever befell the journal, or the store: no call that was under way runs twice."""
    agent.server.script(WRITE, SIDE_BY_SIDE, text("Gone on."))
    killed(agent, lambda: recorded(agent).count('"done"') == 3 and agent.lines("held") == ["1"])
    [journal] = (Workspace(agent.workspace).records / "journal").glob("*.jsonl")
    harm(journal)
    outcome = await agent.invoke(None)
    assert outcome.output == "Gone on."
    assert [agent.lines(name) for name in ("a", "held", "b")] == [["1", "1"], ["1"], ["1"]]
    assert "not executed again" in (await agent.observations())[2]
    assert "not repeated" in caplog.text, "the person is told"
    assert_paired(await agent.messages())


async def test_an_answer_on_another_machine_and_a_crash_there(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share store and workspace, but no records: here nothing is known of the call there."""
    outcome = await agent.run(WRITE, IN_A_TOOL, request="Do it.", approve="ask")
    assert outcome.stop_reason == "interrupted"
    outcome = await agent.invoke(Command(resume="yes"), approve="ask")
    assert outcome.stop_reason == "interrupted"
    before = answers(agent)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        elsewhere.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        with started(agent, Command(resume="yes"), approve="ask") as child:
            # the answer is stored while the call begins, and not before it
            killed_when(child, lambda: agent.lines("held") == ["1"] and answers(agent) > before)
    outcome = await agent.invoke(None, text("Gone on."), approve="ask")
    assert (outcome.output, agent.lines("held")) == ("Gone on.", ["1"])
    first, second = await agent.observations()
    assert first == "Appended to a."
    assert "not executed again" in second


async def test_an_answer_and_a_crash_and_a_record_that_is_damaged(agent: ScriptedAgent) -> None:
    await agent.run(IN_A_TOOL, request="Do it.", approve="ask")
    with started(agent, Command(resume="yes"), approve="ask") as child:
        killed_when(child, lambda: agent.lines("held") == ["1"])
    [journal] = (Workspace(agent.workspace).records / "journal").glob("*.jsonl")
    _lose_its_end(journal)
    with journal.open("ab") as file:
        file.write(b"#\n")
    outcome = await agent.invoke(None, text("Gone on."), approve="ask")
    assert (outcome.output, agent.lines("held")) == ("Gone on.", ["1"])
    assert "not executed again" in (await agent.observations())[0]


async def test_a_workspace_with_another_name(agent: ScriptedAgent) -> None:
    agent.server.script(WRITE, IN_A_TOOL, text("Gone on."))
    killed(agent, lambda: agent.lines("held") == ["1"])
    agent.workspace = agent.workspace.rename(agent.workspace.with_name("renamed"))
    outcome = await agent.invoke(None)
    assert (outcome.output, agent.lines("held")) == ("Gone on.", ["1"])
    assert "not executed again" in (await agent.observations())[1]


@pytest.mark.parametrize("request_", [None, "Do something else."])
async def test_in_think(agent: ScriptedAgent, request_: str | None) -> None:
    agent.server.script(WRITE, hang(), text("Gone on."))
    killed(agent, lambda: len(agent.server.requests) == 2)
    before = await agent.outcome()
    assert (before.status, before.stop_reason) == ("thinking", None)
    outcome = await (agent.run(request=request_) if request_ else agent.invoke(None))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Gone on.")
    assert agent.lines("a") == ["1"]
    lost, again = agent.server.requests[1:]
    assert (lost.body == again.body) is (request_ is None)
    assert_paired(await agent.messages())


async def test_in_the_first_think(agent: ScriptedAgent) -> None:
    await agent.run(text("Before."), request="Hello.")
    agent.server.script(hang(), text("Gone on."))
    killed(agent, lambda: len(agent.server.requests) == 2)
    before = await agent.outcome()
    assert (before.status, before.stop_reason) == ("running", None), "not the run before it"
    outcome = await agent.invoke(None)
    assert outcome.output == "Gone on."
    asked = [m.text for m in await agent.messages() if isinstance(m, HumanMessage)]
    assert asked == ["Hello.", "Do it."]


async def test_in_a_compaction(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    asked = mentions(prompts.SUMMARIZER[:40])
    agent.server.when(asked).script(hang()).always(text("- The wall is red [#2]"))
    for number in range(6):
        (agent.workspace / f"{number}").write_text(f"{number}: a wall, a door, a window\n" * 100)
    reads = [call("read", path=f"{number}") for number in range(6)]
    agent.server.script(*reads, text("Gone on."))
    killed(agent, lambda: any(map(asked, agent.server.requests)))
    outcome = await agent.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("answered", "Gone on.")
    values = await agent.values()
    assert_paired(values["messages"])
    [path] = (Workspace(agent.workspace).records / "archive").glob("*.sqlite")
    archive = Archive(path)
    numbers = range(1, values["compaction"]["evicted"] + 1)
    found = [message.id for number in numbers for message in archive.numbered(number)]
    assert len(found) == len(set(found)) == len(numbers), "each of them once, each with its number"
    assert not set(found) & {m.id for m in values["messages"] if not is_summary(m)}


STEPS = 6


def working(request: Request) -> Any:
    """What the model does next, told from the conversation alone: two lines a step."""
    step = sum(m["role"] == "assistant" for m in request.messages)
    if step == STEPS:
        return text("All done.")
    return calls(*(call("append", path=name, line=str(step)) for name in ("a", "b")))


async def test_at_any_moment(agent: ScriptedAgent) -> None:
    """Killed again and again, wherever it happens to be; in the end all is done, once."""
    moments = random.Random(1)
    agent.server.always(working)
    given: Any = REQUEST
    for _ in range(8):
        # requests to wait for, then a little longer
        goal = len(agent.server.requests) + moments.choice([0, 0, 1, 2]) + 1
        with started(agent, given) as child:
            while child.is_alive() and len(agent.server.requests) < goal:
                time.sleep(0.001)
            time.sleep(moments.random() * 0.05)
        if await agent.messages():
            given = None
        if (await agent.outcome()).stop_reason is not None:
            break
    outcome = await agent.outcome()
    if outcome.stop_reason is None:
        outcome = await agent.invoke(given)
    assert outcome.output == "All done."
    history = await agent.messages()
    assert_paired(history)
    assert [m.type for m in history].count("ai") == STEPS + 1
    calls_made = [c for m in history if isinstance(m, AIMessage) for c in m.tool_calls]
    seen = dict(zip((c["id"] for c in calls_made), await agent.observations(), strict=True))
    for made in calls_made:
        path, line = made["args"]["path"], made["args"]["line"]
        times = agent.lines(path).count(line)
        known = seen[made["id"]] == f"Appended to {path}."
        assert times == 1 if known else times <= 1
