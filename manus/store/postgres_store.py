"""The store of threads in a PostgreSQL database, with advisory locks and retries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, LiteralString

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Ping
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from manus.state.errors import SettingsError, StorageError, ThreadBusyError
from manus.state.events import RetryEvent
from manus.store.base import Store, make_ids_later_than
from manus.store.postgres_retry import (
    CONNECT_TIMEOUT,
    PostgresRetry,
    describe_error,
    ping,
    strip_credentials,
)
from manus.store.serializer import CompactSerializer
from manus.store.thread_lock import ATTEMPTS, PAUSE, thread_busy_error

log = logging.getLogger("manus")

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "connect_timeout": CONNECT_TIMEOUT,
}
_STOP_TIMEOUT = 2.0
"""Seconds to get a connection after a stop signal."""
_NEWEST = """
    SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s
"""
_NEWEST_OF_ALL = "SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = %s"
_RECENT = """
    SELECT thread_id FROM checkpoints WHERE checkpoint_ns = ''
    GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC LIMIT %s
"""
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('manus:' || %s, 0)) AS held"
Connection = psycopg.AsyncConnection[DictRow]


@dataclass(slots=True)
class _Hold:
    """A thread locked by this process, through an advisory lock on its own connection."""

    connection: Connection
    checkpoint_ids: set[str | None]
    """The newest checkpoint at the time of locking, and all written since."""
    is_lost: bool = False
    """Whether another process has written to the thread since; then this one must not."""
    checking: asyncio.Lock = field(default_factory=asyncio.Lock)


class PostgresStore(AsyncPostgresSaver, Store):
    """An open database. Operations are idempotent and retried after an outage."""

    def __init__(self, pool: AsyncConnectionPool[Connection], retry: PostgresRetry) -> None:
        super().__init__(pool, serde=CompactSerializer())
        self._pool = pool
        self._retry = retry
        self._url = retry.url
        self.location = strip_credentials(retry.url)
        self._holds: dict[str, _Hold] = {}

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

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, *rest: Any
    ) -> RunnableConfig:
        """As in the base class, after checking that this process still holds the lock."""
        thread_id = str(config["configurable"]["thread_id"])
        base = super().aput

        async def put() -> RunnableConfig:
            await self._check_hold(thread_id)
            if (hold := self._holds.get(thread_id)) is not None:
                hold.checkpoint_ids.add(checkpoint["id"])
            return await base(config, checkpoint, *rest)

        return await self._retry.call(put)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As in the base class, after checking that this process still holds the lock."""
        base = super().aput_writes

        async def put() -> None:
            await self._check_hold(str(config["configurable"]["thread_id"]))
            await base(config, writes, task_id, task_path)

        await self._retry.call(put)

    async def adelete_thread(self, thread_id: str) -> None:
        """As in the base class."""
        if (hold := self._holds.get(str(thread_id))) is not None:
            hold.checkpoint_ids.add(None)
        await self._retry.call(partial(super().adelete_thread, thread_id))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As in the base class."""
        base = super().aget_delta_channel_history
        return await self._retry.call(partial(base, config=config, channels=channels))

    async def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        return [str(row["thread_id"]) for row in await self._rows(_RECENT, (limit,))]

    async def _rows(self, query: LiteralString, values: tuple[Any, ...]) -> list[DictRow]:
        async def read() -> list[DictRow]:
            async with self._pool.connection() as connection:
                return await (await connection.execute(query, values)).fetchall()

        return await self._retry.call(read)

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Lock a thread for this process inside the block; other machines respect the lock too.

        The lock belongs to a separate connection, so it is released when the process ends or the
        connection breaks. Each write checks that the connection is still alive.

        Raises:
            ThreadBusyError: another process holds the thread.
        """
        hold = await self._retry.call(partial(self._lock, thread_id))
        self._holds[thread_id] = hold
        try:
            yield
        finally:
            del self._holds[thread_id]
            await hold.connection.close()

    async def _lock(self, thread_id: str) -> _Hold:
        """Lock a thread on a new connection.

        Raises:
            ThreadBusyError: another connection has locked it.
        """
        connection = await psycopg.AsyncConnection.connect(self._url, **_OPTIONS)
        try:
            for _ in range(ATTEMPTS):
                row = await (await connection.execute(_LOCK, (thread_id,))).fetchone()
                if row is not None and row["held"]:
                    break
                await asyncio.sleep(PAUSE)
            else:
                raise thread_busy_error(thread_id)
            newest = await (await connection.execute(_NEWEST_OF_ALL, (thread_id,))).fetchone()
        except BaseException:
            await connection.close()
            raise
        return _Hold(connection, {newest["newest"] if newest else None})

    async def _check_hold(self, thread_id: str) -> None:
        """Check that the lock is still held; lock again if the connection was lost.

        Raises:
            StorageError: another process holds the thread, or has written to it meanwhile.
        """
        if (hold := self._holds.get(thread_id)) is None:
            return
        async with hold.checking:
            if not (hold.is_lost or await _is_alive(hold.connection)):
                await self._lock_again(thread_id, hold)
            if hold.is_lost:
                raise StorageError(
                    f"Another process continued the thread {thread_id} while the connection to the "
                    "database was lost; the work of this run since then is not stored. Resume the "
                    "thread after that process has ended."
                )

    async def _lock_again(self, thread_id: str, hold: _Hold) -> None:
        try:
            renewed = await self._lock(thread_id)
        except ThreadBusyError:
            hold.is_lost = True
        else:
            hold.connection = renewed.connection
            hold.is_lost = not renewed.checkpoint_ids <= hold.checkpoint_ids


async def _is_alive(connection: Connection) -> bool:
    """Return whether a connection works; close a broken one."""
    try:
        await connection.execute("SELECT 1")
    except (psycopg.OperationalError, psycopg.InterfaceError):
        await connection.close()
        return False
    return True


@asynccontextmanager
async def open_database(url: str, retry_for: float = 0) -> AsyncIterator[PostgresStore]:
    """Open a database as `open_postgres` does."""
    with _translate_errors(url):
        retry = PostgresRetry(url, retry_for)
        await _set_up(retry)
        check = AsyncConnectionPool.check_connection
        options: dict[str, Any] = {"timeout": CONNECT_TIMEOUT, "kwargs": _OPTIONS, "check": check}
        # After the pool gives up, the next use reconnects at once; its backoff would reach minutes.
        options["reconnect_timeout"] = CONNECT_TIMEOUT
        async with AsyncConnectionPool(url, min_size=1, max_size=4, open=False, **options) as pool:
            yield PostgresStore(pool, retry)


async def _set_up(retry: PostgresRetry) -> None:
    """Create the tables, on a separate connection.

    A pool would report a wrong password only as a timeout.
    """
    try:
        await _create_tables(retry.url)
    except psycopg.OperationalError as error:
        if await ping(retry.url) is not Ping.REJECT:
            raise
        log.warning("%s is starting up; waiting for it", strip_credentials(retry.url))
        await retry.wait_for_server(error)
        await _create_tables(retry.url)


async def _create_tables(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, **_OPTIONS) as connection:
        await AsyncPostgresSaver(connection).setup()


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
