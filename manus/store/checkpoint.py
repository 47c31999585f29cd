"""Where threads are kept, a SQLite file or a PostgreSQL database, and in which form."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.config.files import data_folder
from manus.config.settings import Settings
from manus.state.errors import SettingsError, StorageError
from manus.state.events import RetryEvent

_POSTGRES = ("postgresql://", "postgres://")
_SMALL = 64
"""Bytes below which compressing is not worth it."""
_COMPRESSED = "+z"
_BARE = -zlib.MAX_WBITS
"""Without a header and a checksum: most values are small."""
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError, zlib.error)
"""What reading may raise: the base has no error of its own for it."""


class CompactSerializer(JsonPlusSerializer):
    """LangGraph's own encoding, compressed where that is worth it; reads both forms.

    It makes only the types LangGraph calls safe: messages and plain data. Anything else in a file
    (a function to be called, a pickle) comes back as the data that was written, or not at all.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As the base; the type of what was compressed ends in `+z`."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _SMALL:
            return kind, data
        return f"{kind}{_COMPRESSED}", zlib.compress(data, 9, _BARE)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base, for compressed and plain values.

        Raises:
            StorageError: it is damaged, or in a form that is not known here.
        """
        kind, stored = data
        try:
            if kind.endswith(_COMPRESSED):
                stored = zlib.decompress(stored, _BARE)
            return super().loads_typed((kind.removesuffix(_COMPRESSED), stored))
        except _UNREADABLE as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise StorageError(
                f"What is stored of the thread cannot be read ({said}): it is damaged, or another "
                "version of the program wrote it; use that version, or restore it from a backup."
            ) from error


def make_ids_later_than(checkpoint_id: str | None) -> None:
    """Let each checkpoint that LangGraph makes from now on come after this one.

    Its ids are times, and the newest checkpoint of a thread is the one with the greatest id. After
    one that was written by a clock ahead of ours, all that we write would come before it.
    """
    try:
        time = checkpoint_ids.UUID(checkpoint_id or "").time
    except ValueError:  # not one of LangGraph's ids
        return
    clock: Any = checkpoint_ids
    if (clock._last_v6_timestamp or 0) < time:
        clock._last_v6_timestamp = time


class Store(BaseCheckpointSaver[Any]):
    """An open store: a saver for LangGraph, and what the program asks of it besides.

    Whatever goes wrong with the store inside the block that opened it leaves that block as a
    `StorageError` with a sentence for the user.
    """

    place: str
    """Where it is, fit to be shown: without a password."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """For LangGraph: itself."""
        return self

    def watch_outages(self, tell: Callable[[RetryEvent], None]) -> None:
        """Call `tell` before each wait for a database that is away; a file has no such waits."""

    def stop_waiting(self) -> None:
        """Fail at once, from now on, where a database that is away would be waited for."""

    async def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""
        raise NotImplementedError

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Keep other processes from working on a thread, or raise `ThreadBusyError`."""
        raise NotImplementedError


def default_file() -> Path:
    """The file in the user's data folder."""
    return data_folder() / "threads.sqlite"


def open_store(settings: Settings) -> AbstractAsyncContextManager[Store]:
    """Open the store that the settings name; folder, file and tables are made if there are none.

    Raises:
        SettingsError: the setting names no kind of store known here, or a package is missing.
        StorageError: the store cannot be read or written.
    """
    chosen = settings.checkpoint or str(default_file())
    if chosen.startswith(_POSTGRES):
        from manus.store.postgres import open_postgres

        return open_postgres(chosen, settings.retry_for)
    scheme, is_url, _ = chosen.partition("://")
    if is_url:
        raise SettingsError(
            f"Threads cannot be kept in a `{scheme}://` store; MANUS_CHECKPOINT takes the path "
            "of a file, or a postgresql:// URL."
        )
    from manus.store.sqlite import open_sqlite

    return open_sqlite(Path(chosen))
