"""Retry operations while the PostgreSQL server is unavailable, with exponential backoff."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, Ping

from manus.state.errors import StorageUnavailableError
from manus.state.events import RetryEvent
from manus.threads.records.postgres_address import read_connect_timeout

log = logging.getLogger("manus")

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 5.0
"""Seconds between two attempts; the wait doubles up to the maximum."""
# SQLSTATE class 08: connection exceptions. Then: admin shutdown, crash shutdown, starting up, too
# many connections.
_TRANSIENT_CLASS = "08"
_TRANSIENT_STATES = ("57P01", "57P02", "57P03", "53300")

T = TypeVar("T")


def strip_credentials(url: str) -> str:
    """Return the URL without user, password and parameters."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def describe_error(error: BaseException, url: str) -> str:
    """Return the first line of a database error, without the password of the URL."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = " ".join(lines[0].split()).rstrip(".:")
    reason = reason.rpartition(" failed: ")[2]  # drop the prefix that repeats the server
    password = str(conninfo_to_dict(url).get("password") or "")
    return reason.replace(password, "…") if password else reason


def is_transient(error: psycopg.Error) -> bool:
    """Return whether the error is a lost connection rather than a wrong statement."""
    if isinstance(error, psycopg.InterfaceError):
        return True  # the connection was closed while in use
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state.startswith(_TRANSIENT_CLASS) or state in _TRANSIENT_STATES


async def ping(url: str) -> Ping:
    """Ask the server whether it accepts connections; needs no password."""
    conninfo = make_conninfo(url, connect_timeout=read_connect_timeout(url)).encode()
    return Ping(await asyncio.to_thread(PGconn.ping, conninfo))


class PostgresRetry:
    """Retries operations on one server for `retry_for` seconds from the first failure.

    Operations that fail in the same outage share its backoff and deadline, so they do not wait one
    after another and are reported only once.

    Operations must be idempotent: a statement whose connection broke may have been executed.
    """

    def __init__(self, url: str, retry_for: float) -> None:
        self.url = url
        self.connect_timeout = read_connect_timeout(url)
        self.retry_for = retry_for
        self.on_retry: Callable[[RetryEvent], None] | None = None
        self._deadline: float | None = None
        """Deadline of the current outage (`time.monotonic`); None while the server is available.
        After the deadline each operation is tried once."""
        self._attempts = 0
        self._waiting = asyncio.Lock()

    async def call(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Await `operation()` and return its result; retry after each outage.

        Raises:
            StorageUnavailableError: the server was unavailable for too long.
        """
        deadline = math.inf
        while True:
            try:
                result = await operation()
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not is_transient(error):
                    raise
                # A server that accepts connections and drops them is unavailable too.
                deadline = min(deadline, time.monotonic() + self.retry_for)
                if time.monotonic() > deadline or not self.retry_for:
                    raise self._give_up_error(error) from error
                await self.wait_for_server(error)
            else:
                self._deadline = None
                return result

    async def wait_for_server(self, error: BaseException) -> None:
        """Wait until the server accepts connections; `error` is the first failure.

        Raises:
            StorageUnavailableError: it does not within `retry_for` seconds.
            psycopg.OperationalError: it does, but refuses the user or the database.
        """
        async with self._waiting:
            if self._deadline is None:
                self._deadline = time.monotonic() + self.retry_for
                self._attempts = 0
            was_ready = False
            while True:
                try:
                    await self._connect()
                    return
                except psycopg.OperationalError as refusal:
                    # it may have become ready just after refusing: try once more
                    is_ready = await ping(self.url) is Ping.OK
                    if is_ready and was_ready:
                        raise
                    error = refusal
                    was_ready = is_ready
                await self._pause(error)

    async def _connect(self) -> None:
        options: dict[str, Any] = {"connect_timeout": self.connect_timeout}
        connection = await psycopg.AsyncConnection.connect(self.url, **options)
        await connection.close()

    async def _pause(self, error: BaseException) -> None:
        now = time.monotonic()
        deadline = self._deadline or 0.0
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**self._attempts)
        remaining = min(deadline - now, self.retry_for)  # a stop signal sets retry_for to 0
        if wait > remaining:
            raise self._give_up_error(error) from error
        self._attempts += 1
        reason = (
            f"{strip_credentials(self.url)} does not answer ({describe_error(error, self.url)})"
        )
        log.info("retrying the database in %.1f s, %.0f s left: %s", wait, remaining, reason)
        if self.on_retry is not None:
            event = RetryEvent(
                type="retry", attempt=self._attempts, wait=wait, left=remaining, reason=reason
            )
            self.on_retry(event)
        await asyncio.sleep(wait)

    def _give_up_error(self, error: BaseException) -> StorageUnavailableError:
        waited = f" for {self.retry_for:.0f} s" if self.retry_for else ""
        reason = describe_error(error, self.url)
        return StorageUnavailableError(
            f"{strip_credentials(self.url)} did not answer{waited} ({reason}); "
            "start the server, then resume: stored data is kept."
        )
