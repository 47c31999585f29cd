"""Journals, locks and fencing tokens of threads in a PostgreSQL database.

A thread is held through an advisory lock, which ends with its connection, and a token, a number
that increases each time a process takes the thread. A process that was stopped or partitioned in
the meantime still has the old token, and each write checks the token in its own transaction.

Methods are blocking, so that they work with any event loop; the asynchronous ones use threads.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from manus.state.errors import StorageError, StorageUnavailableError
from manus.threads.records import postgres_sql as sql
from manus.threads.records.base import ATTEMPTS, PAUSE, taken_over_error, thread_busy_error
from manus.threads.records.inbox import Inbox
from manus.threads.records.postgres_address import read_connect_timeout
from manus.threads.records.postgres_log import Connection, PostgresLog, fetch_value
from manus.threads.records.seal import KEY_LENGTH
from manus.threads.records.store_version import STORE_VERSION, check_store_version

T = TypeVar("T")

_THREADS = 4
"""Maximum number of concurrent operations, each on a connection of its own."""
_LONGEST_WRITE = 2.0
"""Seconds that a takeover waits for a write of the previous holder."""
_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    # a connection that does not respond is considered lost after this time, in milliseconds
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 20,
}
_NAME_PREFIX = "manus "
"""Prefix of the lock connection's name in the database."""
_UNAVAILABLE = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)


@dataclass(slots=True)
class _Hold:
    """A thread that this process holds."""

    token: int
    users: int = 1
    is_lost: bool = False
    is_deleted: bool = False


