"""A store of a newer release is refused, and left unchanged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from manus.config.settings import Settings
from manus.state.errors import UsageError
from manus.threads.open_store import open_store
from manus.threads.records.store_version import STORE_VERSION
from tests.cli.program import Program
from tests.server import ScriptedServer, text
from tests.threads.postgres_server import PostgresServer


def _dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database, database:
        return [*database.iterdump()]


def test_a_sqlite_file_of_a_newer_release_is_refused(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(text("One."))
    manus("run", "--thread", "t", "Say one")
    with closing(sqlite3.connect(manus.database)) as database, database:
        assert database.execute("SELECT * FROM manus_meta").fetchall() == [
            ("schema", str(STORE_VERSION))
        ]
        database.execute("UPDATE manus_meta SET value = ?", (str(STORE_VERSION + 1),))
    before = _dump(manus.database)
    for command in (
        ("threads",),
        ("show", "t"),
        ("run", "--thread", "t", "Go on"),
        ("resume", "t"),
    ):
        with subtests.test(command=command):
            result = manus(*command)
            assert (result.code, result.out) == (2, "")
            sentence = " ".join(result.err.split())
            assert f"{manus.database} was written by a newer release of manus" in sentence
            assert "update manus" in sentence
    assert _dump(manus.database) == before


def test_a_file_of_a_newer_release_gets_no_tables(manus: Program) -> None:
    manus.database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(manus.database)) as database, database:
        database.execute("CREATE TABLE manus_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        database.execute("INSERT INTO manus_meta VALUES ('schema', ?)", (str(STORE_VERSION + 1),))
    before = _dump(manus.database)
    assert manus("threads").code == 2
    assert _dump(manus.database) == before


async def test_a_database_of_a_newer_release_is_refused(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE manus_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        connection.execute(
            "INSERT INTO manus_meta VALUES ('schema', %s)", (str(STORE_VERSION + 1),)
        )
        with pytest.raises(UsageError, match="was written by a newer release"):
            async with open_store(Settings(checkpoint=url)):
                pass
        assert connection.execute(tables).fetchall() == [("manus_meta",)]


async def test_an_older_database_gets_the_version(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    async with open_store(Settings(checkpoint=url)) as store, store.hold("t"):
        pass
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE manus_meta SET value = '0' WHERE name = 'schema'")
    async with open_store(Settings(checkpoint=url)) as store, store.hold("t"):
        pass
    with psycopg.connect(url) as connection:
        [version] = connection.execute("SELECT value FROM manus_meta WHERE name = 'schema'")
    assert version == (str(STORE_VERSION),)
