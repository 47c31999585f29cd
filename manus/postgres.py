"""Threads in a PostgreSQL database; needs the packages of the extra `postgres`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, LiteralString
from urllib.parse import urlsplit

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from manus.checkpoint import CompactSerializer, Store, make_ids_later_than
from manus.state.errors import SettingsError, StorageError
from manus.thread_lock import ATTEMPTS, PAUSE, busy

try:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import AsyncConnectionPool
except ImportError:
    raise SettingsError(
        "MANUS_CHECKPOINT names a PostgreSQL database, and the packages for it are missing: "
        "pip install langgraph-checkpoint-postgres 'psycopg[binary,pool]'."
    ) from None

_CONNECT = 10
"""Seconds for a connection to come about."""
_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "connect_timeout": _CONNECT,
}
_NEWEST = """
    SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s
"""
_RECENT = """
    SELECT thread_id FROM checkpoints WHERE checkpoint_ns = ''
    GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC LIMIT %s
"""
Connection = psycopg.AsyncConnection[DictRow]


class PostgresStore(AsyncPostgresSaver, Store):
    """An open database."""

    def __init__(self, pool: AsyncConnectionPool[Connection], url: str) -> None:
        super().__init__(pool, serde=CompactSerializer())
        self._pool = pool
        self._url, self.place = url, _place_of(url)
        self._locks: dict[str, Connection] = {}
        """The connections that hold threads for this process."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As the base; what is written next comes after the newest of the thread."""
        named = config["configurable"]
        values = (str(named["thread_id"]), named.get("checkpoint_ns", ""))
        for row in await self._rows(_NEWEST, values):
            make_ids_later_than(row["newest"])
        return await super().aget_tuple(config)

    async def aput(self, config: RunnableConfig, *written: Any) -> RunnableConfig:
        """As the base, as long as the thread is still held: another process may have it by now."""
        if (lock := self._locks.get(str(config["configurable"]["thread_id"]))) is not None:
            await lock.execute("SELECT 1")
        return await super().aput(config, *written)

    async def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""
        return [str(row["thread_id"]) for row in await self._rows(_RECENT, (limit,))]

    async def _rows(self, query: LiteralString, values: tuple[Any, ...]) -> list[DictRow]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, values)).fetchall()

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Keep others, on other machines too, from working on a thread.

        The lock belongs to a connection of its own, so it goes with this process; and with the
        connection, which each checkpoint that is stored meanwhile makes sure of.
        """
        lock = "SELECT pg_try_advisory_lock(hashtextextended('manus:' || %s, 0)) AS held"
        async with await psycopg.AsyncConnection.connect(self._url, **_OPTIONS) as connection:
            for _ in range(ATTEMPTS):
                row = await (await connection.execute(lock, (thread_id,))).fetchone()
                if row is not None and row["held"]:
                    break
                await asyncio.sleep(PAUSE)
            else:
                raise busy(thread_id)
            self._locks[thread_id] = connection
            try:
                yield
            finally:
                del self._locks[thread_id]


@asynccontextmanager
async def open_postgres(url: str) -> AsyncIterator[PostgresStore]:
    """Open a database; its tables are made if there are none.

    Raises:
        SettingsError: the URL is malformed.
        StorageError: it cannot be reached or used, or a use of it inside the block went wrong.
    """
    with _explained(url):
        # Once without the pool: it would say of a wrong password only that time has passed.
        async with await psycopg.AsyncConnection.connect(url, **_OPTIONS) as connection:
            await AsyncPostgresSaver(connection).setup()
        check = AsyncConnectionPool.check_connection
        options: dict[str, Any] = {"timeout": _CONNECT, "kwargs": _OPTIONS, "check": check}
        async with AsyncConnectionPool(url, min_size=1, max_size=4, open=False, **options) as pool:
            yield PostgresStore(pool, url)


def _place_of(url: str) -> str:
    """The URL without user information and parameters."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        place, password = _place_of(url), str(conninfo_to_dict(url).get("password") or "")
    except (psycopg.Error, ValueError):
        # not what exactly is wrong: the words of those who read it may hold the password
        raise SettingsError(
            "MANUS_CHECKPOINT is not a valid postgresql:// URL; it looks like "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None
    try:
        yield
    except psycopg.Error as error:
        said = " ".join(str(error).split()).rstrip(".")
        said = said.replace(password, "…") if password else said
        raise StorageError(
            f"{place} cannot be used: {said}; check the server and MANUS_CHECKPOINT."
        ) from None
