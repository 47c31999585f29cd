"""A thread in PostgreSQL, taken over from a process that dies, or is stopped and continued.

The processes share only the database and the workspace.
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from manus.config.files import state_folder
from manus.config.settings import Settings
from manus.state.errors import StorageError, ThreadBusyError, UsageError
from manus.threads.open_store import open_store
from manus.threads.records.select import open_database
from manus.threads.serializer import CompactSerializer
from tests.cli.test_kill_points import trace_forks
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.helpers.child import REQUEST, Process, killed_when, server_pid, start_run
from tests.helpers.processes import until
from tests.server import ScriptedServer, call, text
from tests.threads.postgres_server import PostgresServer, binaries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]

WRITE = call("append", path="a", line="1")
HOLD = call("hold", path="held", line="1")
OTHERS = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
async def worker(
    server: ScriptedServer, url: str, own_workspace: Path
) -> AsyncIterator[ScriptedAgent]:
    """Provide the second worker, which holds no connection until it takes over a thread."""
    async with open_store(Settings(checkpoint=url)) as store:
        agent = ScriptedAgent(server, own_workspace, store, url=url)
        yield agent
        await agent.graph.close_waiting()


def read_rows(url: str) -> list[tuple[Any, ...]]:
    """Return all rows of the thread, except the one that is locked while the thread is held."""
    rows = []
    with psycopg.connect(url) as connection:
        for table in ("checkpoints", "checkpoint_writes", "checkpoint_blobs", "manus_journal"):
            records = connection.execute(f"SELECT * FROM {table}".encode()).fetchall()
            rows += [(table, str(row)) for row in records]
    return sorted(rows)


def is_in_tool(worker: ScriptedAgent) -> bool:
    return worker.lines("held") == ["1"]


@contextmanager
def stopped_in_a_tool(worker: ScriptedAgent, **options: Any) -> Iterator[Process]:
    """Provide the first worker, stopped while its second call is in progress, then continued."""
    with start_run(worker, REQUEST, **options) as child:
        assert child.pid is not None
        while not is_in_tool(worker):
            assert child.is_alive()
            os.sched_yield()
        os.kill(child.pid, signal.SIGSTOP)
        yield child
        (worker.workspace / "release").touch()
        os.kill(child.pid, signal.SIGCONT)
        child.join(60)
        assert child.exitcode == 1, "it ends, with an error"


def forget_local_records() -> None:
    """Remove local records, as on another machine."""
    shutil.rmtree(state_folder(), ignore_errors=True)


async def test_killed_in_a_tool(worker: ScriptedAgent) -> None:
    worker.server.script(WRITE, HOLD, text("Gone on."))
    with start_run(worker, REQUEST) as child:
        killed_when(child, lambda: is_in_tool(worker))
    forget_local_records()
    outcome = await worker.invoke(None)
    assert outcome.output == "Gone on."
    assert (worker.lines("a"), worker.lines("held")) == (["1"], ["1"])
    assert "not executed again" in (await worker.observations())[1]
    assert not list(state_folder().rglob("*.jsonl")), "no journal is stored as a file"


async def test_stopped_and_cut_off_in_a_tool(worker: ScriptedAgent, url: str) -> None:
    """Nothing that the returning worker writes is stored."""
    worker.server.script(WRITE, HOLD, text("Gone on."))
    with stopped_in_a_tool(worker):
        with pytest.raises(ThreadBusyError):
            await worker.invoke(None)
        with psycopg.connect(url) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM {OTHERS}".encode())
        outcome = await worker.invoke(None)
        assert outcome.output == "Gone on."
        before = read_rows(url)
    assert read_rows(url) == before
    assert (worker.lines("a"), worker.lines("held")) == (["1"], ["1"])
    assert "not executed again" in (await worker.observations())[1]


async def test_stopped_past_the_lease_of_a_server(worker: ScriptedAgent, url: str) -> None:
    """The server gives the run to another worker, although the first one still holds its locks."""
    worker.server.script(WRITE, HOLD, text("Gone on."))
    with stopped_in_a_tool(worker, run_id="r1"):
        with pytest.raises(ThreadBusyError):
            await worker.invoke(REQUEST, run_id="another run")
        outcome = await worker.invoke(REQUEST, run_id="r1")
        assert outcome.output == "Gone on."
        before = read_rows(url)
    assert read_rows(url) == before
    assert (worker.lines("a"), worker.lines("held")) == (["1"], ["1"])
    assert_paired(await worker.messages())


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(
    "number",
    [
        *range(80, 215, 27),
        *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(80, 215, 9) if n % 27 != 26),
    ],
)
async def test_killed_at_any_packet(worker: ScriptedAgent, tmp_path: Path, number: int) -> None:
    """Packets to the database, or to the model."""
    worker.server.always(lambda request: _work(request))
    inject = ("-e", "trace=sendto", "-e", f"inject=sendto:signal=SIGKILL:when={number}")
    with (
        trace_forks(server_pid(), tmp_path / "trace", *inject),
        start_run(worker, REQUEST) as child,
    ):
        child.join(60)
    forget_local_records()
    has_input = bool(await worker.messages())
    outcome = await worker.invoke(None if has_input else REQUEST)
    assert outcome.output == "Done."
    effects = worker.lines("a")
    texts = await worker.observations()
    in_doubt = sum("not executed again" in observation for observation in texts)
    assert len(effects) <= 2, "nothing is done twice"
    assert len(effects) >= 2 - in_doubt, "lost calls are reported"
    assert_paired(await worker.messages())


def _work(request: Any) -> Any:
    answers = sum(message["role"] == "tool" for message in request.messages)
    return text("Done.") if answers == 2 else call("append", path="a", line=str(answers))


async def test_a_token_is_needed_for_each_write(url: str) -> None:
    """Like that of a process that was stopped between checking the lock and writing."""
    async with open_store(Settings(checkpoint=url)) as store, store.hold("t"):
        log: Any = store.records.log("t", "")
        log.append(b"{}\n")
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE manus_threads SET token = token + 1")
        at: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
        with pytest.raises(StorageError, match="Another process continued"):
            await store.aput_writes(at, [("messages", "late")], "task")
        with pytest.raises(StorageError, match="Another process continued"):
            log.append(b"{}\n")
        assert await store.aget_tuple(at) is None
        assert len(read_rows(url)) == 1


async def test_records_of_a_newer_version(url: str) -> None:
    """A server with its own saver opens only the records."""
    async with open_store(Settings(checkpoint=url)) as store, store.hold("t"):
        pass
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE manus_meta SET value = '99' WHERE name = 'schema'")
    records: Any = open_database(url)
    with pytest.raises(UsageError, match=r"by a newer release of manus .* update manus"):
        async with records.hold("t"):
            pass
    records.close()


async def test_checkpoints_of_a_newer_version(url: str) -> None:
    async with open_store(Settings(checkpoint=url)):
        pass
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO checkpoint_migrations VALUES (99)")
    with pytest.raises(StorageError, match=r"checkpoints .* written by a newer version .* update"):
        async with open_store(Settings(checkpoint=url)):
            pass


async def test_a_role_that_may_not_create_the_tables(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("DROP ROLE IF EXISTS visitor")
        connection.execute("CREATE ROLE visitor LOGIN PASSWORD 'visitor'")
    guest = re.sub("//[^@]*@", "//visitor:visitor@", url)
    with pytest.raises(StorageError) as error:
        async with open_store(Settings(checkpoint=guest)):
            pass
    reason = "the tables cannot be created (permission denied for schema public); let the role"
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


async def test_tables_that_cannot_be_created(url: str) -> None:
    reader = re.sub("//[^@]*@", "//reader:reader@", url)
    async with open_store(Settings(checkpoint=url)):
        with psycopg.connect(url) as connection:
            connection.execute("DROP ROLE IF EXISTS reader")
            connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
            connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    with pytest.raises(StorageError, match="permission denied"):
        async with open_store(Settings(checkpoint=reader)) as store, store.hold("t"):
            pass


async def test_a_deleted_thread_leaves_no_rows(url: str) -> None:
    async with open_store(Settings(checkpoint=url)) as store:
        async with store.hold("t"):
            log: Any = store.records.log("t", "")
            log.append(b"{}\n")
            await store.adelete_thread("t")
        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT * FROM manus_threads").fetchall()
        assert (rows, read_rows(url)) == ([], [])


async def test_the_saver_of_a_server_is_fenced_too(
    worker: ScriptedAgent, url: str, own_workspace: Path
) -> None:
    """LangGraph's saver, without our store: the records are in the same database."""
    worker.server.script(WRITE, HOLD, text("Gone on."))
    with stopped_in_a_tool(worker, run_id="r1"):
        async with AsyncPostgresSaver.from_conn_string(url, serde=CompactSerializer()) as saver:
            other = ScriptedAgent(worker.server, own_workspace, saver, url=url)
            with pytest.raises(ThreadBusyError):
                await other.invoke(REQUEST, run_id="another run")
            outcome = await other.invoke(REQUEST, run_id="r1")
            before = read_rows(url)
    assert outcome.output == "Gone on."
    assert read_rows(url) == before
    assert (worker.lines("a"), worker.lines("held")) == (["1"], ["1"])


