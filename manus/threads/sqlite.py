"""The store of threads in a SQLite file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import Context, copy_context
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.sqlite import SqliteSaver

from manus.config.context import RUNNING
from manus.state.errors import StorageError
from manus.threads import maintenance, rewind
from manus.threads.base import RECENT, Store, StoredThread, make_ids_later_than
from manus.threads.recent_histories import RecentHistories
from manus.threads.records.inbox import CREATE_INBOX
from manus.threads.records.sqlite import SqliteRecords
from manus.threads.records.store_version import check_sqlite_version, mark_sqlite_version
from manus.threads.serializer import CompactSerializer
from manus.threads.thread_lock import hold_file
from manus.workspace.safe_open import list_sizes

_T = TypeVar("_T")
_Operation = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_Result = tuple["asyncio.Future[Any]", Any, Exception | None]

_LOCK_TIMEOUT = 5.0
"""Seconds to wait for another process to release its lock."""
_ELSEWHERE = "or choose another file with MANUS_CHECKPOINT."

# By prefix of SQLite's error name.
_REASONS = {
    "SQLITE_BUSY": f"is locked by another process, which did not release it within "
    f"{_LOCK_TIMEOUT:.0f} s; stop that process, {_ELSEWHERE}",
    "SQLITE_CORRUPT": f"is damaged ({{message}}); restore it from a backup, {_ELSEWHERE}",
    "SQLITE_NOTADB": f"is not a SQLite database; rename or move it, {_ELSEWHERE}",
    "SQLITE_FULL": "cannot grow because the disk is full; free some space, then resume: what was "
    "saved so far is kept.",
    "SQLITE_IOERR": "cannot be written ({message}): the disk may be full or failing; what was "
    "saved so far is kept.",
}
"""Other errors are reported with SQLite's message."""

# Like the base class's table, but WITHOUT ROWID: a separate index would repeat each key, which is a
# seventh of the file. The index of the other table is small, and lists the threads.
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
_RECENT = RECENT.format(limit="?", materialized="")


def _run_in_store_thread(method: Callable[..., _T]) -> Callable[..., Coroutine[Any, Any, _T]]:
    """Turn a method into a coroutine that runs in the store's thread."""

    @wraps(method)  # LangGraph inspects the argument names
    async def run(store: Any, /, *args: Any, **kwargs: Any) -> _T:
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        store.thread.add(partial(method, store, *args, **kwargs), future)
        return await future

    return run


