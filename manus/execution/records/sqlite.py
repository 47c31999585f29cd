"""The journals of a store in a SQLite file: a folder beside the file, with the key in the file."""

from __future__ import annotations

import functools
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from manus.execution.records.files import FileRecords
from manus.execution.records.seal import KEY_LENGTH
from manus.state.errors import StorageError

_TIMEOUT = 5.0
"""Seconds to wait for another process to release its lock."""
_CREATE = "CREATE TABLE IF NOT EXISTS record_keys (name TEXT PRIMARY KEY, value BLOB NOT NULL)"
_ADD = "INSERT OR IGNORE INTO record_keys VALUES ('journal', ?)"
_READ = "SELECT value FROM record_keys WHERE name = 'journal'"


def open_records(path: Path) -> FileRecords:
    """Return the journals beside a SQLite file, which need not exist."""
    folder = path.with_name(f"{path.name}.journal")
    return FileRecords(folder, functools.cache(functools.partial(read_key, path)))


def read_key(path: Path) -> bytes:
    """Return the key of the journals; create it once. Blocking.

    Raises:
        StorageError: the file cannot be read or written.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_TIMEOUT)) as database, database:
            database.execute(_CREATE)
            row = database.execute(_READ).fetchone()
            if row is None:
                database.execute(_ADD, (os.urandom(KEY_LENGTH),))
                row = database.execute(_READ).fetchone()
            return bytes(row[0])
    except sqlite3.Error as error:
        raise StorageError(
            f"The key of the journals in {path} cannot be read ({error}); check its permissions, "
            "then resume."
        ) from error
