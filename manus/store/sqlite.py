"""Threads in a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

from manus.state.errors import StorageError
from manus.store.checkpoint import CompactSerializer, Store, make_ids_later_than
from manus.store.thread_lock import hold_file

_T = TypeVar("_T")
_Asked = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_Ended = tuple["asyncio.Future[Any]", Any, Exception | None]

_WAIT = 5.0
"""Seconds that a lock of another process is waited for."""
_ELSEWHERE = "or choose another file with MANUS_CHECKPOINT."

# By the beginning of SQLite's own name for the error.
_REASONS = {
    "SQLITE_BUSY": f"is locked by another process and did not come free within {_WAIT:.0f} s; "
    f"end that process, {_ELSEWHERE}",
    "SQLITE_CORRUPT": f"is damaged ({{said}}); restore it from a backup, {_ELSEWHERE}",
    "SQLITE_NOTADB": f"is not a SQLite database; move it away, {_ELSEWHERE}",
    "SQLITE_FULL": "cannot grow: the disk is full; make room and resume, what was saved so far "
    "is kept.",
    "SQLITE_IOERR": "cannot be written ({said}): the disk may be full or failing; what was saved "
    "so far is kept.",
}
"""Other errors are told in SQLite's own words."""

# As the base makes it, but kept in the order of its key: else an index has each key once more,
# which is a seventh of the file. The other table's index is small, and lists the threads.
_WRITES = """
    CREATE TABLE IF NOT EXISTS writes (
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL DEFAULT '',
        checkpoint_id TEXT NOT NULL,
        task_id TEXT NOT NULL,
        task_path TEXT NOT NULL DEFAULT '',
        idx INTEGER NOT NULL,
        channel TEXT NOT NULL,
        type TEXT,
        value BLOB,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    ) WITHOUT ROWID
"""


_NEWEST = "SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?"
_RECENT = """
    SELECT thread_id FROM checkpoints WHERE checkpoint_ns = ''
    GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC LIMIT ?
"""


def _in_its_thread(use: Callable[..., _T]) -> Callable[..., Coroutine[Any, Any, _T]]:
    """The same as a coroutine, done in the store's own thread."""

    @wraps(use)  # LangGraph looks at the names of its arguments
    async def used(store: Any, /, *args: Any, **more: Any) -> _T:
        asked: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        store.thread.add(partial(use, store, *args, **more), asked)
        return await asked

    return used


