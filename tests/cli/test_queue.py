"""`manus run --queue` and `manus worker`: real workers on a real PostgreSQL server.

The model is one scripted server: each run appends ten lines to its own file, then ends.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from manus.config.settings import Settings
from manus.threads.open_store import open_store
from manus.worker.job_queue import QUEUE, JobQueue
from tests.cli.program import Program, Result, wait_until
from tests.flow.helpers import is_planner, is_summary, makes, succeeds
from tests.server import Request, ScriptedServer, call, text
from tests.threads.postgres_server import PostgresServer, binaries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]

STEPS = 10
HELD_UP = (3, 6)
"""Numbers of the calls that wait for a file `goN` after their effect."""
WHOLE = [str(number) for number in range(STEPS)]
CUT_OFF = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def program(manus: Program, url: str) -> Program:
    manus.environment |= {
        "MANUS_CHECKPOINT": url,
        "MANUS_QUEUE_TAKEOVER_AFTER": "2",
        "MANUS_SNAPSHOTS": "0",
    }
    return manus


def work(request: Request) -> Any:
    """Append the next line to the file that the request names, or end."""
    name = re.findall(r"Write (\w+)", request.text)[-1]
    results = sum(message["role"] == "tool" for message in request.messages)
    if results == STEPS:
        return succeeds("Done.")
    wait = f"until [ -e go{results} ]; do sleep 0.05; done" if results in HELD_UP else ""
    return call("bash", command=f"echo {results} >> {name}; {wait}")


def effects(program: Program) -> dict[str, list[str]]:
    files = program.workspace.glob("task*")
    return {file.name: file.read_text().split() for file in files}


def are_held_up(program: Program, runs: int, number: int = HELD_UP[0]) -> Callable[[], bool]:
    """Return whether this many runs are in a call that waits for `release`."""

    def check() -> bool:
        return [*effects(program).values()] == runs * [WHOLE[: number + 1]]

    return check


def release(program: Program, *numbers: int) -> None:
    """Let the calls with these numbers end."""
    program.workspace.mkdir(exist_ok=True)
    for number in numbers or HELD_UP:
        (program.workspace / f"go{number}").touch()


def queue(program: Program, *requests: str) -> list[str]:
    """Queue tasks, one per line; return their threads."""
    queued = program("run", "--queue", "--each-line", stdin="\n".join(requests))
    assert queued.code == 0, queued.err
    return queued.out.split()


def is_empty(url: str) -> bool:
    """Return whether no run is waiting or being executed."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()
    return row == (0,)


def listed(program: Program) -> dict[str, dict[str, Any]]:
    return {thread["thread_id"]: thread for thread in program("threads", "--json").json}


def in_doubt(program: Program, threads: list[str]) -> int:
    """Return how many calls of the threads were reported as possibly executed."""
    listing = [program("show", "--full", thread).out for thread in threads]
    return "".join(listing).count("not executed again")


def test_tasks_are_queued_and_executed(program: Program, server: ScriptedServer) -> None:
    server.always(work)
    release(program)
    threads = queue(program, "Write task1", "Write task2")
    queued = program("run", "--queue", "--json", "--thread", "t", "--max-steps", "2", "Write 任务3")
    assert queued.json == {"thread_id": "t", "status": "queued"}
    cancelled = program("threads", "--cancel", threads[1])
    assert cancelled.err == f"Cancelled the run of the thread {threads[1]}.\n"
    waiting = program("threads")
    assert waiting.err == "Queue: 2 runs waiting, 0 at a worker.\n"
    rows = [line.split()[:3] for line in waiting.out.splitlines()[1:]]
    assert sorted(rows) == sorted([[threads[0], "queued", "0"], ["t", "queued", "0"]])
    result = program("worker", "--until-empty")
    assert result.code == 0, result.err
    assert effects(program) == {"task1": WHOLE}
    assert (program.workspace / "任务3").read_text().split() == WHOLE[:2]
    statuses = {name: thread["status"] for name, thread in listed(program).items()}
    assert statuses == {threads[0]: "finished", "t": "step limit"}
    assert program("threads", "--rename", "t", "The third").code == 0
    assert listed(program)["t"]["request"] == "The third"


def test_the_runs_of_a_killed_worker_are_resumed(
    program: Program, server: ScriptedServer, url: str, free_tcp_port: int
) -> None:
    server.always(work)
    threads = queue(program, *(f"Write task{number}" for number in range(4)))
    options = ("--concurrency", "1", "--metrics", str(free_tcp_port))
    with program.start("worker") as first, program.start("worker", *options) as second:
        wait_until(are_held_up(program, 4), "four runs in a call")
        workers = [thread["worker"].rpartition(":")[2] for thread in listed(program).values()]
        assert {*workers} <= {str(first.pid), str(second.pid)}
        first.send_signal(signal.SIGKILL)
        release(program)
        wait_until(lambda: is_empty(url), "an empty queue")
        metrics = httpx.get(f"http://127.0.0.1:{free_tcp_port}/metrics", trust_env=False).text
        second.send_signal(signal.SIGTERM)
        result = second.end()
    assert result.code == 0, result.err
    resumed = workers.count(str(first.pid))
    assert result.err.count(": resumed") == resumed > 0
    assert {thread["status"] for thread in listed(program).values()} == {"finished"}
    assert effects(program) == {f"task{number}": WHOLE for number in range(4)}
    assert in_doubt(program, threads) == resumed
    assert f"manus_calls_in_doubt_total {resumed:.1f}" in metrics.splitlines()
    labels = f'kind="input",workspace="{program.workspace}"'
    [tokens] = re.findall(rf"manus_tokens_total{{{labels}}} (\S+)", metrics)
    assert float(tokens) > 0