class _BatchThread:
    """Worker thread that runs all operations queued since the previous batch as one batch.

    With many concurrent runs, switching threads costs more than SQLite itself: without batches it
    took a third of the total time.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "manus-store")
        self._waiting: dict[asyncio.AbstractEventLoop, list[_Operation]] = {}
        """Queued operations by event loop; a key exists while a batch of that loop is running."""

    def add(self, function: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        """Queue a function for the next batch; its result goes to `future`."""
        loop = future.get_loop()
        if loop not in self._waiting:
            self._waiting[loop] = []
            loop.call_soon(self._submit, loop)
        self._waiting[loop].append((function, future))

    def close(self) -> None:
        """Run the queued operations and stop the thread. Blocking."""
        self._executor.shutdown()

    def _submit(self, loop: asyncio.AbstractEventLoop) -> None:
        if not (batch := self._waiting[loop]):
            del self._waiting[loop]
            return
        self._waiting[loop] = []
        try:
            self._executor.submit(self._run_batch, loop, batch)
        except RuntimeError as error:  # the executor is shut down
            self._resolve(loop, [(future, None, error) for _, future in batch])

    def _run_batch(self, loop: asyncio.AbstractEventLoop, batch: list[_Operation]) -> None:
        results: list[_Result] = []
        for function, future in batch:
            try:
                result = None if future.cancelled() else function()
                results.append((future, result, None))
            except Exception as error:  # noqa: BLE001 - passed on to the caller
                results.append((future, None, error))
        loop.call_soon_threadsafe(self._resolve, loop, results)

    def _resolve(self, loop: asyncio.AbstractEventLoop, results: list[_Result]) -> None:
        for future, result, error in results:
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._submit(loop)


class SqliteStore(SqliteSaver, Store):
    """An open SQLite file, usable from any thread and any event loop.

    Coroutines run their SQL in one worker thread.
    """

    records: SqliteRecords

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        # Thread-safe: the base class takes a lock around each use.
        connection = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, check_same_thread=False)
        super().__init__(connection, serde=CompactSerializer())
        self.thread = _BatchThread()
        self._recent = RecentHistories()
        self.records = SqliteRecords(path)
        try:
            self._inode = path.stat().st_ino
            self._configure()
        except BaseException:  # the caller has no store to close
            self.close()
            raise

    async def complete_rewind(self, thread_id: str) -> None:
        """As in the base class."""
        await rewind.complete_rewind(self, thread_id)

    def _configure(self) -> None:
        """Set the file's options and create its tables."""
        check_sqlite_version(self.conn, self.location)
        with self.cursor(transaction=False) as cursor:
            # With the write-ahead log, a commit survives a crash of the process without an fsync,
            # the same guarantee as the journal of tool calls; FULL would sync each commit.
            cursor.execute("PRAGMA synchronous=NORMAL")

    def setup(self) -> None:
        """Create the tables; the base class skips a table that exists."""
        if not self.is_setup:
            self.conn.execute(_WRITES)
            self.conn.execute(CREATE_INBOX)
            mark_sqlite_version(self.conn)
        super().setup()

    def close(self) -> None:
        """Finish queued operations and close the file. Blocking."""
        self.thread.close()
        self.records.inbox.close()
        self.conn.close()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor for one atomic transaction, rolled back if anything in it fails.

        The base class would commit what came before the failure. On a full disk that is only some
        of a task's writes, and a task with any write counts as done.

        Raises:
            StorageError: the file was removed or replaced while open.
        """
        with super().cursor(transaction=False) as cursor:
            if not transaction:
                yield cursor
                return
            # SQLite would keep writing to the unlinked file
            if not (self.path.exists() and self.path.stat().st_ino == self._inode):
                raise StorageError(
                    f"The store of threads {self.path} was removed or replaced while in use; the "
                    "work of this run since then is not stored. Put the file back and resume, or "
                    "start again."
                )
            with self.conn:
                yield cursor

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As in the base class; later checkpoints get ids after the newest one."""
        configurable = config["configurable"]
        values = (str(configurable["thread_id"]), configurable.get("checkpoint_ns", ""))
        with self.cursor(transaction=False) as cursor:
            [newest] = cursor.execute(_NEWEST, values).fetchone()
        make_ids_later_than(newest)
        return super().get_tuple(config)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As in the base class; a run reads only what is new since the thread's previous run."""
        base = partial(super().get_delta_channel_history, config=config, channels=channels)
        is_run = RUNNING in config["configurable"]  # others may change what they get meanwhile
        return self._recent.read(config, channels, super().get_tuple, base) if is_run else base()

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """As in the base class, without the random part, which is unused and incompressible."""
        return f"{int((current or '0').split('.')[0]) + 1:032}"

    async def alist(
        self, config: RunnableConfig | None, **filters: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints as `list` does."""
        context = copy_context()  # of the reader, for the store's thread
        for checkpoint in await self._list_all(context, config, **filters):
            yield checkpoint

    @_run_in_store_thread
    def _list_all(
        self, context: Context, config: RunnableConfig | None, **filters: Any
    ) -> list[CheckpointTuple]:
        return context.run(lambda: [*self.list(config, **filters)])

    def put(self, config: RunnableConfig, *rest: Any) -> RunnableConfig:
        """As in the base class; check the inbox of the thread for the next step."""
        stored = super().put(config, *rest)
        self.records.inbox.look(str(config["configurable"]["thread_id"]))
        return stored

    def delete_thread(self, thread_id: str) -> None:
        """As in the base class, with the inbox of the thread."""
        super().delete_thread(thread_id)
        self.records.inbox.delete_thread(str(thread_id))

    aget_tuple = _run_in_store_thread(get_tuple)
    aput = _run_in_store_thread(put)
    aput_writes = _run_in_store_thread(SqliteSaver.put_writes)
    adelete_thread = _run_in_store_thread(delete_thread)
    aget_delta_channel_history = _run_in_store_thread(get_delta_channel_history)

    @_run_in_store_thread
    def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or those of their checkpoints that the newest ones do not need."""
        with self.cursor() as cursor:
            for thread_id in thread_ids:
                maintenance.prune(cursor, self.serde, str(thread_id), strategy)
        if strategy == "delete":
            for thread_id in thread_ids:
                self.records.inbox.delete_thread(str(thread_id))

    @_run_in_store_thread
    def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to a new one."""
        with self.cursor() as cursor:
            maintenance.copy_thread(cursor, str(source_thread_id), str(target_thread_id))

    @_run_in_store_thread
    def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs that no later run needs."""
        with self.cursor() as cursor:
            maintenance.delete_runs(cursor, self.serde, [*map(str, run_ids)])

    @_run_in_store_thread
    def measure(self, thread_ids: Sequence[str]) -> dict[str, StoredThread]:
        """As in the base class; journals are files."""
        with self.cursor(transaction=False) as cursor:
            threads = maintenance.measure(cursor, thread_ids)
        journals = list_sizes(self.records.folder) if len(threads) > 1 else None
        for thread_id, thread in threads.items():
            for namespace in thread.sizes:
                log = self.records.log(thread_id, namespace)
                if journals is None:  # not worth a listing
                    thread.sizes[namespace] += log.size()
                else:
                    thread.sizes[namespace] += journals.get(log.path.name, 0)
        return threads

    @_run_in_store_thread
    def total_size(self) -> int:
        """As in the base class."""
        journals = self.path.with_name(f"{self.path.name}.journal")
        files = [self.path, self.path.with_name(f"{self.path.name}-wal"), *journals.glob("*")]
        return sum(file.stat().st_size for file in files if file.exists())

    @_run_in_store_thread
    def read_workspaces(self, thread_id: str) -> list[str]:
        """As in the base class."""
        with self.cursor(transaction=False) as cursor:
            return maintenance.read_workspaces(cursor, thread_id)

    @_run_in_store_thread
    def write_title(self, thread_id: str, title: str) -> None:
        """As in the base class."""
        with self.cursor() as cursor:
            maintenance.write_title(cursor, thread_id, title)

    @_run_in_store_thread
    def keep_only(self, thread_id: str, checkpoint_id: str) -> None:
        """As in the base class."""
        with self.cursor() as cursor:
            maintenance.keep_only(cursor, thread_id, checkpoint_id)

    @_run_in_store_thread
    def reclaim_space(self) -> None:
        """Shrink the file if much of it is free and no other process is using it."""
        with contextlib.suppress(sqlite3.OperationalError), self.cursor(transaction=False):
            if maintenance.has_much_free_space(self.conn):
                self.conn.execute("VACUUM")

    @_run_in_store_thread
    def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        with self.cursor(transaction=False) as cursor:
            return [str(row[0]) for row in cursor.execute(_RECENT, (limit,))]

    def acquire(
        self,
        thread_id: str,
        run_id: str | None = None,  # noqa: ARG002
    ) -> AbstractAsyncContextManager[None]:
        """Lock a thread inside the block, or raise `ThreadBusyError`.

        The lock ends with its process, so there is nothing to take over.
        """
        return hold_file(self.path.with_name(f"{self.path.name}.locks"), thread_id)


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[SqliteStore]:
    """Open a SQLite file as a store of threads; create it, readable by its owner only, if missing.

    Example:
        async with open_sqlite(Path("threads.sqlite")) as store:
            agent = build_agent(checkpointer=store)

    Raises:
        StorageError: the file cannot be opened, or an operation in the block failed.
    """
    path = await asyncio.to_thread(_create_file, path)
    with _translate_errors(path):
        store = await asyncio.to_thread(SqliteStore, path)
        try:
            yield store
        finally:
            await asyncio.to_thread(store.close)


def _create_file(path: Path) -> Path:
    try:
        path = path.expanduser().absolute()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"Cannot open {path} for writing ({getattr(error, 'strerror', error)}); "
            f"change its permissions, {_ELSEWHERE}"
        ) from None
    os.close(handle)
    return path


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        reason = f"cannot be used ({{message}}); check its permissions, {_ELSEWHERE}"
        for prefix, text in _REASONS.items():
            if name.startswith(prefix):
                reason = text
        raise StorageError(f"The store of threads {path} {reason.format(message=error)}") from error
