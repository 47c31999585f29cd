"""Threads in a PostgreSQL database; needs the packages of the extra `postgres`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from manus.state.errors import SettingsError, StorageError
from manus.thread_lock import ATTEMPTS, PAUSE, busy

try:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import AsyncConnectionPool, PoolTimeout
except ImportError:
    raise SettingsError(
        "MANUS_CHECKPOINT names a PostgreSQL database, and the packages for it are missing: "
        "pip install langgraph-checkpoint-postgres 'psycopg[binary,pool]'."
    ) from None

_CONNECT = 10
"""Seconds for a connection to come about."""
_SETUP_KEY = 0x6D616E7573
"""Of the advisory lock that lets one process at a time make the tables."""

Connection = psycopg.AsyncConnection[DictRow]


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """An open database; see `manus.checkpoint.Store`."""

    saver: AsyncPostgresSaver
    pool: AsyncConnectionPool[Connection]
    url: str

    @property
    def place(self) -> str:
        """The database, without its password."""
        return place_of(self.url)

    async def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""
        newest = (
            "SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' "
            "GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC LIMIT %s"
        )
        async with self.pool.connection() as connection:
            cursor = await connection.execute(newest, (limit,))
            return [str(row["thread_id"]) for row in await cursor.fetchall()]

    async def spaces(self, thread_id: str) -> list[str]:
        """The checkpoint namespaces of a thread."""
        of_thread = "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = %s"
        async with self.pool.connection() as connection:
            cursor = await connection.execute(of_thread, (thread_id,))
            return [str(row["checkpoint_ns"]) for row in await cursor.fetchall()]

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Keep others, on other machines too, from working on a thread.

        The lock belongs to a connection of its own, so it goes with this process.
        """
        lock = "SELECT pg_try_advisory_lock(hashtextextended('manus:' || %s, 0)) AS held"
        async with await _connect(self.url) as connection:
            for _ in range(ATTEMPTS):
                row = await (await connection.execute(lock, (thread_id,))).fetchone()
                if row is not None and row["held"]:
                    break
                await asyncio.sleep(PAUSE)
            else:
                raise busy(thread_id)
            yield


@asynccontextmanager
async def open_postgres(url: str) -> AsyncIterator[PostgresStore]:
    """Open a database; its tables are made if there are none.

    Raises:
        SettingsError: the URL is malformed.
        StorageError: it cannot be reached or used, or a use of it inside the block went wrong.
    """
    with _explained(url, _checked(url)):
        # Once without the pool: it would say of a wrong password only that time has passed.
        async with await _connect(url) as connection:
            await _set_up(connection)
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=4,
            open=False,
            timeout=_CONNECT,
            kwargs=_options(),
            check=AsyncConnectionPool.check_connection,
        )
        async with pool:
            yield PostgresStore(AsyncPostgresSaver(pool), pool, url)


def _options() -> dict[str, Any]:
    return {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
        "connect_timeout": _CONNECT,
    }


async def _connect(url: str) -> Connection:
    return await psycopg.AsyncConnection.connect(url, **_options())


async def _set_up(connection: Connection) -> None:
    """Make the tables, one process at a time: several at once violate each other's keys.

    The lock is tried for, not waited for: a query that waits keeps an index from being built
    concurrently, which is what the holder of the lock may be doing.
    """
    attempt = "SELECT pg_try_advisory_lock(%s) AS held"
    async with asyncio.timeout(6 * _CONNECT):
        while True:
            row = await (await connection.execute(attempt, (_SETUP_KEY,))).fetchone()
            if row is not None and row["held"]:
                break
            await asyncio.sleep(0.1)
        await AsyncPostgresSaver(connection).setup()
        await connection.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_KEY,))


def place_of(url: str) -> str:
    """The URL without user information and parameters."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _checked(url: str) -> str:
    """The password in a URL, which must be one.

    Raises:
        SettingsError: it is malformed. What exactly is wrong is not said, since the words of those
            who read it may hold the password.
    """
    try:
        place_of(url)
        return str(conninfo_to_dict(url).get("password") or "")
    except (psycopg.Error, ValueError):
        raise SettingsError(
            "MANUS_CHECKPOINT is not a valid postgresql:// URL; it looks like "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None


@contextmanager
def _explained(url: str, password: str) -> Iterator[None]:
    place = place_of(url)
    try:
        yield
    except PoolTimeout as error:
        raise StorageError(
            f"No connection to {place} within {_CONNECT} s; check that the server runs."
        ) from error
    except psycopg.OperationalError as error:
        raise StorageError(
            f"{place} cannot be used: {_said(error, password)}; check the server and "
            "MANUS_CHECKPOINT."
        ) from None
    except psycopg.Error as error:
        raise StorageError(f"{place} refused: {_said(error, password)}.") from error


def _said(error: psycopg.Error, password: str) -> str:
    said = " ".join(str(error).split()).rstrip(".")
    return said.replace(password, "…") if password else said
