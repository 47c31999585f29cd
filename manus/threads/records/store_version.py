"""The format version of a store: of its checkpoints, journals and tables.

It is stored once per store, in the table `manus_meta` of the SQLite file or PostgreSQL database,
which may also contain tables of other programs. Data of an earlier version is migrated when it is
read; a store of a newer version is refused before anything is written to it.
"""

from __future__ import annotations

import sqlite3

from manus.state.errors import UsageError

STORE_VERSION = 1
"""Increase it when earlier releases could misread or damage what this release stores.

0 is the format of 0.2.0, which stored no version.
"""
_HAS_META = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'manus_meta'"
_READ = "SELECT value FROM manus_meta WHERE name = 'schema'"
_CREATE = "CREATE TABLE IF NOT EXISTS manus_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
_WRITE = "INSERT OR REPLACE INTO manus_meta VALUES ('schema', ?)"


def check_store_version(version: int, location: str) -> None:
    """Refuse a store of a newer version.

    Raises:
        UsageError: it was written by a newer release.
    """
    if version > STORE_VERSION:
        raise UsageError(
            f"The store of threads {location} was written by a newer release of manus (its format "
            f"is {version}, this release supports up to {STORE_VERSION}); update manus on this "
            "machine, or choose another store with MANUS_CHECKPOINT."
        )


def check_sqlite_version(connection: sqlite3.Connection, location: str) -> None:
    """Refuse a SQLite file of a newer version, without writing to it.

    Raises:
        UsageError: it was written by a newer release.
    """
    check_store_version(_read_sqlite_version(connection), location)


def mark_sqlite_version(connection: sqlite3.Connection) -> None:
    """Store the version in a SQLite file if the file has an earlier one."""
    if _read_sqlite_version(connection) < STORE_VERSION:
        with connection:
            connection.execute(_CREATE)
            connection.execute(_WRITE, (str(STORE_VERSION),))


def _read_sqlite_version(connection: sqlite3.Connection) -> int:
    if connection.execute(_HAS_META).fetchone() is None:
        return 0
    row = connection.execute(_READ).fetchone()
    return int(row[0]) if row is not None else 0
