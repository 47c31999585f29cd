"""Open the queue of runs that wait for a worker, in the PostgreSQL database of the threads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from manus.config.packages import import_optional
from manus.state.errors import SettingsError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.worker.job_queue import JobQueue

_REMEDY = "pip install procrastinate langgraph-checkpoint-postgres 'psycopg[binary,pool]'"
_NO_DATABASE = (
    "A queue of runs needs a PostgreSQL store that all machines share; set MANUS_CHECKPOINT to a "
    "postgresql:// URL."
)


@asynccontextmanager
async def open_queue(settings: Settings, *, create: bool = True) -> AsyncIterator[JobQueue]:
    """Open the queue in the configured database; create its tables if missing and `create` is set.

    Raises:
        SettingsError: the store is not a PostgreSQL database, or a package cannot be used.
        StorageError: the database cannot be used.
    """
    address = check_queue(settings)
    from manus.worker.job_queue import JobQueue

    async with JobQueue.open(address, settings.retry_for, create=create) as queue:
        yield queue


def check_queue(settings: Settings) -> str:
    """Return the address of the database with the queue.

    Raises:
        SettingsError: the store is not a PostgreSQL database, or a package cannot be used.
    """
    if not has_queue_database(settings):
        raise SettingsError(_NO_DATABASE)
    user = "A queue of runs needs"
    import_optional("manus.worker.job_queue", user, "procrastinate", _REMEDY)
    return settings.checkpoint or ""


def has_queue_database(settings: Settings) -> bool:
    """Return whether the configured store can hold a queue."""
    from manus.threads.records.select import is_database

    return is_database(settings.checkpoint)