class _BatchThread:
    """A thread that is handed batches: all that a loop has asked for while the last was worked on.

    With many runs at once the handing over, not SQLite, is what a step waits for: one at a time
    took a third of the whole.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "manus-store")
        self._waiting: dict[asyncio.AbstractEventLoop, list[_Asked]] = {}
        """By loop, as long as there is a batch of it under way."""

    def add(self, work: Callable[[], Any], asked: asyncio.Future[Any]) -> None:
        """Have work done with the next batch; `asked` is told what came of it."""
        loop = asked.get_loop()
        if loop not in self._waiting:
            self._waiting[loop] = []
            loop.call_soon(self._begin, loop)
        self._waiting[loop].append((work, asked))

    def close(self) -> None:
        """Do what has been handed over; nothing is taken any more. Blocking."""
        self._executor.shutdown()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if not (batch := self._waiting[loop]):
            del self._waiting[loop]
            return
        self._waiting[loop] = []
        try:
            self._executor.submit(self._carry_out, loop, batch)
        except RuntimeError as error:  # it is closed
            self._end(loop, [(asked, None, error) for _, asked in batch])

    def _carry_out(self, loop: asyncio.AbstractEventLoop, batch: list[_Asked]) -> None:
        ended: list[_Ended] = []
        for work, asked in batch:
            try:
                ended.append((asked, None if asked.cancelled() else work(), None))
            except Exception as error:  # noqa: BLE001 - told to whoever has asked
                ended.append((asked, None, error))
        loop.call_soon_threadsafe(self._end, loop, ended)

    def _end(self, loop: asyncio.AbstractEventLoop, ended: list[_Ended]) -> None:
        for asked, result, error in ended:
            if asked.done():
                continue
            if error is None:
                asked.set_result(result)
            else:
                asked.set_exception(error)
        self._begin(loop)


class SqliteStore(SqliteSaver, Store):
    """An open file, from any thread and any event loop.

    What a coroutine asks of it is done in one thread of its own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        # Several threads may use it, one at a time: the base has a lock around each use.
        connection = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)
        super().__init__(connection, serde=CompactSerializer())
        self.thread = _BatchThread()
        try:
            self._inode = path.stat().st_ino
            self._configure()
        except BaseException:  # whoever asked for the store has nothing to close
            self.close()
            raise

    def _configure(self) -> None:
        """Set the file's options and create its tables."""
        # Of a new file: less of it stays unused.
        self.conn.execute("PRAGMA page_size=8192")
        with self.cursor(transaction=False) as cursor:
            # With its write-ahead log a commit survives the death of the process without waiting
            # for the disk, which is what the journal of tool calls promises too; FULL would wait.
            cursor.execute("PRAGMA synchronous=NORMAL")

    def setup(self) -> None:
        """As the base, which leaves a table alone that is there already."""
        if not self.is_setup:
            self.conn.execute(_WRITES)
        super().setup()

    def close(self) -> None:
        """Do what is still asked for, and close the file. Blocking."""
        self.thread.close()
        self.conn.close()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """A cursor for one transaction, taken back whole if anything in it fails.

        The base commits what came before the failure: on a full disk a part of what a task has
        written, and a task with something written counts as done.
        """
        with super().cursor(transaction=False) as cursor:
            if not transaction:
                yield cursor
                return
            # SQLite goes on writing to a file that nobody will find again
            if not (self.path.exists() and self.path.stat().st_ino == self._inode):
                raise StorageError(
                    f"The store of threads {self.path} was removed or replaced while it was in "
                    "use; what the run did since is not stored. Put it back, or begin anew."
                )
            with self.conn:
                yield cursor

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As the base; what is written next comes after the newest of the thread."""
        named = config["configurable"]
        values = (str(named["thread_id"]), named.get("checkpoint_ns", ""))
        with self.cursor(transaction=False) as cursor:
            [newest] = cursor.execute(_NEWEST, values).fetchone()
        make_ids_later_than(newest)
        return super().get_tuple(config)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """As the base, without its random part: nothing reads it, and it cannot be compressed."""
        return f"{int((current or '0').split('.')[0]) + 1:032}"

    async def alist(
        self, config: RunnableConfig | None, **chosen: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        for found in await self._all(config, **chosen):
            yield found

    @_in_its_thread
    def _all(self, config: RunnableConfig | None, **chosen: Any) -> list[CheckpointTuple]:
        return [*self.list(config, **chosen)]

    aget_tuple = _in_its_thread(get_tuple)
    aput = _in_its_thread(SqliteSaver.put)
    aput_writes = _in_its_thread(SqliteSaver.put_writes)
    adelete_thread = _in_its_thread(SqliteSaver.delete_thread)
    aget_delta_channel_history = _in_its_thread(SqliteSaver.get_delta_channel_history)

    @_in_its_thread
    def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""
        with self.cursor(transaction=False) as cursor:
            return [str(row[0]) for row in cursor.execute(_RECENT, (limit,))]

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Keep others from working on a thread, or raise `ThreadBusyError`."""
        return hold_file(self.path.with_name(f"{self.path.name}.locks"), thread_id)


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[SqliteStore]:
    """Open a file, made for its user alone if there is none.

    Raises:
        StorageError: it cannot be opened, or a use of it inside the block went wrong.
    """
    path = await asyncio.to_thread(_prepare, path)
    with _explained(path):
        store = await asyncio.to_thread(SqliteStore, path)
        try:
            yield store
        finally:
            await asyncio.to_thread(store.close)


def _prepare(path: Path) -> Path:
    try:
        path = path.expanduser().absolute()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"{path} cannot be opened for writing ({getattr(error, 'strerror', error)}); "
            f"change its permissions, {_ELSEWHERE}"
        ) from None
    os.close(handle)
    return path


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        known = (reason for begin, reason in _REASONS.items() if name.startswith(begin))
        why = next(known, f"cannot be used ({{said}}); check its permissions, {_ELSEWHERE}")
        raise StorageError(f"The store of threads {path} {why.format(said=error)}") from error
