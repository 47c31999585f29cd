"""Threads in a real PostgreSQL database."""

import re
import sys
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from manus.checkpoint import open_store
from manus.state.errors import SettingsError, StorageError
from manus.state.settings import Settings
from tests.manus.postgres_server import PostgresServer, binaries
from tests.manus.program import Program, wait_for_file
from tests.server import ScriptedServer, call, text

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
    import psycopg

    with psycopg.connect(url) as own:
        kill = f"SELECT pg_terminate_backend(pid) FROM {which} AND pid <> pg_backend_pid()"
        own.execute(kill.encode())


async def test_connections_that_the_server_ends_are_replaced(url: str) -> None:
    async with _open(url) as store:
        await _put(store.saver, "before")
        _end_connections(url, "pg_stat_activity WHERE datname = current_database()")
        await _put(store.saver, "after")
        assert await store.recent(10) == ["after", "before"]
        assert store.place.startswith("postgresql://127.0.0.1:"), "no user, no password"


async def test_a_lock_that_is_lost_is_noticed_before_anything_is_stored(url: str) -> None:
    """Another process may hold the thread by now."""
    here = "(SELECT oid FROM pg_database WHERE datname = current_database())"

    async def use() -> None:
        async with _open(url) as store, store.hold("t"):
            await _put(store.saver, "t")
            _end_connections(url, f"pg_locks WHERE locktype = 'advisory' AND database = {here}")
            await _put(store.saver, "t")

    with pytest.raises(StorageError):
        await use()
    async with _open(url) as store:
        config: Any = {"configurable": {"thread_id": "t"}}
        assert len([found async for found in store.saver.alist(config)]) == 1


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("127.0.0.1:{port}/postgres", "password authentication failed"),
        ("127.0.0.1:1/db", "cannot be used"),
        ("host:port/db", "MANUS_CHECKPOINT"),
        ("127.0.0.1/db?no_such=secret", "MANUS_CHECKPOINT"),
    ],
)
async def test_an_address_that_is_of_no_use_is_said_without_its_password(
    postgres: PostgresServer, place: str, said: str
) -> None:
    url = f"postgresql://manus:secret@{place.format(port=postgres.port)}"
    with pytest.raises((StorageError, SettingsError)) as caught:
        async with _open(url):
            pass
    assert said in str(caught.value)
    assert not re.search("secret|\n", str(caught.value))


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "manus.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match="pip install langgraph-checkpoint-postgres 'psycopg"):
        _open("postgresql://host/db")


def test_the_program_on_it(manus: Program, server: ScriptedServer, url: str) -> None:
    manus.environment["MANUS_CHECKPOINT"] = url
    server.script(call("bash", command="echo ran >> runs; sleep 300"))
    with manus.start("run", "--thread", "t", "work"):
        wait_for_file(manus.workspace / "runs")
        second = manus("resume", "t")
        assert (second.code, "being worked on" in second.err) == (2, True)
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
