"""Stores written by earlier releases: each thread in them opens and continues.

Written by `scripts/write_store.py`. Each contains the same threads: `agent` (two requests),
`question`, `approval`, `compaction`, `killed` (during a call), `flow` and `half-plan` (killed while
the second of three steps was executed).
"""

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scripts.write_store import DUMP
from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.locks import lock_folder
from tests.server import ScriptedServer, call, text
from tests.threads.postgres_server import PostgresServer

STORES = sorted((Path(__file__).parent / "releases").glob("*.tar.xz"))
STATUSES = {
    "agent": "finished",
    "approval": "waiting",
    "compaction": "finished",
    "flow": "finished",
    "half-plan": "unfinished",
    "killed": "unfinished",
    "question": "waiting",
}


def _as_param(path: Path) -> Any:
    """Return a store as a parameter: those in PostgreSQL run only with `--exhaustive`."""
    return pytest.param(path, marks=pytest.mark.exhaustive) if "postgres" in path.name else path


@pytest.fixture(params=map(_as_param, STORES), ids=lambda path: path.name.removesuffix(".tar.xz"))
def old(request: pytest.FixtureRequest, server: ScriptedServer) -> Iterator[Program]:
    """Provide the program in the home folder of an earlier release."""
    version, _, kind = request.param.name.removesuffix(".tar.xz").rpartition("-")
    # checkpoints contain this path; two concurrent test runs must not use it
    home = Path("/tmp") / f"manus-store-{version}"
    with lock_folder(home.parent, "another test run that reads old stores"):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o700)
        with tarfile.open(request.param) as archive:
            # the parameter `filter` is newer than Python 3.11.2
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(home)
        environment = {"MANUS_BASE_URL": server.base_url, "MANUS_MODEL": "scripted"}
        if kind == "postgres":
            environment["MANUS_CHECKPOINT"] = _restore(request, home / DUMP)
        program = Program(home, environment)
        try:
            yield program
        finally:
            program.end_leftovers()
            shutil.rmtree(home)


def _restore(request: pytest.FixtureRequest, dump: Path) -> str:
    postgres: PostgresServer = request.getfixturevalue("postgres")
    url = postgres.new_database()
    lines = [line for line in dump.read_text().splitlines() if not line.startswith("\\")]
    with psycopg.connect(url) as connection:
        connection.execute("\n".join(lines).encode())
    return url


def test_threads_are_listed_and_shown(old: Program, subtests: pytest.Subtests) -> None:
    listed = old("threads", "--json").json
    assert {thread["thread_id"]: thread["status"] for thread in listed} == STATUSES
    for thread in STATUSES:
        for command in (["show"], ["report", "-o", "r.html"], ["history"]):
            with subtests.test(thread=thread, command=command):
                result = old(command[0], thread, *command[1:])
                assert (result.code, result.err.count("Traceback")) == (0, 0), result.err
                if command == ["show"]:
                    assert "user: " in result.out


def test_open_questions_are_answered(old: Program, server: ScriptedServer) -> None:
    server.script(text("Blue it is."))
    assert old("resume", "question", "--answer", "blue", "--json").json["output"] == "Blue it is."
    assert "blue" in server.requests[-1].text
    server.script(text("It is painted."))
    answered = old("resume", "approval", "--answer", "yes", "--json")
    assert answered.json["output"] == "It is painted."
    assert (old.workspace / "paint.txt").read_text() == "painted\n"


def test_a_killed_call_is_not_repeated(old: Program, server: ScriptedServer) -> None:
    server.script(text("It is there."))
    assert old("resume", "killed", "--json").json["output"] == "It is there."
    assert "may have taken effect" in server.requests[-1].text
    assert (old.workspace / "effect.txt").read_text() == "once\n"


def test_half_a_plan_is_continued(old: Program, server: ScriptedServer) -> None:
    server.when(is_step("delta"), succeeds("Delta."))
    server.when(is_step("epsilon"), succeeds("Epsilon."))
    server.when(is_summary, text("All three are done."))
    resumed = old("resume", "half-plan", "--json")
    assert resumed.json["output"] == "All three are done.", resumed.err
    assert (old.workspace / "gamma.txt").read_text() == "1\n"
    assert not [request for request in server.requests if is_planner(request)]


def test_conversations_continue(old: Program, server: ScriptedServer) -> None:
    server.script(text("You asked for two lines."))
    run = old("run", "--thread", "agent", "--json", "What did I ask first?")
    assert run.json["output"] == "You asked for two lines."
    assert server.requests[-1].text.count("It is 42.") == 1
    server.script(call("recall", query="rule"), text("Never guess."))
    run = old("run", "--thread", "compaction", "--json", "What was the rule?")
    assert run.json["output"] == "Never guess."
    assert "never guess" in server.requests[-1].text
    server.when(is_planner, makes("zeta"))
    server.when(is_step("zeta"), succeeds("Zeta."))
    server.when(is_summary, text("Zeta is done."))
    run = old("flow", "--thread", "flow", "--json", "One more")
    assert (run.code, run.json["output"]) == (0, "Zeta is done."), run.err


def test_a_thread_is_rewound_and_forked(old: Program, server: ScriptedServer) -> None:
    assert old("rewind", "agent", "--to", "2").code == 0
    server.script(text("Two steps."))
    assert old("run", "--thread", "agent", "--json", "How many?").json["output"] == "Two steps."
    assert "What is in answer.txt?" not in server.requests[-1].text
    assert old("fork", "compaction", "--at", "3").code == 0
