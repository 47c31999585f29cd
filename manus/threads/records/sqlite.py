"""The records of a store in a SQLite file.

The journals are in a folder next to the file; their key and the threads' inboxes are in the file.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from manus.state.errors import StorageError
from manus.threads.records.files import FileRecords
from manus.threads.records.inbox import SqliteInbox
from manus.threads.records.seal import KEY_LENGTH
from manus.threads.records.store_version import check_sqlite_version

_TIMEOUT = 5.0
"""Seconds to wait for another process to release its lock."""
_CREATE = "CREATE TABLE IF NOT EXISTS record_keys (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
_ADD = "INSERT OR IGNORE INTO record_keys VALUES ('journal', ?)"
_READ = "SELECT value FROM record_keys WHERE name = 'journal'"


class SqliteRecords(FileRecords):
    """The records of a store in a SQLite file, which need not exist."""

    inbox: SqliteInbox

    def __init__(self, path: Path) -> None:
        folder = path.with_name(f"{path.name}.journal")
        key = functools.cache(functools.partial(read_key, path))
        super().__init__(folder, key, SqliteInbox(path))


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
