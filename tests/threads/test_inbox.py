"""The inbox of a thread in a SQLite file, in a PostgreSQL database, and in memory."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from manus.config.settings import Settings
from manus.graph.inbox import list_messages, send_message
from manus.state.errors import ThreadBusyError
from manus.threads.base import Store
from manus.threads.open_store import open_store
from manus.threads.records.inbox import Inbox, SqliteInbox, new_message
from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer, call, text
from tests.threads.postgres_server import binaries

needs_postgres = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return str(tmp_path / "threads.sqlite")


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    async with open_store(Settings(checkpoint=address)) as store:
        yield store


@pytest.fixture(params=["stored", "memory"])
def inbox(request: pytest.FixtureRequest, store: Store) -> Inbox:
    return store.records.inbox if request.param == "stored" else SqliteInbox()


def texts(inbox: Inbox, thread: str = "t") -> list[str]:
    return [message.text for message in inbox.read(thread)]


def test_messages_keep_their_order_and_their_thread(inbox: Inbox) -> None:
    for words in ("one", "二つ", "three"):
        inbox.add("t", new_message(words, fields={"asked": words}))
    inbox.add("other", new_message("elsewhere", queue=True))
    assert texts(inbox) == ["one", "二つ", "three"]
    assert [message.fields for message in inbox.read("t")][1] == {"asked": "二つ"}
    [other] = inbox.read("other")
    assert (other.kind, other.reader) == ("queue", None)


def test_one_reader_takes_a_message(inbox: Inbox) -> None:
    inbox.add("t", new_message("one"))
    [unread] = inbox.read("t")
    assert inbox.take("t", unread, "a")
    assert not inbox.take("t", unread, "b")
    [message] = inbox.read("t")
    assert message.reader == "a"
    assert inbox.take("t", message, None)
    assert inbox.take("t", unread, "b")


def test_only_what_is_unread_can_be_withdrawn(inbox: Inbox) -> None:
    for words in ("one", "two"):
        inbox.add("t", new_message(words))
    first, second = inbox.read("t")
    assert inbox.take("t", first, "")
    assert [inbox.withdraw("t", message.id) for message in (first, second)] == [False, True]
    assert not inbox.take("t", second, "")
    assert not inbox.withdraw("t", second.id)
    inbox.remove("t", [first.id])
    assert texts(inbox) == []


async def test_the_inbox_goes_with_its_thread(store: Store) -> None:
    inbox = store.records.inbox
    for thread in ("t", "other"):
        inbox.add(thread, new_message("one"))
    await store.adelete_thread("t")
    assert (texts(inbox), texts(inbox, "other")) == ([], ["one"])
    await store.aprune(["other"], strategy="delete")
    assert texts(inbox, "other") == []


async def test_a_message_needs_no_lock(
    server: ScriptedServer, own_workspace: Path, store: Store, address: str
) -> None:
    """Another process sends while a run holds the thread; its row is gone at the end."""
    agent = ScriptedAgent(server, own_workspace, store, url=address)

    async def send() -> None:
        async with open_store(Settings(checkpoint=address)) as other:
            with pytest.raises(ThreadBusyError):
                async with other.hold("t"):
                    pass
            await other.records.inbox.run(lambda: send_message(other, "t", "Use tabs."))

    def first(_: Any) -> Any:
        asyncio.run(send())
        assert rows(address) == 1
        return call("append", path="a", line="1")

    outcome = await agent.run(first, text("Done."))
    assert outcome.output == "Done."
    assert server.requests[1].raw.decode().count("Use tabs.") == 1
    assert rows(address) == 0
    assert list_messages(store, "t") == []
    await agent.graph.close_waiting()


def rows(address: str) -> int:
    """Return the rows of the inbox, as another program sees them."""
    connect: Callable[[str], Any] = sqlite3.connect
    table = "inbox"
    if address.startswith("postgresql"):
        connect = psycopg.connect
        table = "manus_inbox"
    with closing(connect(address)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
