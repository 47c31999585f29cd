"""The SQLite saver with one trip to the database's thread for each thing it stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any, cast

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from manus.compact import CompactSerializer

_TABLES = """
    PRAGMA journal_mode=WAL;
    CREATE TABLE IF NOT EXISTS checkpoints (
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL DEFAULT '',
        checkpoint_id TEXT NOT NULL,
        parent_checkpoint_id TEXT,
        type TEXT,
        checkpoint BLOB,
        metadata BLOB,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS writes (
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL DEFAULT '',
        checkpoint_id TEXT NOT NULL,
        task_id TEXT NOT NULL,
        task_path TEXT NOT NULL DEFAULT '',
        idx INTEGER NOT NULL,
        channel TEXT NOT NULL,
        type TEXT,
        value BLOB,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    ) WITHOUT ROWID;
"""
"""The base's tables, without the second tree that would hold each row's long key once more."""


class _Twin(SqliteSaver):
    """Stores a thing whole or not at all: the base commits what came before a failure, too.

    On a full disk that would be a part of what a task has written, and a task with something
    written counts as done when the run is resumed.
    """

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """A cursor for one transaction, taken back if anything in it fails."""
        with self.lock, closing(self.conn.cursor()) as cursor:
            try:
                yield cursor
                if transaction:
                    self.conn.commit()
            except BaseException:
                self.conn.rollback()
                raise


class Saver(AsyncSqliteSaver):
    """`AsyncSqliteSaver` that stores as its synchronous twin does, in the thread of the connection.

    The base goes there three times for each write: for the statement, the commit and the cursor.
    With many runs at once these trips, not SQLite, are what a step waits for.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection, serde=CompactSerializer())
        self._in_its_thread: Callable[..., Awaitable[Any]] = cast(Any, connection)._execute

    @cached_property
    def _twin(self) -> SqliteSaver:
        return _Twin(self.conn._conn, serde=self.serde)

    async def setup(self) -> None:
        """Make the tables where there are none; those of an older file stay as they are."""
        if not self.is_setup:
            await self._in_its_thread(self.conn._conn.executescript, _TABLES)
        await super().setup()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        await self.setup()
        async with self.lock:
            stored: RunnableConfig = await self._in_its_thread(
                self._twin.put, config, checkpoint, metadata, new_versions
            )
        return stored

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task has written."""
        await self.setup()
        async with self.lock:
            await self._in_its_thread(self._twin.put_writes, config, writes, task_id, task_path)
