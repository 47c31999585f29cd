"""`manus threads`: sizes, and threads that are deleted, pruned, compacted or damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from manus.threads.snapshots.objects import SnapshotStore
from manus.workspace.workspace import Workspace
from tests.cli.program import Program, wait_for_file
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.long_run import SUMMARIZER
from tests.server import ScriptedServer, call, calls, mentions, text
from tests.threads.postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, manus: Program) -> Program:
    """Provide the program with each kind of store."""
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        manus.environment["MANUS_CHECKPOINT"] = postgres.new_database()
    return manus


def ids(program: Program) -> list[str]:
    return [thread["thread_id"] for thread in program("threads", "--json").json]


def records(program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(program.home / ".local" / "state"))
    return Workspace(program.workspace).records


def execute(program: Program, statement: str, *values: str) -> list[tuple[object, ...]]:
    """Execute a statement in the store, with `?` for values."""
    if url := program.environment.get("MANUS_CHECKPOINT"):
        with psycopg.connect(url) as connection:
            cursor = connection.execute(statement.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []
    with closing(sqlite3.connect(program.database)) as database, database:
        return database.execute(statement, values).fetchall()


def write_work(server: ScriptedServer) -> None:
    """Script a run that leaves something in every place."""
    big = "yes 'A wall, a door, a window.' | head -n 3000"
    server.when(mentions(SUMMARIZER)).always(text("## Done\n- Looked."))
    looks = [call("bash", command=f"echo {n} >> looks.txt; {big}") for n in range(12)]
    server.script(*looks, text("I have looked."))


def test_everything_of_a_thread_is_deleted_with_it(
    stored: Program, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = records(stored, monkeypatch)
    write_work(server)
    stored.environment["MANUS_CONTEXT_WINDOW"] = "12000"
    assert stored("run", "--thread", "t", "Look").code == 0
    del stored.environment["MANUS_CONTEXT_WINDOW"]
    server.script(call("bash", command="echo kept > kept.txt"), text("Done."))
    assert stored("run", "--thread", "other", "Write").code == 0
    outputs = stored.workspace / ".manus" / "observations"
    assert len([*outputs.iterdir()]) > 0
    assert len([*(folder / "archive").iterdir()]) > 0
    snapshots = SnapshotStore.open(folder / "snapshots")
    assert snapshots is not None
    sizes = {row["thread_id"]: row["bytes"] for row in stored("threads", "--json").json}
    assert sizes["t"] > sizes["other"] > 1_000
    assert stored("threads", "--delete", "t").code == 0
    assert ids(stored) == ["other"]
    assert [*outputs.iterdir()] == []
    assert [*(folder / "archive").iterdir()] == []
    assert len([*(snapshots.folder / "refs" / "threads").iterdir()]) <= 1
    assert snapshots._run("rev-list", "--all", "--count") == b"2\n"
    if "MANUS_CHECKPOINT" in stored.environment:
        names = ["checkpoints", "checkpoint_writes", "checkpoint_blobs", "manus_journal"]
    else:
        names = ["checkpoints", "writes"]
        journals = stored.database.with_name("threads.sqlite.journal")
        assert [path.name[:5] for path in journals.iterdir()] == ["other"]
    counts = [execute(stored, f"SELECT 1 FROM {name} WHERE thread_id = 't'") for name in names]
    assert counts == [[]] * len(names)
    assert (stored.workspace / "looks.txt").exists()


def test_an_output_that_two_threads_share_stays(manus: Program, server: ScriptedServer) -> None:
    big = call("bash", command="yes 'A wall, a door, a window.' | head -n 3000")
    server.script(big, text("One."), big, text("Two."))
    manus("run", "--thread", "one", "Look")
    manus("run", "--thread", "two", "Look")
    outputs = manus.workspace / ".manus" / "observations"
    [shared] = outputs.iterdir()
    manus("threads", "--delete", "one")
    assert [*outputs.iterdir()] == [shared]
    manus("threads", "--delete", "two")
    assert [*outputs.iterdir()] == []


def test_a_thread_in_use_is_not_deleted(stored: Program, server: ScriptedServer) -> None:
    wait = "touch begun; until [ -e release ]; do sleep 0.05; done"
    server.script(call("bash", command=f"echo x > begun; {wait}"), text("Done."))
    with stored.start("run", "--thread", "t", "Wait") as process:
        wait_for_file(stored.workspace / "begun")
        refused = stored("threads", "--delete", "t")
        assert refused.code == 2
        assert "is in use by" in refused.err
        pruned = stored("threads", "--prune", "0m")
        assert "Kept because they are in use: t." in pruned.err
        (stored.workspace / "release").touch()
        process.end()
    assert ids(stored) == ["t"]


def test_old_threads_are_pruned_but_not_open_questions(
    stored: Program, server: ScriptedServer
) -> None:
    server.script(text("One."), call("ask_human", inquire="Which colour?"), text("Two."))
    stored("run", "--thread", "one", "Say one")
    stored("run", "--thread", "asks", "Paint it")
    stored("run", "--thread", "two", "Say two")
    nothing = stored("threads", "--prune", "1d")
    assert (nothing.code, nothing.err) == (0, "Deleted 0 threads.\n")
    trial = stored("threads", "--prune", "0m", "--dry-run")
    assert trial.err.startswith("Would delete 2 threads (")
    assert sorted(ids(stored)) == ["asks", "one", "two"]
    pruned = stored("threads", "--prune", "0m")
    assert pruned.err.startswith("Deleted 2 threads (")
    assert "Kept because they wait for an answer: asks.\n" in pruned.err
    assert ids(stored) == ["asks"]
    assert stored("threads", "--delete", "asks").code == 0
    assert ids(stored) == []


def test_a_compacted_thread_keeps_its_conversation(
    stored: Program, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = records(stored, monkeypatch)
    writes = [call("bash", command=f"echo {n} >> numbers.txt") for n in range(6)]
    server.script(*writes, text("Six numbers."), text("Yes, six."))
    stored("run", "--thread", "t", "Write six numbers")
    stored("run", "--thread", "t", "Is that all?")
    server.script(text("Newer."))
    stored("run", "--thread", "newer", "Say newer")
    listing = stored("show", "t").out
    before = {row["thread_id"]: row["bytes"] for row in stored("threads", "--json").json}
    assert "Would compact 2 threads: newer, t.\n" in stored("threads", "--compact", "--dry-run").err
    compacted = stored("threads", "--compact")
    assert (compacted.code, compacted.err.partition(" (")[0]) == (0, "Compacted 2 threads")
    after = {row["thread_id"]: row["bytes"] for row in stored("threads", "--json").json}
    assert [*after] == [*before] == ["newer", "t"]
    assert after["t"] < before["t"] / 2
    assert execute(stored, "SELECT count(*) FROM checkpoints WHERE thread_id = 't'") == [(1,)]
    assert stored("threads", "--compact").err == "Compacted 0 threads.\n"
    again = stored("show", "t")
    assert again.out == listing, again.err
    assert stored("report", "t", "-o", "r.html").code == 0
    assert "Write six numbers" in (stored.home / "r.html").read_text()
    history = stored("history", "t")
    assert (history.code, "--compact" in history.out) == (0, True)
    assert stored("rewind", "t", "--to", "2").code == 2
    snapshots = SnapshotStore.open(folder / "snapshots")
    assert snapshots is not None
    assert snapshots._run("rev-list", "--all", "--count") == b"1\n"
    server.script(call("bash", command="echo more >> numbers.txt"), text("Seven."))
    assert stored("run", "--thread", "t", "--json", "One more").json["output"] == "Seven."
    assert "Write six numbers" in server.requests[-1].text
    assert stored("show", "t").out.count("user: ") == 3
    assert "numbers.txt" in stored("history", "t").out
    assert stored("rewind", "t", "--to", "0").code == 0
    assert "more" not in (stored.workspace / "numbers.txt").read_text()


def test_a_compacted_flow_keeps_its_plan(stored: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("alpha", "beta"))
    server.when(is_step("alpha"), call("bash", command="echo 42"), succeeds("It is 42."))
    server.when(is_step("beta"), succeeds("Beta done."))
    server.when(is_summary, text("All is done."))
    stored("flow", "--thread", "t", "Do both")
    assert stored("threads", "--compact").err.startswith("Compacted 1 thread (")
    listing = stored("show", "t").out
    assert "0. [✓] alpha\n1. [✓] beta" in listing
    assert "All is done." in listing
    server.begin()
    server.when(is_planner, makes("gamma"))
    server.when(is_step("gamma"), succeeds("Gamma."))
    server.when(is_summary, text("Gamma is done."))
    assert stored("flow", "--thread", "t", "--json", "More").json["output"] == "Gamma is done."


def test_unfinished_threads_are_not_compacted(stored: Program, server: ScriptedServer) -> None:
    server.script(call("ask_human", inquire="Which colour?"))
    stored("run", "--thread", "asks", "Paint it")
    result = stored("threads", "--compact")
    assert result.err == "Compacted 0 threads.\nKept because they wait for an answer: asks.\n"
    server.script(text("Blue."))
    assert stored("resume", "asks", "--answer", "blue", "--json").json["output"] == "Blue."


def test_a_damaged_thread_is_listed_and_removed(stored: Program, server: ScriptedServer) -> None:
    terminate = calls(call("terminate", status="success"), text="One.")
    server.script(terminate, text("Two."))
    stored("run", "--thread", "bad", "Say one")
    stored("run", "--thread", "good", "Say two")
    if "MANUS_CHECKPOINT" in stored.environment:
        execute(stored, "UPDATE checkpoint_blobs SET blob = '\\xff' WHERE thread_id = 'bad'")
    else:
        execute(stored, "UPDATE checkpoints SET checkpoint = x'ff' WHERE thread_id = 'bad'")
    listed = stored("threads", "--json")
    assert {row["thread_id"]: row["status"] for row in listed.json} == {
        "bad": "damaged",
        "good": "finished",
    }
    assert "The thread bad is damaged: `manus threads --delete` removes it." in " ".join(
        listed.err.split()
    )
    assert listed.json[1]["workspace"] == str(stored.workspace)
    listing = stored("show", "bad")
    assert (listing.code, listing.err.count("Traceback")) == (1, 0)
    assert "Kept because they cannot be read" in stored("threads", "--prune", "0m").err
    assert stored("threads", "--delete", "bad").code == 0
    assert ids(stored) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--prune", "soon"),
        ("--prune", "30"),
        ("--prune", "-1d"),
        ("--prune", "999999w"),
        ("--prune", "1d", "--compact"),
        ("--dry-run",),
        ("--delete", "missing"),
    ],
)
def test_bad_input(manus: Program, arguments: tuple[str, ...]) -> None:
    result = manus("threads", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("manus: ")
    assert "Traceback" not in result.err