async def test_a_run_that_ends_its_workers_is_given_up(program: Program, url: str) -> None:
    """Four workers take it and are never heard of again; the fifth leaves it alone."""
    [thread] = queue(program, "Write task1")
    async with JobQueue.open(url, 1) as jobs:
        for number in range(4):
            worker = await jobs.jobs.register_worker()
            assert await jobs.jobs.fetch_job([QUEUE], worker) is not None
            assert await jobs.return_stalled(0) == [(thread, number == 3)]
        assert await jobs.jobs.fetch_job([QUEUE], await jobs.jobs.register_worker()) is None
    listing = program("threads")
    assert listing.out.splitlines()[1].split()[:2] == [thread, "failed"]
    assert f"{thread} was given up: 4 workers ended while they executed it" in listing.err


def test_a_worker_that_comes_back_does_nothing_twice(
    program: Program, server: ScriptedServer, url: str
) -> None:
    """It was stopped, its connections were cut, and another worker continued its runs."""
    server.always(work)
    threads = queue(program, "Write task1", "Write task2")
    with program.start("worker") as first:
        wait_until(are_held_up(program, 2), "two runs in a call")
        first.send_signal(signal.SIGSTOP)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(CUT_OFF)
        with program.start("worker") as second:
            wait_until(are_held_up(program, 2, HELD_UP[1]), "two runs in a later call")
            release(program, HELD_UP[0])
            first.send_signal(signal.SIGCONT)
            for thread in threads:
                first.expect(f"{thread}: another worker continues it")
            queue(program, "Write task3")  # the worker is usable again
            wait_until(are_held_up(program, 3, HELD_UP[1]), "a further run in a call")
            release(program, HELD_UP[1])
            wait_until(lambda: is_empty(url), "an empty queue")
            second.send_signal(signal.SIGINT)
            result = second.end()
            assert (result.code, result.err.count(": retry in")) == (130, 0), "it kept its runs"
        first.send_signal(signal.SIGTERM)
        assert first.end().code == 0
    assert {thread["status"] for thread in listed(program).values()} == {"finished"}
    assert effects(program) == {"task1": WHOLE, "task2": WHOLE, "task3": WHOLE}
    assert in_doubt(program, threads) == 2


@pytest.mark.parametrize("command", ["run", "flow"])
def test_a_worker_that_is_terminated_hands_its_run_back(
    program: Program, server: ScriptedServer, command: str
) -> None:
    if command == "flow":
        server.when(is_planner, makes("Write task1"))
        server.when(is_summary, text("All is done."))
    server.always(work)
    thread = program(command, "--queue", "Write task1").out.strip()
    with program.start("worker") as first:
        wait_until(are_held_up(program, 1), "a run in a call")
        first.send_signal(signal.SIGTERM)
        first.expect("Stopping after the current steps")
        release(program)
        result = first.end()
    assert (result.code, f"{thread}: handed back" in result.err) == (0, True)
    assert effects(program)["task1"] == WHOLE[: HELD_UP[0] + 1], "the step is complete"
    assert listed(program)[thread]["status"] == "queued"
    assert program("worker", "--until-empty").code == 0
    assert (effects(program), in_doubt(program, [thread])) == ({"task1": WHOLE}, 0)


async def test_a_busy_thread_is_retried(program: Program, server: ScriptedServer, url: str) -> None:
    server.always(work)
    release(program)
    with program.start("worker") as worker:
        async with open_store(Settings(checkpoint=url)) as store, store.hold("t"):
            program("run", "--queue", "--thread", "t", "Write task1")
            worker.expect("t: retry in 1 s. The thread t is in use by another process")
            assert effects(program) == {}
        wait_until(lambda: is_empty(url), "an empty queue")
        worker.send_signal(signal.SIGTERM)
        assert worker.end().code == 0
    assert effects(program) == {"task1": WHOLE}


