"""What every store of threads offers, a SQLite file or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base import id as checkpoint_ids

from manus.execution.records.base import Records
from manus.state.events import RetryEvent


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
    records: Records
    """The journals of the threads."""

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the checkpointer to compile a graph with: the store itself."""
        return self

    def watch_outages(self, report: Callable[[RetryEvent], None]) -> None:
        """Call `report` before each retry of an unavailable database; files never retry."""

    def stop_waiting(self) -> None:
        """Stop retrying: from now on, fail immediately if the database is unavailable."""

    async def recent(self, limit: int) -> list[str]:
        """Return thread ids, most recently used first."""
        raise NotImplementedError

    async def holders(self, thread_ids: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        """Return which other process holds each of the threads, as `HOST:PID`, where known."""
        return {}

    def hold(self, thread_id: str, run_id: str | None = None) -> AbstractAsyncContextManager[None]:
        """Lock a thread for this process inside the block, or raise `ThreadBusyError`.

        A server that gives a run to another worker repeats its `run_id`: the thread is taken over
        from a worker that holds it for the same run and does not answer.
        """
        raise NotImplementedError
