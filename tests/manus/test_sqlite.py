import contextlib
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import UUID, uuid6
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Send

from manus.checkpoint import CompactSerializer, open_checkpointer, open_store
from manus.state.errors import SettingsError, StorageError
from manus.state.settings import Settings


def _settings(path: Path | str) -> Settings:
    return Settings(checkpoint=str(path))


async def _put(saver: Any, thread: str, space: str = "") -> None:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": space}}
    await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})


async def test_file_and_folder_are_made_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "threads.sqlite"
    async with open_checkpointer(_settings(path)) as saver:
        await _put(saver, "t")
        modes = {p.name: p.stat().st_mode & 0o777 for p in path.parent.iterdir()}
    assert modes
    assert set(modes.values()) == {0o600}
    assert path.parent.stat().st_mode & 0o077 == 0


async def test_threads_come_the_newest_first_and_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    for thread in ("a", "b", "c", "a"):
        async with open_store(_settings(path)) as store:
            await _put(store.saver, thread)
    async with open_store(_settings(path)) as store:
        assert await store.recent(10) == ["a", "c", "b"]
        assert await store.recent(2) == ["a", "c"]
        await _put(store.saver, "subgraph alone", space="child")
        await _put(store.saver, "", space="")
        assert await store.recent(10) == ["", "a", "c", "b"]
        await store.saver.adelete_thread("")
        await store.saver.adelete_thread("c")
        assert await store.recent(10) == ["a", "b"]


async def _refused(path: Path) -> str:
    with pytest.raises(StorageError) as caught:
        async with open_store(_settings(path)) as store:
            await _put(store.saver, "t")
    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    return said


async def test_what_is_no_database_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("My notes, longer than sixteen bytes.")
    assert "is not a SQLite database" in await _refused(path)
    assert path.read_text() == "My notes, longer than sixteen bytes."
    assert list(tmp_path.iterdir()) == [path]


async def test_a_corrupt_database_is_not_made_worse(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with open_store(_settings(path)) as store:
        for thread in range(200):
            await _put(store.saver, f"thread {thread}")
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\x5a" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    assert "is damaged" in await _refused(path)
    assert path.read_bytes()[4096:] == damaged[4096:]


async def test_a_full_database_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with pytest.raises(StorageError, match="the disk is full"):
        await _fill(path)
    async with open_store(_settings(path)) as store:
        assert "before" in await store.recent(1000)


async def _fill(path: Path) -> None:
    async with open_store(_settings(path)) as store:
        saver: Any = store.saver
        await _put(saver, "before")
        saver.conn.execute("PRAGMA max_page_count = 1")
        for number in range(500):
            await _put(saver, f"thread {number} " + "x" * 500)


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite:///file.db", "redis://x"])
def test_other_urls(url: str) -> None:
    with pytest.raises(SettingsError, match=r"MANUS_CHECKPOINT"):
        open_store(_settings(url))


async def test_a_file_of_langgraphs_own_saver_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as plain:
        await _put(plain, "before")
    async with open_store(_settings(path)) as store:
        await _put(store.saver, "after")
        assert await store.recent(10) == ["after", "before"]
        config: Any = {"configurable": {"thread_id": "before", "checkpoint_ns": ""}}
        assert await store.saver.aget_tuple(config) is not None


async def test_what_is_stored_is_read_as_data_never_run(tmp_path: Path) -> None:
    """A file that somebody else has planted calls no function and holds no pickle."""
    path, ran = tmp_path / "t.sqlite", tmp_path / "ran"
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with open_store(_settings(path)) as store:
        await _put(store.saver, "t")
    command = ormsgpack.packb(("os", "system", f"touch {ran}"))
    planted = ormsgpack.packb(
        {"v": 1, "id": "x", "channel_values": {"a": ormsgpack.Ext(0, command)}}
    )
    for kind, data in (("msgpack", planted), ("pickle", pickle.dumps({"v": 1}))):
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, data))
        with contextlib.suppress(StorageError):
            async with open_store(_settings(path)) as store:
                found = await store.saver.aget_tuple(config)
                assert kind == "msgpack"
                assert found is not None
    assert not ran.exists()


async def test_messages_and_plain_data_come_back_as_they_were() -> None:
    serializer = CompactSerializer()
    for value in (None, "", {"step": 1}, "中文" * 500, AIMessage("Hello."), Send("act", {"id": 1})):
        assert serializer.loads_typed(serializer.dumps_typed(value)) == value
    long = "words " * 1000
    assert len(serializer.dumps_typed(long)[1]) < 500


@pytest.mark.parametrize("kind", ["msgpack", "msgpack+z", "msgpack+z2", "nothing"])
def test_what_is_damaged_is_a_sentence(kind: str) -> None:
    with pytest.raises(StorageError, match=r"it is damaged"):
        CompactSerializer().loads_typed((kind, b"\xc1\xc1"))


async def test_after_a_checkpoint_of_a_clock_that_is_ahead(tmp_path: Path) -> None:
    """What is written next is the newest, whatever the wall clock says; a fork of it, too."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    ahead = UUID(int=uuid6().int + (600_000_000 << 80), version=6)  # 4 hours
    async with open_store(_settings(tmp_path / "t.sqlite")) as store:
        first = await store.saver.aput(config, empty_checkpoint(), {"source": "input"}, {})
        planted: Any = {**empty_checkpoint(), "id": str(ahead)}
        await store.saver.aput(config, planted, {"source": "loop"}, {})
        for read in (config, first):
            before = await store.saver.aget_tuple(config)
            assert await store.saver.aget_tuple(read) is not None
            written = await store.saver.aput(config, empty_checkpoint(), {"source": "loop"}, {})
            newest = await store.saver.aget_tuple(config)
            assert newest is not None
            assert newest.config == written
            assert before != newest


async def test_a_file_that_is_removed_while_it_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with open_store(_settings(path)) as store:
        await _put(store.saver, "t")
        path.unlink()
        with pytest.raises(StorageError, match="removed or replaced"):
            await _put(store.saver, "t")


async def test_what_came_before_a_failed_write_is_not_kept(tmp_path: Path) -> None:
    """A task with something written counts as done: half of what it wrote must not stay."""
    row = ("t", "", "c", "task", "", 0, "messages", "json", b"{}")
    async with open_store(_settings(tmp_path / "t.sqlite")) as store:
        saver: Any = store.saver
        saver.setup()
        insert = f"INSERT INTO writes VALUES ({', '.join('?' * len(row))})"
        with pytest.raises(sqlite3.IntegrityError), saver.cursor() as cursor:
            cursor.executemany(insert, [row, row])
        assert saver.conn.execute("SELECT COUNT(*) FROM writes").fetchone() == (0,)