async def test_a_saver_of_a_server_that_was_stopped(
    server: ScriptedServer, url: str, own_workspace: Path
) -> None:
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        agent = ScriptedAgent(server, own_workspace, saver, url=url)
        running = asyncio.create_task(agent.run(WRITE, HOLD))
        await until(lambda: is_in_tool(agent))
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE manus_threads SET token = token + 1")
        before = read_rows(url)
        (own_workspace / "release").touch()
        with pytest.raises(StorageError, match="Another process continued the thread t"):
            await running
        assert read_rows(url) == before


@pytest.mark.parametrize("is_configured", [True, False])
async def test_a_server_with_its_own_saver(
    server: ScriptedServer,
    url: str,
    own_workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_configured: bool,
) -> None:
    """Its records are in the database that the settings name, if any."""
    if is_configured:
        monkeypatch.setenv("MANUS_CHECKPOINT", url)
    agent = ScriptedAgent(server, own_workspace, InMemorySaver())
    server.script(WRITE, text("Done."))
    served: Any = {"configurable": {"thread_id": "t", "assistant_id": "a", "run_id": "r1"}}
    monkeypatch.setenv("MANUS_SERVED_ROOT", str(own_workspace))
    await agent.graph.ainvoke(REQUEST, served, context=agent.context())
    assert agent.lines("a") == ["1"]
    journals = list(state_folder().rglob("*.jsonl"))
    with psycopg.connect(url) as connection:
        table = connection.execute("SELECT to_regclass('manus_journal')").fetchone()
    assert (bool(table and table[0]), bool(journals)) == (is_configured, not is_configured)