def test_a_question_waits_and_a_run_is_cancelled(
    program: Program, server: ScriptedServer, url: str
) -> None:
    """A run that asks is finished for its worker; a cancelled one can be resumed."""
    server.script(call("bash", command="touch asked"))
    program("run", "--queue", "--thread", "t", "--approve", "ask", "Ask me")
    result = program("worker", "--until-empty")
    assert "t: waits for an answer; give it with `manus resume t`" in result.err
    assert listed(program)["t"]["status"] == "waiting"
    server.script(text("Thank you."))
    assert program("resume", "t", "--answer", "yes").code == 0
    assert (program.workspace / "asked").exists()
    server.script(call("bash", command="touch begun; sleep 60"))
    program("run", "--queue", "--thread", "u", "Take your time")
    with program.start("worker") as worker:
        wait_until((program.workspace / "begun").exists, "a call at work")
        program("threads", "--cancel", "u")
        worker.expect("u: stopped on request")
        worker.send_signal(signal.SIGTERM)
        assert worker.end().code == 0
    assert listed(program)["u"]["status"] == "unfinished"


def test_a_worker_serves_metrics(
    program: Program, server: ScriptedServer, free_tcp_port: int
) -> None:
    def shows(*lines: str) -> bool:
        try:
            served = httpx.get(f"http://127.0.0.1:{free_tcp_port}/metrics", trust_env=False).text
        except httpx.ConnectError:
            return False
        return set(lines) <= set(served.splitlines())

    server.always(work)
    queue(program, "Write task1", "Write task2")
    with program.start("worker", "--concurrency", "1", "--metrics", str(free_tcp_port)) as worker:
        states = {"todo": 1, "doing": 1, "failed": 0}
        queued = [f'manus_queue_runs{{state="{name}"}} {n:.1f}' for name, n in states.items()]
        wait_until(lambda: shows(*queued), "one run at the worker, and one that waits")
        taken = program("worker", "--metrics", str(free_tcp_port), "--until-empty")
        assert (taken.code, "Cannot serve metrics at 127.0.0.1" in taken.err) == (2, True)
        release(program)
        ended = 'manus_runs_total{ending="finished"} 2.0'
        wait_until(lambda: shows(ended, 'manus_queue_runs{state="todo"} 0.0'), "both to have ended")
        worker.send_signal(signal.SIGTERM)
        assert worker.end().code == 0


def test_each_thread_has_its_own_folder_if_the_worker_sets_one(
    program: Program, server: ScriptedServer, url: str
) -> None:
    """Otherwise the workspace of the task must exist."""
    server.script(call("bash", command="echo 1 > task"), succeeds())
    [thread] = queue(program, "Write it")
    shutil.rmtree(program.workspace)
    absent = program("worker", "--until-empty")
    assert f"The workspace {program.workspace} does not exist on " in absent.err
    assert f"{thread}: retry in 1 s." in absent.err
    with program.start("worker", "--workspace", "own") as worker:
        wait_until(lambda: is_empty(url), "an empty queue")
        worker.send_signal(signal.SIGTERM)
        assert f"{thread}: finished, 2 steps" in worker.end().err
    assert (program.home / "own" / thread / "task").read_text() == "1\n"
    assert not program.workspace.exists()


def guest_url(url: str) -> str:
    """Return a URL for a role that may only use the existing tables."""
    with psycopg.connect(url) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        connection.execute("GRANT CREATE ON SCHEMA public TO guest")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO guest")
    return re.sub("//[^@]*@", "//guest:guest@", url)


def test_databases_that_cannot_be_used(
    program: Program, url: str, subtests: pytest.Subtests
) -> None:
    def check(sentence: str, result: Result, code: int) -> None:
        with subtests.test(sentence=sentence):
            assert (result.code, result.err.count("\n")) == (code, 1), result.err
            assert sentence in result.err

    for command in (("run", "--queue", "x"), ("worker",)):
        file = program(*command, MANUS_CHECKPOINT="threads.sqlite")
        check("needs a PostgreSQL store that all machines share", file, 2)
    check("remove one of the two", program("run", "--queue", "--record", "r", "x"), 2)
    check("--each-line needs --queue", program("run", "--each-line", "x"), 2)
    assert program("threads").code == 0  # creates only the tables of the store
    guest = guest_url(url)
    assert program("run", "--queue", "x").code == 0
    refused = program("run", "--queue", "x", MANUS_CHECKPOINT=guest)
    check("cannot be created or used (permission denied", refused, 1)
    with psycopg.connect(url) as connection:
        connection.execute("ALTER FUNCTION procrastinate_fetch_job_v2 RENAME TO newer")
        connection.execute("ALTER FUNCTION procrastinate_defer_jobs_v1 RENAME TO newer_too")
    sentence = "another version of procrastinate"
    check(sentence, program("run", "--queue", "x"), 1)
    check(sentence, program("worker", "-q"), 1)


def test_a_missing_package(program: Program, tmp_path: Any) -> None:
    """`pip install manus[queue]` was omitted."""
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir()
    hidden.write_text("import sys\nsys.modules['procrastinate'] = None\n")
    path = f"{hidden.parent}{os.pathsep}{program.environment['PYTHONPATH']}"
    result = program.cold("run", "--queue", "x", PYTHONPATH=path)
    assert result.code == 2
    assert "pip install procrastinate" in result.err
