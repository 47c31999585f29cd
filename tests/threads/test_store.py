"""The file of the threads: locked, damaged, full, or planted by somebody else; and its locks."""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import psutil
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import UUID, uuid6

from manus.config.settings import Settings
from manus.state.errors import StorageError, ThreadBusyError
from manus.threads.dictionary import DICTIONARY
from manus.threads.open_store import open_store
from manus.threads.thread_lock import hold_file
from tests.cli.program import NO_BYTECODE, Program, Result, wait_for_file
from tests.server import ScriptedServer, call, text

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def _open(path: Path) -> Any:
    return open_store(Settings(checkpoint=str(path)))


async def _put(saver: Any, config: Any = CONFIG) -> None:
    await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})


async def _refused(path: Path) -> str:
    with pytest.raises(StorageError) as caught:
        async with _open(path) as store:
            await _put(store.saver)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    paths = [file.path for file in psutil.Process().open_files()]
    assert str(path) not in paths, "the connection is closed"
    return message


async def test_invalid_or_damaged_files_are_not_changed(tmp_path: Path) -> None:
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


async def test_stored_data_is_never_executed(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A planted file calls no function and contains no pickle."""
    path, ran = tmp_path / "t.sqlite", tmp_path / "ran"
    async with _open(path) as store:
        await _put(store.saver)
    command = ormsgpack.packb(("os", "system", f"touch {ran}"))
    planted = ormsgpack.packb(
        {"v": 1, "id": "x", "channel_values": {"a": ormsgpack.Ext(0, command)}}
    )
    for kind, data in (("msgpack", planted), ("pickle", pickle.dumps({"v": 1}))):
        with subtests.test(kind=kind, data=data):
            with closing(sqlite3.connect(path)) as file, file:
                file.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, data))
            with contextlib.suppress(StorageError):
                async with _open(path) as store:
                    assert await store.saver.aget_tuple(CONFIG) is not None
                    assert kind == "msgpack"
    assert not ran.exists()


async def test_after_a_checkpoint_from_a_clock_that_was_ahead(
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    """New checkpoints are the newest, whatever the wall clock says; so is a fork."""
    ahead = UUID(int=uuid6().int + (600_000_000 << 80), version=6)  # 4 hours
    async with _open(tmp_path / "t.sqlite") as store:
        first = await store.saver.aput(CONFIG, empty_checkpoint(), {"source": "input"}, {})
        planted: Any = {**empty_checkpoint(), "id": str(ahead)}
        await store.saver.aput(CONFIG, planted, {"source": "loop"}, {})
        for read in (CONFIG, first):
            with subtests.test(read=read):
                before = await store.saver.aget_tuple(CONFIG)
                assert await store.saver.aget_tuple(read) is not None
                config = await store.saver.aput(CONFIG, empty_checkpoint(), {"source": "loop"}, {})
                newest = await store.saver.aget_tuple(CONFIG)
                assert newest.config == config
                assert before != newest
        (tmp_path / "t.sqlite").unlink()
        with pytest.raises(StorageError, match="removed or replaced"):
            await _put(store.saver)


async def test_one_failed_operation_of_many_fails_alone(tmp_path: Path) -> None:
    async with _open(tmp_path / "t.sqlite") as store:
        configs = [{"thread_id": str(n), "checkpoint_ns": ""} for n in range(30)]
        del configs[7]["thread_id"]
        puts = [_put(store, {"configurable": config}) for config in configs]
        results = await asyncio.gather(*puts, return_exceptions=True)
        assert [n for n, result in enumerate(results) if isinstance(result, Exception)] == [7]
        assert isinstance(results[7], KeyError)
        assert len(await store.recent(99)) == 29
    with pytest.raises(RuntimeError, match="shutdown"):
        await store.recent(1)


async def _instructions_to_list(path: Path, checkpoints: int) -> int:
    """Count SQLite's instructions to list 20 threads with this many checkpoints each."""
    async with _open(path) as store:
        rows = [(f"t{i % 20}", str(uuid6())) for i in range(20 * checkpoints)]
        insert = "INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES (?, ?)"
        count = 0

        def add_one() -> None:
            nonlocal count
            count += 1

        with store.cursor() as cursor:
            cursor.executemany(insert, rows)
        store.conn.set_progress_handler(add_one, 1)
        listed = await store.recent(20)
        store.conn.set_progress_handler(None, 1)
        assert listed == [thread_id for thread_id, _ in rows[:-21:-1]]
        return count


async def test_listing_threads_does_not_read_all_their_checkpoints(tmp_path: Path) -> None:
    few = await _instructions_to_list(tmp_path / "few.sqlite", 5)
    many = await _instructions_to_list(tmp_path / "many.sqlite", 500)
    assert many < 2 * few


async def test_writes_before_a_failed_one_are_rolled_back(tmp_path: Path) -> None:
    """A task that has written something counts as done: a partial write must not remain."""
    row = ("t", "", "c", "task", "", 0, "messages", "json", b"{}")
    async with _open(tmp_path / "t.sqlite") as store:
        saver: Any = store.saver
        saver.setup()
        insert = f"INSERT INTO writes VALUES ({', '.join('?' * len(row))})"
        with pytest.raises(sqlite3.IntegrityError), saver.cursor() as cursor:
            cursor.executemany(insert, [row, row])
        assert saver.conn.execute("SELECT COUNT(*) FROM writes").fetchone() == (0,)


GO_ON = "until [ -e go ]; do sleep 0.05; done; echo did >> log"


def _sentence(result: Result, word: str) -> None:
    assert result.code == 1
    sentence = next(line for line in result.err.splitlines() if line.startswith("manus: "))
    assert word in sentence
    assert "Traceback" not in result.err


def test_a_database_locked_in_the_middle_of_a_run(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo > begun; " + GO_ON))
    with manus.start("run", "--json", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "begun")
        holder = sqlite3.connect(manus.database, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            (manus.workspace / "go").touch()
            broken = process.end()
        finally:
            holder.close()
    _sentence(broken, "is locked")
    assert (broken.json["thread_id"], broken.json["status"]) == ("t", "error")
    assert "is locked" in broken.json["output"]
    assert broken.json["usage"]["model_calls"] == 1
    assert "Resume with: manus resume t\n" in broken.err
    server.script(text("Done."))
    assert manus("resume", "t").code == 0
    assert (manus.workspace / "log").read_text() == "did\n"


def test_a_thread_that_is_damaged(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(text("One."), text("Two."))
    assert manus("run", "--thread", "bad", "hello").code == 0
    assert manus("run", "--thread", "good", "hello").code == 0
    with contextlib.closing(sqlite3.connect(manus.database)) as file, file:
        file.execute("UPDATE checkpoints SET checkpoint = x'9300' WHERE thread_id = 'bad'")
    for arguments in (["run", "--thread", "bad", "more"], ["resume", "bad"], ["show", "bad"]):
        with subtests.test(arguments=arguments):
            _sentence(manus(*arguments), "it is damaged")
    listed = manus("threads")
    rows = [line.split()[:2] for line in listed.out.splitlines()[1:]]
    assert rows == [["good", "finished"], ["bad", "damaged"]]
    assert listed.err.startswith("The thread bad is damaged: ")


def test_a_file_size_limit(manus: Program, server: ScriptedServer) -> None:
    # another large result each time
    server.always(lambda request: call("bash", command=f"seq {len(request.messages)} 2200"))
    # kilobytes
    limited = ["bash", "-c", f'{NO_BYTECODE}; ulimit -f 300; exec "$@"', "bash"]
    _sentence(manus.cold("run", "--max-steps", "40", "--thread", "t", "count", by=limited), "disk")
    assert len(manus("show", "--json", "t").json["messages"]) > 3
    server.script(text("Now there is room."))
    assert manus("resume", "--quiet", "t").out == "Now there is room.\n"


async def test_a_thread_is_held_once_by_its_own_file(tmp_path: Path) -> None:
    thread = "a/b/../c" + "x" * 190
    for _ in range(2):
        async with hold_file(tmp_path, thread), hold_file(tmp_path, thread + "_"):
            assert len(list(tmp_path.iterdir())) == 2
            with pytest.raises(ThreadBusyError, match=f"process {os.getpid()}"):
                async with hold_file(tmp_path, thread):
                    pass
        assert list(tmp_path.iterdir()) == []


async def test_a_lock_that_is_released_soon_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hold_file(tmp_path, "t"):
        [path] = tmp_path.iterdir()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(descriptor, fcntl.LOCK_UN))
    async with hold_file(tmp_path, "t"):
        assert path.exists()
    os.close(descriptor)


async def test_a_lock_file_removed_by_its_last_holder_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, list[Path]()

    def flock(handle: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    async with hold_file(tmp_path, "t"):
        assert list(tmp_path.iterdir()) == removed


def test_the_dictionary_of_stored_values_never_changes() -> None:
    digest = "557f7853786c33fbe3eceb8728d9f92a559be8ed057f3fd1c6e8965b326c4e80"
    assert hashlib.sha256(DICTIONARY).hexdigest() == digest
