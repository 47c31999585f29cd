"""The store of threads in a PostgreSQL database, with advisory locks and retries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, LiteralString

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Ping
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg_pool import AsyncConnectionPool

from manus.state.errors import SettingsError, StorageError, UsageError
from manus.state.events import RetryEvent
from manus.threads import maintenance_texts as texts
from manus.threads import postgres_maintenance as maintenance
from manus.threads import rewind
from manus.threads.base import RECENT, Store, StoredThread, make_ids_later_than
from manus.threads.postgres_retry import (
    PostgresRetry,
    describe_error,
    ping,
    strip_credentials,
)
from manus.threads.records.postgres import PostgresRecords
from manus.threads.records.postgres_saver import FencedSaver
from manus.threads.records.postgres_sql import HAS_META, READ_META
from manus.threads.records.store_version import check_store_version
from manus.threads.serializer import CompactSerializer

log = logging.getLogger("manus")

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
}
_STOP_TIMEOUT = 2.0
"""Seconds to get a connection after a stop signal."""
_NEWEST = """
    SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s
"""
_RECENT = RECENT.format(limit="%s", materialized="MATERIALIZED")
_LOCK_SETUP = "SELECT pg_try_advisory_lock(hashtextextended('manus tables', 0)) AS is_locked"
_SETUP_PAUSE = 0.05
"""Seconds between two attempts to lock the creation of tables."""
_NEWEST_MIGRATION = "SELECT max(v) AS newest FROM checkpoint_migrations"
Connection = psycopg.AsyncConnection[DictRow]


class PostgresStore(FencedSaver, Store):
    """An open database. Operations are idempotent and retried after an outage."""

    records: PostgresRecords

    def __init__(self, pool: AsyncConnectionPool[Connection], retry: PostgresRetry) -> None:
        super().__init__(pool, serde=CompactSerializer())
        self._pool = pool
        self._retry = retry
        self.location = strip_credentials(retry.url)
        self.records = PostgresRecords(retry.url, self.location, self._run)

    async def _run(self, operation: Callable[[], Any]) -> Any:
        """Await a blocking operation of the records, retried after an outage."""
        return await self._retry.call(partial(self.records.run_in_thread, operation))

    async def complete_rewind(self, thread_id: str) -> None:
        """As in the base class."""
        await rewind.complete_rewind(self, thread_id)

    def watch_outages(self, report: Callable[[RetryEvent], None]) -> None:
        """As in the base class."""
        self._retry.on_retry = report

    def stop_waiting(self) -> None:
        """As in the base class."""
        self._retry.retry_for = 0
        self._pool.timeout = _STOP_TIMEOUT

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As in the base class; later checkpoints get ids after the newest one."""
        configurable = config["configurable"]
        values = (str(configurable["thread_id"]), configurable.get("checkpoint_ns", ""))
        for row in await self._rows(_NEWEST, values):
            make_ids_later_than(row["newest"])
        return await self._retry.call(partial(super().aget_tuple, config))

    async def alist(
        self, config: RunnableConfig | None, **filters: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """As in the base class."""
        base = super().alist

        async def read() -> list[CheckpointTuple]:
            return [checkpoint async for checkpoint in base(config, **filters)]

        for checkpoint in await self._retry.call(read):
            yield checkpoint

    async def aput(self, config: RunnableConfig, *rest: Any) -> RunnableConfig:
        """As in the base class, if this process still holds the thread."""
        return await self._retry.call(partial(super().aput, config, *rest))

    async def aput_writes(self, config: RunnableConfig, *rest: Any, **options: Any) -> None:
        """As in the base class, if this process still holds the thread."""
        await self._retry.call(partial(super().aput_writes, config, *rest, **options))

    async def adelete_thread(self, thread_id: str) -> None:
        """As in the base class, with the records of the thread."""
        await self.records.run(partial(self.records.forget, str(thread_id)))
        await self._retry.call(partial(super().adelete_thread, thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As in the base class; with `delete`, the records of the threads are deleted too."""
        if strategy == "delete":
            for thread_id in thread_ids:
                await self.adelete_thread(str(thread_id))
            return
        await self._retry.call(partial(super().aprune, thread_ids, strategy=strategy))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to a new one.

        Raises:
            UsageError: the target exists.
        """
        target = str(target_thread_id)
        if await self._rows(maintenance.EXISTS, (target,)):
            raise UsageError(texts.explain_existing(target))
        await self._execute(maintenance.COPY, (target, str(source_thread_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs that no later run needs.

        Raises:
            UsageError: a later run on the thread needs one of them.
        """
        runs = {"runs": [*map(str, run_ids)]}
        for row in await self._rows(maintenance.NEEDED, runs):
            raise UsageError(texts.explain_needed(row["thread_id"]))
        await self._execute(maintenance.DELETE_RUNS, runs)

    async def _execute(self, statements: Sequence[LiteralString], values: Any) -> None:
        """Execute idempotent statements in one transaction."""

        async def write() -> None:
            async with self._pool.connection() as connection, connection.transaction():
                for statement in statements:
                    await connection.execute(statement, values)

        await self._retry.call(write)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As in the base class."""
        base = super().aget_delta_channel_history
        return await self._retry.call(partial(base, config=config, channels=channels))

    async def measure(self, thread_ids: Sequence[str]) -> dict[str, StoredThread]:
        """As in the base class."""
        await self.records.run(self.records.load_key)  # creates the tables, if they are missing
        threads = {thread_id: StoredThread() for thread_id in thread_ids}
        for row in await self._rows(maintenance.SIZES, {"threads": [*thread_ids]}):
            thread = threads[row["thread_id"]]
            thread.sizes[row["checkpoint_ns"]] = int(row["size"] or 0)
            if not row["checkpoint_ns"]:
                thread.newest = row["newest"] or ""
        return threads

    async def total_size(self) -> int:
        """As in the base class: the size of its tables and their indexes."""
        [row] = await self._rows(maintenance.TOTAL_SIZE, ())
        return int(row["size"])

    async def read_workspaces(self, thread_id: str) -> list[str]:
        """As in the base class."""
        rows = await self._rows(maintenance.WORKSPACES, (thread_id,))
        return [str(row["workspace"]) for row in rows]

    async def write_title(self, thread_id: str, title: str) -> None:
        """As in the base class."""
        await self._execute((maintenance.WRITE_TITLE,), (title, thread_id))

    async def keep_only(self, thread_id: str, checkpoint_id: str) -> None:
        """As in the base class."""
        values = {"thread": thread_id, "checkpoint": checkpoint_id}
        await self._execute(maintenance.KEEP_ONLY, values)

    async def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        return [str(row["thread_id"]) for row in await self._rows(_RECENT, (limit,))]

    async def _rows(self, query: LiteralString, values: Any) -> list[DictRow]:
        async def read() -> list[DictRow]:
            async with self._pool.connection() as connection:
                return await (await connection.execute(query, values)).fetchall()

        return await self._retry.call(read)

    async def holders(self, thread_ids: Sequence[str]) -> dict[str, str]:
        """As in the base class."""
        holders: dict[str, str] = await self.records.run(partial(self.records.holders, thread_ids))
        return holders

    def acquire(
        self, thread_id: str, run_id: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """As in the base class; other machines respect the lock too."""
        return self.records.hold(thread_id, run_id)


@asynccontextmanager
async def open_database(url: str, retry_for: float = 0) -> AsyncIterator[PostgresStore]:
    """Open a database as `open_postgres` does."""
    with _translate_errors(url):
        retry = PostgresRetry(url, retry_for)
        await _set_up(retry)
        check = AsyncConnectionPool.check_connection
        kwargs = {**_OPTIONS, "connect_timeout": retry.connect_timeout}
        options: dict[str, Any] = {"kwargs": kwargs, "check": check}
        options["timeout"] = retry.connect_timeout
        # After the pool gives up, the next use reconnects immediately; its backoff would reach
        # minutes.
        options["reconnect_timeout"] = retry.connect_timeout
        async with AsyncConnectionPool(url, min_size=1, max_size=4, open=False, **options) as pool:
            store = PostgresStore(pool, retry)
            try:
                yield store
            finally:
                await asyncio.to_thread(store.records.close)


async def _set_up(retry: PostgresRetry) -> None:
    """Create the tables, on a separate connection.

    A pool would report a wrong password only as a timeout.
    """
    try:
        await _create_tables(retry)
    except psycopg.OperationalError as error:
        if await ping(retry.url) is not Ping.REJECT:
            raise
        log.warning("%s is starting up; waiting for it", strip_credentials(retry.url))
        await retry.wait_for_server(error)
        await _create_tables(retry)


async def _create_tables(retry: PostgresRetry) -> None:
    """Create the tables of the checkpoints, or upgrade them.

    Raises:
        StorageError: they are from a newer version, or the role may not create them.
    """
    options = {**_OPTIONS, "connect_timeout": retry.connect_timeout}
    async with await psycopg.AsyncConnection.connect(retry.url, **options) as connection:
        await _check_version(connection, strip_credentials(retry.url))
        # LangGraph's migrations fail if two processes execute them concurrently. Blocking on the
        # lock in the database would deadlock with the migrations that build an index.
        while not await _lock_setup(connection):  # noqa: ASYNC110 - the lock is in the database
            await asyncio.sleep(_SETUP_PAUSE)
        try:
            await AsyncPostgresSaver(connection).setup()
        except psycopg.errors.InsufficientPrivilege as error:
            raise StorageError(
                f"{strip_credentials(retry.url)} cannot be used: the tables cannot be created "
                f"({error.diag.message_primary}); let the role create tables, or run manus once "
                "as a role that can."
            ) from None
        row = await (await connection.execute(_NEWEST_MIGRATION)).fetchone()
    if row is not None and row["newest"] >= len(AsyncPostgresSaver.MIGRATIONS):
        raise StorageError(
            f"The checkpoints in {strip_credentials(retry.url)} were written by a newer version of "
            "langgraph-checkpoint-postgres; update it on this machine."
        )


async def _lock_setup(connection: Connection) -> bool:
    """Lock the creation of tables until the connection is closed; return whether that succeeds."""
    row = await (await connection.execute(_LOCK_SETUP)).fetchone()
    return row is not None and bool(row["is_locked"])


async def _check_version(connection: Connection, location: str) -> None:
    """Refuse a database that a newer release has written, without writing to it."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        row = await (await cursor.execute(HAS_META)).fetchone()
        if row is None or not row[0]:
            return
        row = await (await cursor.execute(READ_META, ("schema",))).fetchone()
        if row is not None:
            check_store_version(int(row[0]), location)


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    try:
        location = strip_credentials(url)
        conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        # without the parser's message, which may contain the password
        raise SettingsError(
            "MANUS_CHECKPOINT is not a valid postgresql:// URL; it looks like "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
    try:
        yield
    except psycopg.Error as error:
        raise StorageError(
            f"{location} cannot be used: {describe_error(error, url)}; "
            "check the server and MANUS_CHECKPOINT."
        ) from None
