"""Threads in a real PostgreSQL database."""

import re
import sys
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from manus.checkpoint import open_checkpointer, open_store
from manus.state.errors import SettingsError, StorageError, ThreadBusyError
from manus.state.settings import Settings
from tests.manus.postgres_server import PASSWORD, PostgresServer, binaries
from tests.manus.program import Program, wait_for_file
from tests.server import ScriptedServer, call, text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


def _settings(url: str) -> Settings:
    return Settings(checkpoint=url)


async def _put(saver: Any, thread: str) -> None:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})


async def test_threads_come_the_newest_first_and_are_kept(url: str) -> None:
    for thread in ("a", "b", "a"):
        async with open_checkpointer(_settings(url)) as saver:
            await _put(saver, thread)
    async with open_store(_settings(url)) as store:
        assert await store.recent(10) == ["a", "b"]
        await store.saver.adelete_thread("a")
        assert await store.recent(10) == ["b"]
        assert PASSWORD not in store.place
        assert store.place.startswith("postgresql://127.0.0.1:")


async def test_a_thread_is_held_by_one_at_a_time(url: str) -> None:
    async with open_store(_settings(url)) as one, open_store(_settings(url)) as other:
        async with one.hold("t"):
            with pytest.raises(ThreadBusyError, match="thread t "):
                async with other.hold("t"):
                    pass
            async with other.hold("u"):
                pass
        async with other.hold("t"):
            pass


async def test_connections_that_the_server_ends_are_replaced(url: str) -> None:
    import psycopg

    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with open_store(_settings(url)) as store:
        await _put(store.saver, "before")
        with psycopg.connect(url) as connection:
            connection.execute(kill)
        await _put(store.saver, "after")
        assert await store.recent(10) == ["after", "before"]


async def test_a_lock_that_is_lost_is_noticed_before_anything_is_stored(url: str) -> None:
    """Another process may hold the thread by now."""
    import psycopg

    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )

    async def use() -> None:
        async with open_store(_settings(url)) as store, store.hold("t"):
            await _put(store.saver, "t")
            with psycopg.connect(url) as connection:
                connection.execute(kill)
            await _put(store.saver, "t")

    with pytest.raises(StorageError):
        await use()
    async with open_store(_settings(url)) as store:
        config: Any = {"configurable": {"thread_id": "t"}}
        assert len([found async for found in store.saver.alist(config)]) == 1


async def _refused(url: str) -> str:
    with pytest.raises((StorageError, SettingsError)) as caught:
        async with open_store(_settings(url)):
            pass
    said = str(caught.value)
    assert "\n" not in said
    return said


async def test_a_wrong_password_is_said_at_once_and_not_shown(postgres: PostgresServer) -> None:
    said = await _refused(postgres.url("postgres", "wrong-secret"))
    assert "password authentication failed" in said
    assert "wrong-secret" not in said
    assert f"127.0.0.1:{postgres.port}/postgres" in said


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://manus:secret@127.0.0.1:1/db", "cannot be used"),
        ("postgresql://manus:secret@host:port/db", "MANUS_CHECKPOINT"),
        ("postgresql://manus:secret@127.0.0.1/db?no_such=secret", "MANUS_CHECKPOINT"),
    ],
)
async def test_an_address_that_is_of_no_use_is_said_without_its_password(
    url: str, said: str
) -> None:
    refused = await _refused(url)
    assert said in refused
    assert "secret" not in refused


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "manus.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = re.escape("pip install langgraph-checkpoint-postgres 'psycopg[binary,pool]'")
    with pytest.raises(SettingsError, match=said):
        open_store(_settings("postgresql://host/db"))


def test_the_program_on_it(manus: Program, server: ScriptedServer, url: str) -> None:
    manus.environment["MANUS_CHECKPOINT"] = url
    server.script(call("bash", command="echo ran >> runs; sleep 300"))
    with manus.start("run", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "runs")
        second = manus("resume", "t")
        assert (second.code, "being worked on" in second.err) == (2, True)
        process.kill()
        process.end()
    server.script(call("ask_human", inquire="On?"), text("Done."))
    asked = manus("resume", "t")
    assert (asked.code, asked.out) == (1, "On?\n")
    assert manus("resume", "--answer", "yes", "t").out == "Done.\n"
    assert (manus.workspace / "runs").read_text() == "ran\n"
    assert manus("threads").out.splitlines()[1].split()[:3] == ["t", "finished", "3"]
    assert "agent: Done." in manus("show", "t").out
    page = manus("report", "t", "-o", "-").out
    assert page.count("Stopped here, and resumed") == 2  # killed, and asked without a terminal
    assert '<span class="pill good">Finished</span>' in page
    assert manus("threads", "--delete", "t").code == 0
    assert manus("threads").out == ""
    assert not manus.database.exists()
