"""Open a PostgreSQL database as a store of threads; needs the packages of the extra `postgres`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from manus.state.errors import SettingsError
from manus.threads.base import Store

_NOT_INSTALLED = (
    "A PostgreSQL store needs packages that are not installed: "
    "pip install langgraph-checkpoint-postgres 'psycopg[binary,pool]'."
)


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
    try:
        from manus.threads.postgres_store import open_database
    except ImportError as error:
        raise SettingsError(_NOT_INSTALLED) from error
    async with open_database(url, retry_for) as store:
        yield store
