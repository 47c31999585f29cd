"""Threads in a real PostgreSQL database."""

import asyncio
import re
import signal
import sys
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint

from manus.config.settings import Settings
from manus.state.errors import SettingsError, StorageError, ThreadBusyError
from manus.state.events import RetryEvent
from manus.threads.open_store import open_store
from manus.threads.records.postgres_address import read_connect_timeout
from tests.cli.program import Program, wait_for_file
from tests.server import ScriptedServer, call, text
from tests.threads.postgres_server import PostgresServer, binaries

THREAD_AT: Any = {
    "configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"},
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


def _open(url: str) -> Any:
    return open_store(Settings(checkpoint=url))


async def _put(saver: Any, thread: str) -> None:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})


def _end_connections(url: str, which: str) -> None:
    with psycopg.connect(url) as own:
        kill = f"SELECT pg_terminate_backend(pid) FROM {which} AND pid <> pg_backend_pid()"
        own.execute(kill.encode())


async def test_connections_that_the_server_ends_are_replaced(url: str) -> None:
    async with _open(url) as store:
        await _put(store.saver, "before")
        _end_connections(url, "pg_stat_activity WHERE datname = current_database()")
        await _put(store.saver, "after")
        assert await store.recent(10) == ["after", "before"]
        assert store.location.startswith("postgresql://127.0.0.1:"), "no user, no password"


async def test_several_processes_create_the_tables_at_once(url: str) -> None:
    async with AsyncExitStack() as stack:
        opened = (stack.enter_async_context(_open(url)) for _ in range(6))
        stores = await asyncio.gather(*opened)
        assert [await store.recent(1) for store in stores] == [[]] * 6


HELD_UP = "echo a >> runs; until [ -e go ]; do sleep 0.05; done"
"""A command that a test ends by creating the file `go`."""
HERE = "(SELECT oid FROM pg_database WHERE datname = current_database())"
LOCKS = f"pg_locks WHERE locktype = 'advisory' AND database = {HERE}"


async def _ids(store: Any) -> list[str]:
    """Return the ids of the thread's checkpoints, newest first."""
    config: Any = {"configurable": {"thread_id": "t"}}
    return [entry.checkpoint["id"] async for entry in store.saver.alist(config)]


async def test_a_lost_lock_is_acquired_again(url: str) -> None:
    async with _open(url) as store, _open(url) as other:
        async with store.hold("t"):
            await _put(store.saver, "t")
            _end_connections(url, LOCKS)
            await _put(store.saver, "t")
            assert len(await _ids(store)) == 2
            with pytest.raises(ThreadBusyError):
                await other.hold("t").__aenter__()
        async with other.hold("t"):
            pass


async def test_a_lock_acquired_by_another_process_ends_the_run(url: str) -> None:
    async with _open(url) as store, _open(url) as other, AsyncExitStack() as stack:
        await stack.enter_async_context(store.hold("t"))
        await _put(store.saver, "t")
        _end_connections(url, LOCKS)
        await stack.enter_async_context(other.hold("t"))
        with pytest.raises(StorageError, match="Another process continued the thread t"):
            await _put(store.saver, "t")
        assert len(await _ids(other)) == 1


async def test_a_checkpoint_stored_by_another_process_ends_the_run(url: str) -> None:
    """The other process has released the lock again, so the lock alone would not reveal it."""
    async with _open(url) as store, _open(url) as other, store.hold("t"):
        await _put(store.saver, "t")
        _end_connections(url, LOCKS)
        async with other.hold("t"):
            await _put(other.saver, "t")
        with pytest.raises(StorageError, match="Another process continued the thread t"):
            await store.saver.aput_writes(THREAD_AT, [("messages", "late")], "task")
        with pytest.raises(StorageError, match="Another process continued the thread t"):
            await _put(store.saver, "t")
        assert len(await _ids(other)) == 2


async def test_operations_during_a_restart_are_repeated_once_each(
    postgres: PostgresServer, url: str
) -> None:
    """Operations that fail together wait together, and each is executed once."""
    reasons: list[str] = []
    was_told = asyncio.Event()

    def tell(event: RetryEvent) -> None:
        reasons.append(event["reason"])
        was_told.set()

    async with open_store(Settings(checkpoint=url, retry_for=60)) as store:
        store.watch_outages(tell)
        async with store.hold("t"):
            await _put(store.saver, "t")
            await asyncio.to_thread(postgres.stop)
            puts = [asyncio.create_task(_put(store.saver, "t")) for _ in range(5)]
            await was_told.wait()
            await asyncio.to_thread(postgres.start)
            await asyncio.gather(*puts)
            ids = await _ids(store)
            assert (len(ids), len({*ids})) == (6, 6)
            with pytest.raises(ThreadBusyError):
                async with _open(url) as other, other.hold("t"):
                    pass
    assert "postgresql://127.0.0.1:" in reasons[0]
    assert not re.search("pass|\n", reasons[0])


