"""Find the records that belong to a checkpointer."""

from __future__ import annotations

import functools
from typing import Any

from manus.threads.records.base import Records

CHECKPOINTER = "__pregel_checkpointer"
"""Key of the checkpointer in the configuration of a nested graph, and of a node."""
_ASYNC_SAVER = "langgraph.checkpoint.postgres.aio"
_SCHEMES = ("postgresql://", "postgres://")


def select_records(saver: Any) -> Records | None:
    """Return the journals next to the checkpoints of a saver; None if it cannot store any.

    They are the saver's own, or, for LangGraph's PostgreSQL savers, tables in the same database.
    """
    records: Records | None = getattr(saver, "records", None)
    if records is not None:
        return records
    connection = getattr(saver, "conn", None)
    if type(connection).__module__.startswith("psycopg"):
        from manus.threads.records.postgres_address import read_address

        return open_database(read_address(connection))
    return None


def fence_saver(saver: Any) -> Any:
    """Return a fenced saver for one of LangGraph's own; return any other saver unchanged.

    A subclass may write in ways that are unknown here.
    """
    kind = type(saver)
    if (kind.__module__, kind.__name__) != (_ASYNC_SAVER, "AsyncPostgresSaver"):
        return saver
    from manus.threads.records.postgres_saver import FencedSaver

    records: Any = select_records(saver)
    return FencedSaver.wrap(saver, records)


def is_database(address: str | None) -> bool:
    """Return whether an address is the URL of a PostgreSQL database."""
    return bool(address) and str(address).startswith(_SCHEMES)


@functools.cache
def open_database(url: str) -> Records:
    """Return the records in a PostgreSQL database: the same object for the same address."""
    from manus.threads.records.postgres import PostgresRecords
    from manus.threads.records.postgres_address import describe_address

    return PostgresRecords(url, describe_address(url))
