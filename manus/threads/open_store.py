"""Open the store of threads that the settings name."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from manus.config.files import data_folder
from manus.config.settings import Settings
from manus.state.errors import SettingsError
from manus.threads.base import Store
from manus.threads.records.select import is_database


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
    if is_database(address):
        from manus.threads.postgres import open_postgres

        return open_postgres(address, settings.retry_for)
    scheme, is_url, _ = address.partition("://")
    if is_url:
        raise SettingsError(
            f"Threads cannot be stored in `{scheme}://`; set MANUS_CHECKPOINT to a file path or a "
            "postgresql:// URL."
        )
    from manus.threads.sqlite import open_sqlite

    return open_sqlite(Path(address))
