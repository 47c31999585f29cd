"""Open a PostgreSQL database as a store of threads; needs the packages of the extra `postgres`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from manus.config.packages import import_optional
from manus.threads.base import Store

_REMEDY = "pip install langgraph-checkpoint-postgres 'psycopg[binary,pool]'"


@asynccontextmanager
async def open_postgres(url: str, retry_for: float = 0) -> AsyncIterator[Store]:
    """Open a PostgreSQL database; create its tables if missing.

    Waits for a server that is starting up. After the store is open, an unavailable server is
    retried for `retry_for` seconds.

    Example:
        async with open_postgres("postgresql://user:password@host/database") as store:
            agent = build_agent(checkpointer=store)

    Raises:
        SettingsError: the URL is malformed, or a package is missing.
        StorageError: the database cannot be reached or used, or an operation in the block failed.
    """
    module = "manus.threads.postgres_store"
    postgres_store = import_optional(module, "A PostgreSQL store needs", "psycopg", _REMEDY)
    async with postgres_store.open_database(url, retry_for) as store:
        yield store
