"""The version of what a store contains: checkpoints, journals and their tables.

It is stored once per store: as `user_version` of a SQLite file, and in the table `manus_meta` of a
PostgreSQL database. What an earlier version has written is migrated when it is read; a store of a
later version is refused before anything is written to it.
"""

from __future__ import annotations

import sqlite3

from manus.state.errors import UsageError

STORE_VERSION = 1
"""Increase it when earlier releases could misread or damage what is stored from now on.

0 is what 0.2.0 has written; it contains no version.
"""
_READ = "PRAGMA user_version"
_WRITE = f"PRAGMA user_version = {STORE_VERSION}"


def check_store_version(version: int, location: str) -> None:
    """Refuse a store of a later version.

    Raises:
        UsageError: it was written by a newer release.
    """
    if version > STORE_VERSION:
        raise UsageError(
            f"The store of threads {location} was written by a newer release of manus (its format "
            f"is {version}, this release reads up to {STORE_VERSION}); update manus on this "
            "machine, or choose another store with MANUS_CHECKPOINT."
        )


def check_sqlite_version(connection: sqlite3.Connection, location: str) -> None:
    """Refuse a SQLite file of a later version, without writing to it.

    Raises:
        UsageError: it was written by a newer release.
    """
    [version] = connection.execute(_READ).fetchone()
    check_store_version(int(version), location)


def mark_sqlite_version(connection: sqlite3.Connection) -> None:
    """Store the version in a SQLite file if it has an earlier one."""
    [version] = connection.execute(_READ).fetchone()
    if version < STORE_VERSION:
        connection.execute(_WRITE)
