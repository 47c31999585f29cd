"""The store of threads: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base import id as checkpoint_ids

from manus.config.files import data_folder
from manus.config.settings import Settings
from manus.state.errors import SettingsError
from manus.state.events import RetryEvent

_POSTGRES = ("postgresql://", "postgres://")


def make_ids_later_than(checkpoint_id: str | None) -> None:
    """Make LangGraph create only checkpoint ids later than this one from now on.

    Checkpoint ids are timestamps, and the newest checkpoint of a thread has the greatest id. If a
    clock ahead of ours wrote a checkpoint, everything we write would sort before it.
    """
    try:
        time = checkpoint_ids.UUID(checkpoint_id or "").time
    except ValueError:  # not an id made by LangGraph
        return
    clock: Any = checkpoint_ids
    if (clock._last_v6_timestamp or 0) < time:
        clock._last_v6_timestamp = time


class Store(BaseCheckpointSaver[Any]):
    """An open store: a LangGraph checkpointer with thread listing and locks.

    Any error of the database inside the `async with` block that opened the store leaves the block
    as a `StorageError` with a message for the user.
    """

    location: str
    """File path, or URL without credentials."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer to compile a graph with: the store itself."""
        return self

    def watch_outages(self, report: Callable[[RetryEvent], None]) -> None:
        """Call `report` before each retry of an unavailable database; files never retry."""

    def stop_waiting(self) -> None:
        """Stop retrying: from now on, fail immediately if the database is unavailable."""

    async def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        raise NotImplementedError

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Lock a thread for this process inside the block, or raise `ThreadBusyError`."""
        raise NotImplementedError


def default_file() -> Path:
    """Return the default SQLite file in the user's data folder."""
    return data_folder() / "threads.sqlite"


def open_store(settings: Settings) -> AbstractAsyncContextManager[Store]:
    """Open the configured store; its folder, file and tables are created if missing.

    Raises:
        SettingsError: the URL scheme is not supported, or a package is missing.
        StorageError: the store cannot be read or written.
    """
    address = settings.checkpoint or str(default_file())
    if address.startswith(_POSTGRES):
        from manus.store.postgres import open_postgres

        return open_postgres(address, settings.retry_for)
    scheme, is_url, _ = address.partition("://")
    if is_url:
        raise SettingsError(
            f"Threads cannot be stored in `{scheme}://`; set MANUS_CHECKPOINT to a file path or a "
            "postgresql:// URL."
        )
    from manus.store.sqlite import open_sqlite

    return open_sqlite(Path(address))
