"""Where threads are kept: a SQLite file, or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from manus.state.errors import SettingsError
from manus.state.settings import Settings

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_POSTGRES = ("postgresql://", "postgres://")


class Store(Protocol):
    """An open store: its saver, and what the program asks of it besides.

    Whatever goes wrong with the store inside the block that opened it leaves that block as a
    `StorageError` with a sentence for the user.
    """

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """For LangGraph."""

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: without a password."""

    async def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Keep other processes from working on a thread, or raise `ThreadBusyError`."""


def default_file() -> Path:
    """The file in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("manus", appauthor=False) / "threads.sqlite"


def open_store(settings: Settings) -> AbstractAsyncContextManager[Store]:
    """Open the store that the settings name; folder, file and tables are made if there are none.

    Raises:
        SettingsError: the setting names no kind of store known here, or a package is missing.
        StorageError: the store cannot be read or written.
    """
    chosen = settings.checkpoint
    if chosen is not None and chosen.startswith(_POSTGRES):
        from manus.postgres import open_postgres

        return open_postgres(chosen)
    scheme, is_url, _ = (chosen or "").partition("://")
    if is_url:
        raise SettingsError(
            f"Threads cannot be kept in a `{scheme}://` store; MANUS_CHECKPOINT takes the path "
            "of a file, or a postgresql:// URL."
        )
    from manus.sqlite import open_sqlite

    return open_sqlite(Path(chosen) if chosen else default_file())


@asynccontextmanager
async def open_checkpointer(settings: Settings) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A saver for `build_agent(checkpointer=...)`, open as long as the block.

    Raises:
        SettingsError, StorageError: as `open_store`.
    """
    async with open_store(settings) as store:
        yield store.saver
