"""The journal in other people's agents: a process is killed, and another one resumes the run."""

import importlib.util
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from manus.middleware import EffectJournal
from manus.state.errors import StorageError, UsageError
from tests.helpers.child import Process, fork_call, killed_when, wait_until
from tests.middleware.agents import CONFIG, Call, Setup, observations
from tests.threads.postgres_server import PostgresServer, binaries

START = {"messages": [("user", "Go.")]}
needs_postgres = pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed")


def call(name: str, line: str) -> Call:
    return name, {"question" if name == "ask" else "line": line}


def run(setup: Setup, start: Any) -> None:
    setup.run(start)


def wait_for_end(child: Process) -> None:
    child.join(60)
    assert child.exitcode == -signal.SIGKILL


@pytest.fixture(params=["create_agent", "deepagents"])
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "deepagents" and importlib.util.find_spec(name) is None:
        pytest.skip("deepagents is not installed: see requirements/peers.txt")
    return name


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("has_journal", [False, True])
def test_killed_in_a_tool(tmp_path: Path, library: str, is_async: bool, has_journal: bool) -> None:
    plan = [[call("append", "1")], [call("hold", "2")], [call("append", "3")]]
    setup = Setup(tmp_path, plan, library, is_async=is_async, has_journal=has_journal)
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["1", "2"])
    (tmp_path / "release").touch()
    state = setup.run(None)
    if has_journal:
        assert setup.effects() == ["1", "2", "3"]
        assert "not executed again" in observations(state)[1]
    else:
        assert setup.effects() == ["1", "2", "2", "3"], "the journal makes the difference"
    assert state["messages"][-1].content == "Done."


@pytest.mark.parametrize(("name", "answer"), [("append", "Appended 2."), ("note", "Noted.")])
def test_killed_after_a_tool(tmp_path: Path, name: str, answer: str) -> None:
    """The result is taken from the journal, including the rest of what the tool returned."""
    setup = Setup(tmp_path, [[call(name, "2")]])
    with fork_call(run, replace(setup, kills_at=(name, "after")), START) as child:
        wait_for_end(child)
    state = setup.run(None)
    assert setup.effects() == ["2"]
    assert observations(state) == [answer]
    assert any(m.content == "A note." for m in state["messages"]) is (name == "note")


def test_a_read_only_tool_is_repeated(tmp_path: Path) -> None:
    setup = Setup(tmp_path, [[call("append", "1")]], read_only=("append",))
    with fork_call(run, replace(setup, kills_at=("append", "after")), START) as child:
        wait_for_end(child)
    assert observations(setup.run(None)) == ["Appended 1."]
    assert setup.effects() == ["1", "1"]


def test_a_tool_that_raised_is_called_again(tmp_path: Path) -> None:
    setup = Setup(tmp_path, [[call("fail", "1")]])
    with pytest.raises(RuntimeError, match="It failed"):
        setup.run(START)
    (tmp_path / "release").touch()
    assert observations(setup.run(None)) == ["It worked."]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_asks_a_person(tmp_path: Path, is_async: bool) -> None:
    setup = Setup(tmp_path, [[call("ask", "Why?")]], is_async=is_async)
    assert setup.run(START)["__interrupt__"][0].value == "Why?"
    assert observations(setup.run(Command(resume="so"))) == ["They said so."]
    assert setup.effects() == ["so"]


def test_checkpoints_that_were_lost(tmp_path: Path) -> None:
    """The same calls are answered from the journal; the first different one is refused."""
    plan = [[call("append", "1")], [call("append", "2")], [call("hold", "3")]]
    setup = Setup(tmp_path, plan, durability="exit")
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["1", "2", "3"])
    other = [[call("append", "1")], [call("append", "9")], [call("append", "9")]]
    state = replace(setup, plan=other).run(START)
    first, second, third = observations(state)
    assert first == "Appended 1."
    assert "may repeat what has taken effect" in second
    assert third == "Appended 9."
    assert setup.effects() == ["1", "2", "3", "9"]


@pytest.mark.parametrize("is_async", [False, True])
def test_checkpoints_that_were_lost_with_ids_that_repeat(
    tmp_path: Path, library: str, is_async: bool
) -> None:
    """A record belongs to its message: `call_0` of another one neither hides nor answers it."""
    first = [[call("append", "0")], [call("append", "1"), call("append", "1")]]
    setup = Setup(tmp_path, first, library, is_async=is_async, numbers_calls=True)
    setup.run(START)
    plan = [*first, [], [call("append", "1")], [call("append", "2")], [call("hold", "3")]]
    setup = replace(setup, plan=plan, durability="exit")
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["0", "1", "1", "1", "2", "3"])
    state = setup.run(START)
    assert setup.effects() == ["0", "1", "1", "1", "2", "3"]
    assert observations(state)[3:5] == ["Appended 1.", "Appended 2."]
    assert "not executed again" in observations(state)[5]


def test_a_lost_call_beside_another_one(tmp_path: Path) -> None:
    """A lost call that the same message repeats is answered, whichever of its calls is first."""
    setup = Setup(tmp_path, [[call("append", "1")], [call("hold", "2")]], durability="exit")
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["1", "2"])
    other = [[call("append", "9"), call("append", "1"), call("append", "1")]]
    state = replace(setup, plan=other, numbers_calls=True).run(START)
    assert len([text for text in observations(state) if "(hold)" in text]) == 1
    executed = setup.effects()[2:]  # two calls of the message, of which one is answered
    assert executed in (["1"], ["9"])
    assert [text for text in observations(state) if text.startswith("Appended")] in (
        ["Appended 1.", "Appended 1."],
        ["Appended 9.", "Appended 1."],
    )


