"""The records of a store in a SQLite file.

The journals are in a folder next to the file; their key and the threads' inboxes are in the file.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from manus.state.errors import StorageError
from manus.threads.records.files import FileRecords
from manus.threads.records.inbox import InboxMessage
from manus.threads.records.seal import KEY_LENGTH
from manus.threads.records.store_version import check_sqlite_version

T = TypeVar("T")

_TIMEOUT = 5.0
"""Seconds to wait for another process to release its lock."""
_CREATE = "CREATE TABLE IF NOT EXISTS record_keys (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
_ADD = "INSERT OR IGNORE INTO record_keys VALUES ('journal', ?)"
_READ = "SELECT value FROM record_keys WHERE name = 'journal'"

CREATE_INBOX = """
    CREATE TABLE IF NOT EXISTS inbox (
        thread_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        fields TEXT NOT NULL,
        sent_at TEXT NOT NULL,
        reader TEXT,
        PRIMARY KEY (thread_id, position)
    ) WITHOUT ROWID
"""
_ADD_MESSAGE = """
    INSERT INTO inbox
    SELECT ?1, coalesce(max(position), 0) + 1, ?2, ?3, ?4, ?5, ?6, NULL
    FROM inbox WHERE thread_id = ?1
"""
_LIST = """
    SELECT id, kind, text, fields, sent_at, reader FROM inbox WHERE thread_id = ? ORDER BY position
"""
_TAKE = "UPDATE inbox SET reader = ? WHERE thread_id = ? AND id = ? AND reader IS ?"
_REMOVE = "DELETE FROM inbox WHERE thread_id = ? AND id = ?"
_WITHDRAW = "DELETE FROM inbox WHERE thread_id = ? AND id = ? AND reader IS NULL"
_DELETE_THREAD = "DELETE FROM inbox WHERE thread_id = ?"


class SqliteRecords(FileRecords):
    """The records of a store in a SQLite file, which need not exist."""

    inbox: SqliteInbox

    def __init__(self, path: Path) -> None:
        folder = path.with_name(f"{path.name}.journal")
        key = functools.cache(functools.partial(read_key, path))
        super().__init__(folder, key, SqliteInbox(path))


def open_records(path: Path) -> SqliteRecords:
    """Return the records of a SQLite file, which need not exist."""
    return SqliteRecords(path)


def read_key(path: Path) -> bytes:
    """Return the key of the journals; create it once. Blocking.

    Raises:
        StorageError: the file cannot be read or written.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as database, database:
            check_sqlite_version(database, str(path))
            database.execute(_CREATE)
            row = database.execute(_READ).fetchone()
            if row is None:
                database.execute(_ADD, (os.urandom(KEY_LENGTH),))
                row = database.execute(_READ).fetchone()
            return bytes(row[0])
    except sqlite3.Error as error:
        raise StorageError(
            f"Cannot read the key of the journals in {path} ({error}); check the file's "
            "permissions, then resume."
        ) from error


class SqliteInbox:
    """The inboxes in an existing SQLite file, on their own connection.

    With the file's write-ahead log, a reader never waits for the writer of checkpoints.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.known_empty: set[str] = set()

    def add(self, thread_id: str, message: InboxMessage) -> None:
        """As in the protocol."""
        fields = json.dumps(message.fields)
        values = (message.id, message.kind, message.text, fields, message.sent_at)
        self._execute(_ADD_MESSAGE, thread_id, *values)
        self.known_empty.discard(thread_id)

    def read(self, thread_id: str) -> list[InboxMessage]:
        """As in the protocol."""
        with self._mutex:
            rows = self._connect().execute(_LIST, (thread_id,)).fetchall()
            self.known_empty.discard(thread_id)
        messages = []
        for message_id, kind, text, fields, sent_at, reader in rows:
            message = InboxMessage(kind, text, json.loads(fields), message_id, sent_at, reader)
            messages.append(message)
        return messages

    def look(self, thread_id: str) -> None:
        """Note whether a thread is known to be empty.

        The store calls this with each checkpoint, in its own thread. So a step of a run without
        messages costs no switch of threads.
        """
        if self.read(thread_id):
            return
        self.known_empty.add(thread_id)

    def take(self, thread_id: str, message: InboxMessage, reader: str | None) -> bool:
        """As in the protocol."""
        return self._execute(_TAKE, reader, thread_id, message.id, message.reader) > 0

    def remove(self, thread_id: str, ids: Collection[str]) -> None:
        """As in the protocol."""
        for message_id in ids:
            self._execute(_REMOVE, thread_id, message_id)

    def withdraw(self, thread_id: str, message_id: str) -> bool:
        """As in the protocol."""
        return self._execute(_WITHDRAW, thread_id, message_id) > 0

    def delete_thread(self, thread_id: str) -> None:
        """As in the protocol."""
        self._execute(_DELETE_THREAD, thread_id)

    async def run(self, operation: Callable[[], T]) -> T:
        """As in the protocol."""
        return await asyncio.to_thread(operation)

    def close(self) -> None:
        """As in the protocol."""
        with self._mutex:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _execute(self, statement: str, *values: Any) -> int:
        """Execute a statement and return the number of changed rows."""
        with self._mutex:
            return self._connect().execute(statement, values).rowcount

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode=rw",  # does not recreate a removed file
                uri=True,
                timeout=_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
        return self._connection