async def test_a_server_that_is_starting_up_is_waited_for(
    postgres: PostgresServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        async with open_store(Settings(checkpoint=url, retry_for=60)) as store:
            assert await store.recent(1) == []

    with postgres.starting_up():
        opening = asyncio.create_task(use())
        while "is starting up; waiting for it" not in caplog.text:
            assert not opening.done()
            await asyncio.sleep(0.01)
    await opening


async def test_permanent_errors_are_not_retried(url: str) -> None:
    async with open_store(Settings(checkpoint=url, retry_for=60)) as store:
        store.watch_outages(lambda event: pytest.fail(event["reason"]))
        with pytest.raises(StorageError, match="cannot be used"):
            async with _open(f"{url}-of-nobody"):
                pass
        with pytest.raises(psycopg.DataError):
            await _put(store.saver, "a\0b")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("127.0.0.1:{port}/postgres", "password authentication failed"),
        ("127.0.0.1:1/db", "cannot be used"),
        ("host:port/db", "MANUS_CHECKPOINT"),
        ("127.0.0.1/db?no_such=secret", "MANUS_CHECKPOINT"),
    ],
)
async def test_an_invalid_url_is_reported_without_its_password(
    postgres: PostgresServer, place: str, message: str
) -> None:
    url = f"postgresql://manus:secret@{place.format(port=postgres.port)}"
    with pytest.raises((StorageError, SettingsError)) as caught:
        async with _open(url):
            pass
    assert message in str(caught.value)
    assert not re.search("secret|\n", str(caught.value))


@pytest.mark.parametrize(
    ("options", "seconds"),
    [("", 10), ("?connect_timeout=30", 30), ("?connect_timeout=1", 2), ("?connect_timeout=0", 10)],
)
def test_the_url_sets_the_connection_timeout(options: str, seconds: int) -> None:
    assert read_connect_timeout(f"postgresql://host/db{options}") == seconds


async def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing works without the packages; only opening a database needs them."""
    for name in ("postgres", "postgres_store", "postgres_retry"):
        monkeypatch.delitem(sys.modules, f"manus.threads.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    store = _open("postgresql://host/db")
    with pytest.raises(SettingsError, match="pip install langgraph-checkpoint-postgres 'psycopg"):
        await store.__aenter__()


def test_the_program_on_it(manus: Program, server: ScriptedServer, url: str) -> None:
    manus.environment["MANUS_CHECKPOINT"] = url
    server.script(call("bash", command="echo ran >> runs; sleep 300"))
    with manus.start("run", "--thread", "t", "work"):
        wait_for_file(manus.workspace / "runs")
        second = manus("resume", "t")
        assert (second.code, "is in use by" in second.err) == (2, True)
    server.script(call("ask_human", inquire="On?"), text("Done."))
    result = manus("resume", "t")
    assert (result.code, result.out) == (1, "On?\n")
    assert manus("resume", "--answer", "yes", "t").out == "Done.\n"
    assert (manus.workspace / "runs").read_text() == "ran\n"
    assert manus("threads").out.splitlines()[1].split()[:3] == ["t", "finished", "4"]
    assert "agent: Done." in manus("show", "t").out
    page = manus("report", "t", "-o", "-").out
    assert page.count("Stopped here and resumed") == 2  # killed, and resumed without a terminal
    assert '<span class="pill good">Finished</span>' in page
    assert manus("threads", "--delete", "t").code == 0
    assert manus("threads").out == ""
    assert not manus.database.exists()


@pytest.fixture
def impatient(url: str) -> str:
    """Return the database's URL with a short connection timeout."""
    return f"{url}?connect_timeout=2"


def test_a_restart_within_a_run_is_waited_for(
    manus: Program, server: ScriptedServer, postgres: PostgresServer, impatient: str
) -> None:
    manus.environment |= {"MANUS_CHECKPOINT": impatient, "MANUS_RETRY_FOR": "60"}
    server.script(
        call("bash", command=HELD_UP), call("bash", command="echo b >> runs"), text("Done.")
    )
    with manus.start("run", "--thread", "t", "--json", "work") as process:
        wait_for_file(manus.workspace / "runs")
        postgres.stop()
        (manus.workspace / "go").write_text("")
        process.expect("does not answer")
        postgres.start()
        result = process.end()
    assert (result.code, result.json["output"], result.json["stop_reason"]) == (
        0,
        "Done.",
        "answered",
    )
    assert (manus.workspace / "runs").read_text() == "a\nb\n"
    # an answer after a call is sent back once
    assert (result.json["usage"]["model_calls"], result.json["usage"]["tool_calls"]) == (4, 2)
    listing = manus("show", "t").out
    assert (listing.count("agent: Done."), "Traceback" in result.err) == (2, False)


def test_a_run_that_waited_in_vain_is_continued_by_resume(
    manus: Program, server: ScriptedServer, postgres: PostgresServer, impatient: str
) -> None:
    manus.environment |= {"MANUS_CHECKPOINT": impatient, "MANUS_RETRY_FOR": "1"}
    server.script(call("bash", command=HELD_UP), text("Done."))
    with manus.start("run", "--thread", "t", "--json", "work") as process:
        wait_for_file(manus.workspace / "runs")
        postgres.stop()
        try:
            (manus.workspace / "go").write_text("")
            result = process.end()
            refused = manus("resume", "t")
        finally:
            postgres.start()
    assert (result.code, result.json["stop_reason"], result.json["success"]) == (
        1,
        "interrupted",
        False,
    )
    assert "did not answer for 1 s" in result.json["output"]
    assert "manus resume t" in result.err
    assert (refused.code, refused.err.count("\n"), "cannot be used" in refused.err) == (1, 1, True)
    assert manus("resume", "t").out == "Done.\n"
    assert (manus.workspace / "runs").read_text() == "a\n"


def test_ctrl_c_ends_the_wait(
    manus: Program, server: ScriptedServer, postgres: PostgresServer, impatient: str
) -> None:
    manus.environment |= {"MANUS_CHECKPOINT": impatient, "MANUS_RETRY_FOR": "600"}
    server.script(call("bash", command=HELD_UP))
    with manus.start("run", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "runs")
        postgres.stop()
        try:
            (manus.workspace / "go").write_text("")
            process.expect("does not answer")
            process.send_signal(signal.SIGINT)
            result = process.end()
        finally:
            postgres.start()
    assert (result.code, "Traceback" in result.err) == (130, False)
