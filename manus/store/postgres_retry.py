"""Repeat what failed because the PostgreSQL server was away: restarted, or out of reach."""

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

log = logging.getLogger("manus")

CONNECT_TIMEOUT = 10
"""Seconds for a connection to come about."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 5.0
"""Seconds between two attempts; the wait doubles from the first to the longest."""
# Class 08: connection exceptions. Then: shut down by an administrator, by a crash, starting up,
# too many connections.
_PASSING_CLASS = "08"
_PASSING_STATES = ("57P01", "57P02", "57P03", "53300")

T = TypeVar("T")


def place_of(url: str) -> str:
    """Return the URL without user information and parameters."""
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def reason_of(error: BaseException, url: str) -> str:
    """Return the first line of a database error, without the password of the URL."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = " ".join(lines[0].split()).rstrip(".:")
    reason = reason.rpartition(" failed: ")[2]  # before it: which server, that it failed
    password = str(conninfo_to_dict(url).get("password") or "")
    return reason.replace(password, "…") if password else reason


def may_pass(error: psycopg.Error) -> bool:
    """Return whether an error says that the connection was lost, not that a statement is wrong."""
    if isinstance(error, psycopg.InterfaceError):
        return True  # a connection that was closed under its user
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state.startswith(_PASSING_CLASS) or state in _PASSING_STATES


async def ping(url: str) -> Ping:
    """Ask the server whether it accepts connections; no password is needed for the answer."""
    conninfo = make_conninfo(url, connect_timeout=CONNECT_TIMEOUT).encode()
    return Ping(await asyncio.to_thread(PGconn.ping, conninfo))


class PostgresRetry:
    """Repeats uses of one server for `retry_for` seconds from the first failure.

    All uses of an outage share its waits and its end: several tasks that fail at once do not wait
    one after the other, nor is each of them told of.

    What is repeated must be idempotent: a statement whose connection broke may have been carried
    out all the same.
    """

    def __init__(self, url: str, retry_for: float) -> None:
        self.url = url
        self.retry_for = retry_for
        self.on_retry: Callable[[RetryEvent], None] | None = None
        self._ends: float | None = None
        """When the present outage has lasted too long; None while the server is there. After that
        each use is tried once."""
        self._attempts = 0
        self._waiting = asyncio.Lock()

    async def call(self, use: Callable[[], Awaitable[T]]) -> T:
        """Return what `use` returns, called again after each outage.

        Raises:
            StorageUnavailableError: the server was away for too long.
        """
        ends = math.inf
        while True:
            try:
                result = await use()
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not may_pass(error):
                    raise
                # A server that accepts connections and ends each of them is away, too.
                ends = min(ends, time.monotonic() + self.retry_for)
                if time.monotonic() > ends or not self.retry_for:
                    raise self._given_up(error) from error
                await self.wait_for_server(error)
            else:
                self._ends = None
                return result

    async def wait_for_server(self, error: BaseException) -> None:
        """Return when the server accepts connections again; `error` says how it failed.

        Raises:
            StorageUnavailableError: it did not in time.
            psycopg.OperationalError: it does, and refuses ours: the user, the database.
        """
        async with self._waiting:
            if self._ends is None:
                self._ends = time.monotonic() + self.retry_for
                self._attempts = 0
            was_ready = False
            while True:
                try:
                    await self._connect()
                    return
                except psycopg.OperationalError as refusal:
                    # it may have become ready since it refused: once more then
                    is_ready = await ping(self.url) is Ping.OK
                    if is_ready and was_ready:
                        raise
                    error = refusal
                    was_ready = is_ready
                await self._pause(error)

    async def _connect(self) -> None:
        options: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT}
        connection = await psycopg.AsyncConnection.connect(self.url, **options)
        await connection.close()

    async def _pause(self, error: BaseException) -> None:
        now = time.monotonic()
        ends = self._ends or 0.0
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**self._attempts)
        left = min(ends - now, self.retry_for)  # nothing is waited for any more once that is 0
        if wait > left:
            raise self._given_up(error) from error
        self._attempts += 1
        reason = f"{place_of(self.url)} does not answer ({reason_of(error, self.url)})"
        log.info("database tried again in %.1f s, for %.0f s more: %s", wait, left, reason)
        if self.on_retry is not None:
            event = RetryEvent(
                type="retry", attempt=self._attempts, wait=wait, left=left, reason=reason
            )
            self.on_retry(event)
        await asyncio.sleep(wait)

    def _given_up(self, error: BaseException) -> StorageUnavailableError:
        waited = f" for {self.retry_for:.0f} s" if self.retry_for else ""
        return StorageUnavailableError(
            f"{place_of(self.url)} did not answer{waited} ({reason_of(error, self.url)}); "
            "start the server, then resume: what was stored is kept."
        )
