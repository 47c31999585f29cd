"""The inboxes of threads in a PostgreSQL database.

Adding a message needs neither the lock nor the token of its thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg.types.json import Jsonb

from manus.threads.records.inbox import InboxMessage

if TYPE_CHECKING:
    from manus.threads.records.postgres import PostgresRecords

T = TypeVar("T")

_ADD = """
    INSERT INTO manus_inbox (thread_id, id, kind, text, fields, sent_at)
    VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_READ = """
    SELECT kind, text, fields, id, sent_at, reader FROM manus_inbox WHERE thread_id = %s
    ORDER BY position
"""
_TAKE = """
    UPDATE manus_inbox SET reader = %s
    WHERE thread_id = %s AND id = %s AND reader IS NOT DISTINCT FROM %s
"""
_REMOVE = "DELETE FROM manus_inbox WHERE thread_id = %s AND id = ANY(%s)"
_WITHDRAW = "DELETE FROM manus_inbox WHERE thread_id = %s AND id = %s AND reader IS NULL"
DELETE_INBOX = "DELETE FROM manus_inbox WHERE thread_id = %s"


class PostgresInbox:
    """The inboxes in the tables of a database's records."""

    def __init__(self, records: PostgresRecords) -> None:
        self.known_empty: set[str] = set()
        self._records = records

    def add(self, thread_id: str, message: InboxMessage) -> None:
        """As in the protocol."""
        fields = Jsonb(message.fields)
        values = (message.id, message.kind, message.text, fields, message.sent_at)
        self._execute(_ADD, thread_id, *values)

    def read(self, thread_id: str) -> list[InboxMessage]:
        """As in the protocol."""
        with self._records.connection() as connection:
            rows = connection.execute(_READ, (thread_id,)).fetchall()
        return [InboxMessage(*row) for row in rows]

    def take(self, thread_id: str, message: InboxMessage, reader: str | None) -> bool:
        """As in the protocol."""
        return self._execute(_TAKE, reader, thread_id, message.id, message.reader) > 0

    def remove(self, thread_id: str, ids: Collection[str]) -> None:
        """As in the protocol."""
        self._execute(_REMOVE, thread_id, [*ids])

    def withdraw(self, thread_id: str, message_id: str) -> bool:
        """As in the protocol."""
        return self._execute(_WITHDRAW, thread_id, message_id) > 0

    def delete_thread(self, thread_id: str) -> None:
        """As in the protocol."""
        self._execute(DELETE_INBOX, thread_id)

    def close(self) -> None:
        """Do nothing, since the connections belong to the records."""

    async def run(self, operation: Callable[[], T]) -> T:
        """As in the protocol; retried after an outage if the store does."""
        return await self._records.run(operation)

    def _execute(self, statement: Any, *values: Any) -> int:
        """Execute a statement and return the number of changed rows."""
        with self._records.connection() as connection:
            return connection.execute(statement, values).rowcount
