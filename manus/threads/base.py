"""The interface of every thread store: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base import id as checkpoint_ids

from manus.state.events import RetryEvent
from manus.threads.history import read_history
from manus.threads.journal import Journal
from manus.threads.outside_effects import OutsideEffect, list_outside_effects
from manus.threads.records.base import Records

_EPOCH = 0x01B21DD213814000
"""The Unix epoch in UUID time: ticks of 100 ns since 1582."""
RECENT = """
    WITH RECURSIVE threads(thread_id) AS (
        SELECT MIN(thread_id) FROM checkpoints
        UNION ALL
        SELECT (
            SELECT MIN(checkpoints.thread_id) FROM checkpoints
            WHERE checkpoints.thread_id > threads.thread_id
        ) FROM threads WHERE threads.thread_id IS NOT NULL
    ),
    listed AS {materialized} (
        SELECT thread_id, (
            SELECT MAX(checkpoint_id) FROM checkpoints
            WHERE checkpoints.thread_id = threads.thread_id AND checkpoint_ns = ''
        ) AS newest FROM threads
    )
    SELECT thread_id FROM listed WHERE newest IS NOT NULL ORDER BY newest DESC LIMIT {limit}
"""
"""Lists threads, most recently used first, with two index lookups for each.

Grouping the checkpoints by thread would read all of them.
"""


def make_ids_later_than(checkpoint_id: str | None) -> None:
    """Make LangGraph create only checkpoint ids later than this one from now on.

    Checkpoint ids are timestamps, and the newest checkpoint of a thread has the greatest id. If a
    clock ahead of ours wrote a checkpoint, everything we write would sort before it.
    """
    try:
        time = checkpoint_ids.UUID(checkpoint_id or "").time
    except ValueError:  # not an id created by LangGraph
        return
    clock: Any = checkpoint_ids
    if (clock._last_v6_timestamp or 0) < time:
        clock._last_v6_timestamp = time


def read_id_time(checkpoint_id: str) -> datetime:
    """Return the time in a LangGraph checkpoint id, or the Unix epoch for any other id."""
    try:
        ticks = checkpoint_ids.UUID(checkpoint_id).time - _EPOCH
        return datetime.fromtimestamp(ticks / 1e7, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


@dataclass(slots=True)
class StoredThread:
    """A stored thread, measured without reading its contents, which may be damaged."""

    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of checkpoints and journal by checkpoint namespace."""
    newest: str = ""
    """Id of the newest checkpoint of the main graph."""

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return sum(self.sizes.values())


class Store(BaseCheckpointSaver[Any]):
    """An open store: a LangGraph checkpointer with thread listing and locks.

    A database error inside the `async with` block that opened the store is raised from the block as
    a `StorageError` with a message for the user.
    """

    location: str
    """File path, or URL without credentials."""
    records: Records
    """The journals of the threads."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the checkpointer to compile a graph with: the store itself."""
        return self

    def watch_outages(self, report: Callable[[RetryEvent], None]) -> None:
        """Call `report` before each retry on an unavailable database; files never retry."""

    def stop_waiting(self) -> None:
        """Stop retrying: from now on, fail immediately if the database is unavailable."""

    async def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        raise NotImplementedError

    async def holders(self, thread_ids: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        """Return the other process that holds each thread, as `HOST:PID`, where known."""
        return {}

    async def measure(self, thread_ids: Sequence[str]) -> dict[str, StoredThread]:
        """Return the stored size of each of these threads, without reading their contents."""
        raise NotImplementedError

    async def total_size(self) -> int:
        """Return the size of the store on disk in bytes, including its journals."""
        raise NotImplementedError

    async def read_workspaces(self, thread_id: str) -> list[str]:
        """Return the workspaces of a thread, newest first; damaged checkpoints have none."""
        raise NotImplementedError

    async def write_title(self, thread_id: str, title: str) -> None:
        """Store the title of a thread with its checkpoints."""
        raise NotImplementedError

    async def keep_only(self, thread_id: str, checkpoint_id: str) -> None:
        """Delete all checkpoints of a thread except this one of the main graph."""
        raise NotImplementedError

    async def list_outside_effects(self, thread_id: str, checkpoint_id: str) -> list[OutsideEffect]:
        """Return the effects outside the workspace of a thread's calls since a checkpoint."""

        def open_journal(namespace: str) -> Journal:
            lines = self.records.log(thread_id, namespace)
            return Journal(lines if lines.exists() else None)

        history = await read_history(self, thread_id)
        return await asyncio.to_thread(list_outside_effects, history, checkpoint_id, open_journal)

    async def complete_rewind(self, thread_id: str) -> None:
        """Complete an interrupted rewind of a thread, which the caller holds."""
        raise NotImplementedError

    async def reclaim_space(self) -> None:
        """Return the space of deleted threads to the file system if the store does not do so."""

    @asynccontextmanager
    async def hold(self, thread_id: str, run_id: str | None = None) -> AsyncIterator[None]:
        """Lock a thread as `acquire`, and first complete a rewind of it that was interrupted.

        Raises:
            StorageError, UsageError: the rewind cannot be completed.
            ThreadBusyError: see `acquire`.
        """
        async with self.acquire(thread_id, run_id):
            await self.complete_rewind(thread_id)
            yield

    def acquire(
        self, thread_id: str, run_id: str | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Lock a thread for this process inside the block, or raise `ThreadBusyError`.

        A server that reassigns a run to another worker repeats its `run_id`: the thread is taken
        over from an unresponsive worker that holds it for the same run.
        """
        raise NotImplementedError
