"""Journals in the rows of a PostgreSQL table. All methods but `aappend` are blocking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg

from manus.threads.records import postgres_sql as sql
from manus.threads.records.files import run_key

if TYPE_CHECKING:
    from manus.threads.records.postgres import PostgresRecords

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresLog:
    """A journal in the rows of a table."""

    def __init__(self, records: PostgresRecords, thread_id: str, checkpoint_ns: str) -> None:
        self.name = run_key(thread_id, checkpoint_ns)
        self.location = records.location
        self._records = records
        self._thread_id = thread_id
        self._place = (thread_id, checkpoint_ns)
        self._position = 0

    def load_key(self) -> bytes:
        """As in the protocol."""
        with self._records.translate_errors():
            return self._records.load_key()

    def exists(self) -> bool:
        """As in the protocol."""
        return self._newest_position() > 0

    def size(self) -> int:
        """As in the protocol."""
        with self._records.translate_errors(), self._records.connection() as connection:
            return int(fetch_value(connection, sql.SIZE, *self._place))

    def open(self) -> bytes:
        """As in the protocol."""
        with self._records.translate_errors(), self._records.connection() as connection:
            rows = connection.execute(sql.LINES, self._place).fetchall()
        self._position = rows[-1][0] if rows else 0
        return b"".join(line.encode("ascii") for _, line in rows)

    def append(self, line: bytes) -> None:
        """As in the protocol; nothing is written without the thread's newest token."""
        with self._records.translate_errors():
            self._insert(line)

    async def aappend(self, line: bytes) -> None:
        """As in the protocol."""
        await self._records.run(partial(self._insert, line))

    def replace(self, content: bytes) -> None:
        """As in the protocol."""
        lines = content.splitlines(keepends=True)
        with (
            self._records.translate_errors(),
            self._records.connection() as connection,
            connection.transaction(),
        ):
            connection.execute(sql.DELETE_JOURNAL, self._place)
            for line in lines:
                self._insert_with(connection, line)

    def is_current(self) -> bool:
        """As in the protocol."""
        return self._newest_position() == self._position

    def remove(self) -> None:
        """As in the protocol."""
        with self._records.translate_errors(), self._records.connection() as connection:
            connection.execute(sql.DELETE_JOURNAL, self._place)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """As in the protocol: take a new token, so that no other process can write."""
        with self._records.translate_errors():
            self._records.take(self._thread_id)
        yield

    def close(self) -> None:
        """Do nothing, since the connections belong to the store."""

    def _newest_position(self) -> int:
        with self._records.translate_errors(), self._records.connection() as connection:
            return int(fetch_value(connection, sql.NEWEST_POSITION, *self._place))

    def _insert(self, line: bytes) -> None:
        with self._records.connection() as connection:
            self._insert_with(connection, line)

    def _insert_with(self, connection: Connection, line: bytes) -> None:
        token = self._records.token(self._thread_id)
        values = (*self._place, line.decode("ascii"), self._thread_id, token)
        row = connection.execute(sql.INSERT, values).fetchone()
        if row is None:
            raise self._records.mark_lost(self._thread_id)
        self._position = max(self._position, row[0])


def fetch_value(connection: Connection, query: Any, *values: Any) -> Any:
    """Return the first value of the first row; None if there is none."""
    row = connection.execute(query, values).fetchone()
    return row[0] if row else None