def test_killed_again_while_lost_calls_are_answered(tmp_path: Path) -> None:
    plan = [[call("append", "1")], [call("append", "2")], [call("hold", "3")]]
    setup = Setup(tmp_path, plan, durability="exit")
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["1", "2", "3"])
    again = replace(setup, durability="sync")
    with fork_call(run, replace(again, kills_at=("append", "after")), START) as child:
        wait_for_end(child)
    state = again.run(None)
    assert setup.effects() == ["1", "2", "3"]
    assert observations(state)[:2] == ["Appended 1.", "Appended 2."]
    assert "not executed again" in observations(state)[2]


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_killed_in_a_subagent(tmp_path: Path, library: str, durability: str) -> None:
    """The outer call is repeated; the calls of the inner agent are answered from the journal."""
    task = {"description": "Work.", "subagent_type": "worker"}
    plan = [[("task", task)], [call("append", "4")]]
    subtask = [[call("append", "1")], [call("hold", "2")], [call("append", "3")]]
    setup = Setup(tmp_path, plan, library, subtask=subtask, numbers_calls=True)
    setup = replace(setup, durability=durability, is_async=durability == "exit")
    with fork_call(run, setup, START) as child:
        killed_when(child, lambda: setup.effects() == ["1", "2"])
    (tmp_path / "release").touch()
    state = setup.run(START if durability == "exit" else None)
    assert setup.effects() == ["1", "2", "3", "4"]
    assert observations(state) == ["Done.", "Appended 4."]


def fork(agent: Any, kind: str) -> tuple[Any, Any]:
    """Return the input and configuration that continue from before the second call."""
    history = agent.get_state_history(CONFIG)
    old = next(state.config for state in history if len(state.values["messages"]) == 4)
    if kind == "input":
        return START, old
    if kind == "replay":
        return None, old
    changed = agent.update_state(old, {"messages": []})
    return None, CONFIG if kind == "newest" else changed


@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_fork_executes_its_calls(
    tmp_path: Path, subtests: pytest.Subtests, durability: str, is_new: bool
) -> None:
    """Also with a new journal, as in a new process, that has never seen the thread."""
    for kind in ("replay", "changed", "newest", "input"):
        (tmp_path / kind).mkdir()
        plan = [[call("append", str(number))] for number in (1, 2, 3)]
        setup = Setup(tmp_path / kind, plan, durability=durability, numbers_calls=True)
        with subtests.test(kind), SqliteSaver.from_conn_string(setup.database) as saver:
            agent = setup.build(saver)
            for start in (START, None, None, None):
                agent.invoke(start, CONFIG, durability=durability, interrupt_before=["tools"])
            agent = setup.build(saver) if is_new else agent
            start, config = fork(agent, kind)
            state = agent.invoke(start, config, durability=durability)
            again = ["3"] if kind == "input" else ["2", "3"]
            assert setup.effects() == ["1", "2", "3", *again]
            assert observations(state)[-1] == "Appended 3."
            assert "not executed" not in "".join(observations(state))


def test_two_processes_that_resume_at_once(tmp_path: Path) -> None:
    setup = Setup(tmp_path, [[call("append", "1")]])
    with fork_call(run, replace(setup, kills_at=("append", "before")), START) as child:
        wait_for_end(child)
    assert setup.effects() == []
    with fork_call(run, setup, None) as first, fork_call(run, setup, None) as second:
        first.join(60)
        second.join(60)
    assert setup.effects() == ["1"]


def test_a_process_that_is_late_repeats_nothing(tmp_path: Path) -> None:
    """The store has the result by then; as another process goes on, this is no replay."""
    setup = Setup(tmp_path, [[call("append", "1")]])
    with fork_call(run, replace(setup, kills_at=("append", "before")), START) as child:
        wait_for_end(child)
    with fork_call(run, replace(setup, waits=True), None) as late:
        wait_until(late, (tmp_path / "began").exists)
        setup.run(None)
        (tmp_path / "release").touch()
        late.join(60)
    assert setup.effects() == ["1"]


@pytest.mark.slow
@needs_postgres
def test_in_a_postgres_database(tmp_path: Path, postgres: PostgresServer) -> None:
    """The journal is stored with the checkpoints; a worker that comes back records nothing."""
    url = postgres.new_database()
    setup = Setup(tmp_path, [[call("hold", "1")], [call("append", "2")]], url=url)
    with fork_call(run, setup, START) as child:
        while setup.effects() != ["1"]:
            assert child.is_alive()
            child.join(0.01)
        state = setup.run(None)
        assert "not executed again" in observations(state)[0]
        with psycopg.connect(url) as connection:
            query = "SELECT line FROM manus_journal ORDER BY position"
            before = connection.execute(query).fetchall()
            (tmp_path / "release").touch()
            child.join(60)
            assert child.exitcode == 1
            assert connection.execute(query).fetchall() == before
    assert setup.effects() == ["1", "2"]


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    setup = Setup(tmp_path, [[call("append", "1")]])
    (tmp_path / "threads.sqlite.journal").write_text("in its place")
    with pytest.raises(StorageError, match="cannot be written"):
        setup.run(START)
    assert setup.effects() == []


def test_a_checkpointer_without_a_location_for_records() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    with pytest.raises(UsageError, match="give the path of its SQLite file"):
        EffectJournal(InMemorySaver())


def test_without_a_checkpointer_nothing_is_recorded(tmp_path: Path) -> None:
    setup = Setup(tmp_path, [[call("append", "1")]])
    agent = setup.build(None)
    assert observations(agent.invoke(START)) == ["Appended 1."]
    assert not (tmp_path / "threads.sqlite.journal").exists()
