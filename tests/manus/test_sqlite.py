import contextlib
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import UUID, uuid6

from manus.checkpoint import open_store
from manus.state.errors import StorageError
from manus.state.settings import Settings

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def _open(path: Path) -> Any:
    return open_store(Settings(checkpoint=str(path)))


async def _put(saver: Any) -> None:
    await saver.aput(CONFIG, empty_checkpoint(), {"source": "input", "step": -1}, {})


async def _refused(path: Path) -> str:
    with pytest.raises(StorageError) as caught:
        async with _open(path) as store:
            await _put(store.saver)
    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    return said


async def test_what_is_no_database_or_damaged_is_not_made_worse(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("My notes, longer than sixteen bytes.")
    assert "is not a SQLite database" in await _refused(path)
    assert path.read_text() == "My notes, longer than sixteen bytes."
    path = tmp_path / "t.sqlite"
    async with _open(path) as store:
        await _put(store.saver)
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\x5a" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    assert "is damaged" in await _refused(path)
    assert path.read_bytes()[4096:] == damaged[4096:]


async def test_what_is_stored_is_read_as_data_never_run(tmp_path: Path) -> None:
    """A file that somebody else has planted calls no function and holds no pickle."""
    path, ran = tmp_path / "t.sqlite", tmp_path / "ran"
    async with _open(path) as store:
        await _put(store.saver)
    command = ormsgpack.packb(("os", "system", f"touch {ran}"))
    planted = ormsgpack.packb(
        {"v": 1, "id": "x", "channel_values": {"a": ormsgpack.Ext(0, command)}}
    )
    for kind, data in (("msgpack", planted), ("pickle", pickle.dumps({"v": 1}))):
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, data))
        with contextlib.suppress(StorageError):
            async with _open(path) as store:
                assert await store.saver.aget_tuple(CONFIG) is not None
                assert kind == "msgpack"
    assert not ran.exists()


async def test_after_a_checkpoint_of_a_clock_that_is_ahead_until_the_file_is_removed(
    tmp_path: Path,
) -> None:
    """What is written next is the newest, whatever the wall clock says; a fork of it, too."""
    ahead = UUID(int=uuid6().int + (600_000_000 << 80), version=6)  # 4 hours
    async with _open(tmp_path / "t.sqlite") as store:
        first = await store.saver.aput(CONFIG, empty_checkpoint(), {"source": "input"}, {})
        planted: Any = {**empty_checkpoint(), "id": str(ahead)}
        await store.saver.aput(CONFIG, planted, {"source": "loop"}, {})
        for read in (CONFIG, first):
            before = await store.saver.aget_tuple(CONFIG)
            assert await store.saver.aget_tuple(read) is not None
            written = await store.saver.aput(CONFIG, empty_checkpoint(), {"source": "loop"}, {})
            newest = await store.saver.aget_tuple(CONFIG)
            assert newest.config == written
            assert before != newest
        (tmp_path / "t.sqlite").unlink()
        with pytest.raises(StorageError, match="removed or replaced"):
            await _put(store.saver)


async def test_what_came_before_a_failed_write_is_not_kept(tmp_path: Path) -> None:
    """A task with something written counts as done: half of what it wrote must not stay."""
    row = ("t", "", "c", "task", "", 0, "messages", "json", b"{}")
    async with _open(tmp_path / "t.sqlite") as store:
        saver: Any = store.saver
        saver.setup()
        insert = f"INSERT INTO writes VALUES ({', '.join('?' * len(row))})"
        with pytest.raises(sqlite3.IntegrityError), saver.cursor() as cursor:
            cursor.executemany(insert, [row, row])
        assert saver.conn.execute("SELECT COUNT(*) FROM writes").fetchone() == (0,)