class PostgresRecords:
    """The journals and locks of the threads in one database.

    `run` awaits a blocking operation in a thread; a store passes one that retries after an outage.
    """

    def __init__(
        self,
        conninfo: str,
        location: str,
        run: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None,
    ) -> None:
        self.location = location
        self._conninfo = conninfo
        self._timeout = read_connect_timeout(conninfo)
        self._options = {**_OPTIONS, "connect_timeout": self._timeout}
        self._run = run or self.run_in_thread
        self._executor = ThreadPoolExecutor(_THREADS, "manus-records")
        self._holds: dict[str, _Hold] = {}
        self._mutex = threading.RLock()
        self._locks: Connection | None = None
        """The connection that holds all advisory locks of this process."""
        self._pool: ConnectionPool[Connection] | None = None
        self._key = b""
        self.inbox = Inbox("manus_inbox", "%s", sql.ADD_MESSAGE, self._execute, self.run)

    async def run_in_thread(self, operation: Callable[[], T]) -> T:
        """Await a blocking operation in a thread of these records."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, operation)

    async def run(self, operation: Callable[[], T]) -> T:
        """Await a blocking operation; retry it if the store does.

        Raises:
            StorageError: the database cannot be used.
        """
        with self.translate_errors():
            result: T = await self._run(operation)
            return result

    def log(self, thread_id: str, checkpoint_ns: str) -> PostgresLog:
        """As in the protocol."""
        return PostgresLog(self, thread_id, checkpoint_ns)

    @asynccontextmanager
    async def join(self, thread_id: str) -> AsyncIterator[None]:
        """As in the protocol."""
        await self.run(partial(self.acquire, thread_id, may_share=True))
        try:
            yield
        finally:
            await self.run_in_thread(partial(self.release, thread_id))

    @asynccontextmanager
    async def hold(self, thread_id: str, run_id: str | None = None) -> AsyncIterator[None]:
        """Hold a thread inside the block; the lock also excludes other machines.

        With a `run_id`, take the thread over from another process that holds it for the same run,
        since a server has assigned the run to this one.

        Raises:
            ThreadBusyError: another process, or another run of this one, holds it.
        """
        await self.run(partial(self.acquire, thread_id, run_id))
        try:
            yield
        finally:
            await self.run_in_thread(partial(self.release, thread_id))

    def acquire(
        self, thread_id: str, run_id: str | None = None, *, may_share: bool = False
    ) -> None:
        """Lock a thread and take a new token for it, or share the hold of this process.

        Raises:
            ThreadBusyError: another process holds it.
        """
        with self._mutex:
            hold = self._holds.get(thread_id)
            is_held = hold is not None and hold.users > 0
            if is_held and not may_share:
                raise thread_busy_error(thread_id, "another run of this process")
            if hold is not None and is_held:
                hold.users += 1
                return
            self._prepare()
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE)
            with self._mutex:
                connection = self._connect_locks()
                if fetch_value(connection, sql.LOCK, thread_id):
                    with self._ending_blockers(connection):
                        token = fetch_value(connection, sql.TAKE, thread_id, run_id)
                    self._holds[thread_id] = _Hold(token)
                    return
                if run_id and fetch_value(connection, sql.IS_SAME_RUN, thread_id, run_id):
                    connection.execute(sql.END_HOLDER, (thread_id,))
        holder = self.holders([thread_id]).get(thread_id, "")
        raise thread_busy_error(thread_id, f"another process ({holder})" if holder else None)

    def holders(self, thread_ids: Sequence[str]) -> dict[str, str]:
        """Return which other process holds each of the threads, as `HOST:PID`."""
        with self.connection() as connection:
            rows = connection.execute(sql.HOLDERS, ([*thread_ids],)).fetchall()
        names = {thread_id: name or "" for thread_id, name in rows}
        return {
            thread_id: name.removeprefix(_NAME_PREFIX)
            for thread_id, name in names.items()
            if name.startswith(_NAME_PREFIX)
        }

    @contextmanager
    def _ending_blockers(self, connection: Connection) -> Iterator[None]:
        """Terminate transactions that keep a statement in the block waiting for long.

        A process that was stopped in the middle of a write has locked the row of its thread.
        """
        pid = connection.info.backend_pid

        def end() -> None:
            with self.connection() as other:
                other.execute(sql.END_BLOCKERS, (pid,))

        timer = threading.Timer(_LONGEST_WRITE, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def release(self, thread_id: str) -> None:
        """Release a thread; a broken connection has already done so."""
        with self._mutex:
            hold = self._holds[thread_id]
            hold.users -= 1
            if hold.users:
                return
            del self._holds[thread_id]
            connection = self._locks
            if connection is None or connection.closed:
                return
            try:
                if hold.is_deleted:
                    connection.execute(sql.FORGET, (thread_id, hold.token))
                connection.execute(sql.UNLOCK, (thread_id,))
            except psycopg.Error:
                connection.close()

    def take(self, thread_id: str) -> None:
        """Take a new token for a thread without a lock; a held thread already has one."""
        with self._mutex:
            hold = self._holds.get(thread_id)
            if hold is not None and hold.users:
                return
        with self.connection() as connection:
            token = fetch_value(connection, sql.TAKE, thread_id, None)
        self._holds[thread_id] = _Hold(token, users=0)

    def token(self, thread_id: str) -> int | None:
        """Return the token with which this process holds a thread; None if it does not."""
        hold = self._holds.get(thread_id)
        return None if hold is None else hold.token

    def check(self, thread_id: str) -> None:
        """Lock a held thread again if the connection of the locks was lost.

        Raises:
            StorageError: another process has held the thread in the meantime.
        """
        with self._mutex:
            hold = self._holds.get(thread_id)
            if hold is None:
                return
            if not hold.is_lost:
                self._connect_locks()
            if hold.is_lost:
                raise taken_over_error(thread_id)

    def mark_lost(self, thread_id: str) -> StorageError:
        """Record that a write was fenced off, and return the error."""
        if (hold := self._holds.get(thread_id)) is not None:
            hold.is_lost = True
        return taken_over_error(thread_id)

    def forget(self, thread_id: str) -> None:
        """Remove the row of a deleted thread, or leave it until this process releases it."""
        with self._mutex:
            hold = self._holds.get(thread_id)
            if hold is not None:
                hold.is_deleted = True
        with self.connection() as connection:
            connection.execute(sql.DELETE_THREAD, (thread_id,))
            if hold is None:
                connection.execute(sql.FORGET_ANY, (thread_id,))
        self.inbox.delete_thread(thread_id)

    def _execute(self, statement: Any, values: Sequence[Any]) -> list[Any]:
        """Execute a statement of the inboxes, and return its rows."""
        with self.connection() as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def load_key(self) -> bytes:
        """Return the key of the journals, which is stored next to them."""
        with self._mutex:
            self._prepare()
            return self._key

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Yield a pooled connection, which commits each statement."""
        with self._mutex:
            self._prepare()
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    min_size=1,
                    max_size=_THREADS,
                    timeout=self._timeout,
                    reconnect_timeout=self._timeout,
                    kwargs=self._options,
                    check=ConnectionPool.check_connection,
                    open=True,
                )
        with self._pool.connection() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._executor.shutdown()
        with self._mutex:
            if self._pool is not None:
                self._pool.close()
            if self._locks is not None:
                self._locks.close()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert database errors in the block to `StorageError`."""
        try:
            yield
        except _UNAVAILABLE as error:
            raise StorageUnavailableError(
                f"{self.location} did not respond ({_first_line(error)}); start the server, then "
                "resume. Stored data is kept."
            ) from error
        except psycopg.Error as error:
            raise StorageError(
                f"The records of tool calls cannot be stored in {self.location} "
                f"({_first_line(error)}), and without them a resume could repeat a call; "
                "check the database and its permissions, then resume."
            ) from error

    def _prepare(self) -> None:
        """Create the tables and the key if they are missing, once per process."""
        if self._key:
            return
        with psycopg.connect(self._conninfo, **self._options) as connection:
            _check_version(connection, self.location)
            if not fetch_value(connection, sql.HAS_TABLES):
                with connection.transaction():
                    connection.execute(sql.LOCK_SETUP)
                    connection.execute(sql.CREATE)
            with connection.transaction():
                connection.execute(sql.ADD_META, ("schema", str(STORE_VERSION)))
                connection.execute(sql.RAISE_VERSION, (str(STORE_VERSION), STORE_VERSION))
                connection.execute(sql.ADD_META, ("key", secrets.token_hex(KEY_LENGTH)))
            key = bytes.fromhex(fetch_value(connection, sql.READ_META, "key"))
        self._key = key

    def _connect_locks(self) -> Connection:
        """Return the lock connection; after a loss, reconnect and lock everything again."""
        if self._locks is not None:
            try:
                self._locks.execute("SELECT 1")
            except _UNAVAILABLE:
                self._locks.close()
            else:
                return self._locks
        name = f"{_NAME_PREFIX}{process_name()}"
        connection = psycopg.connect(self._conninfo, **{**self._options, "application_name": name})
        for thread_id, hold in self._holds.items():
            if not hold.users:
                continue
            is_locked = _lock_patiently(connection, thread_id)
            is_ours = fetch_value(connection, sql.TOKEN, thread_id) == hold.token
            hold.is_lost = hold.is_lost or not (is_locked and is_ours)
        self._locks = connection
        return connection


def process_name() -> str:
    """Return the display name of this process: `HOST:PID`."""
    return f"{socket.gethostname()[:40]}:{os.getpid()}"


def _check_version(connection: Connection, location: str) -> None:
    """Refuse a database of a newer version, without writing to it. Blocking.

    Raises:
        UsageError: it was written by a newer release.
    """
    if fetch_value(connection, sql.HAS_META):
        version = fetch_value(connection, sql.READ_META, "schema")
        check_store_version(int(version or 0), location)


def _lock_patiently(connection: Connection, thread_id: str) -> bool:
    """Lock a thread again; retry, since another process may be checking whether it is in use."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        if fetch_value(connection, sql.LOCK, thread_id):
            return True
    return False


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")
