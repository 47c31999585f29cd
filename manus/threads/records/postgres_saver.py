"""LangGraph's PostgreSQL saver, with writes that check the token of their thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Self, TypeVar

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import DictRow

from manus.threads.records.postgres import PostgresRecords
from manus.threads.records.postgres_sql import FENCE

T = TypeVar("T")
_fence: ContextVar[tuple[str, int] | None] = ContextVar("fence", default=None)
"""The thread that the current operation writes to, and the token of this process for it."""


class FencedSaver(AsyncPostgresSaver):
    """A saver whose writes fail after another process has taken over the thread."""

    records: PostgresRecords

    @classmethod
    def wrap(cls, saver: AsyncPostgresSaver, records: PostgresRecords) -> Self:
        """Return a fenced saver with the connections of another saver."""
        fenced = cls.__new__(cls)
        vars(fenced).update(vars(saver), records=records)
        return fenced

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, *rest: Any
    ) -> RunnableConfig:
        """As in the base class, if this process still holds the thread."""
        thread_id = str(config["configurable"]["thread_id"])
        if self.records.token(thread_id) is not None:
            await self.records.run_in_thread(partial(self.records.check, thread_id))
        return await self._write(thread_id, partial(super().aput, config, checkpoint, *rest))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As in the base class, if this process still holds the thread."""
        thread_id = str(config["configurable"]["thread_id"])
        put = partial(super().aput_writes, config, writes, task_id, task_path)
        await self._write(thread_id, put)

    async def _write(self, thread_id: str, write: Callable[[], Awaitable[T]]) -> T:
        """Await a write; it fails if another process has taken over the thread.

        Raises:
            StorageError: another process has taken over the thread.
        """
        token = self.records.token(thread_id)
        variable = _fence.set(None if token is None else (thread_id, token))
        try:
            return await write()
        except psycopg.errors.DivisionByZero:
            raise self.records.mark_lost(thread_id) from None
        finally:
            _fence.reset(variable)

    @asynccontextmanager
    async def _cursor(
        self, *, pipeline: bool = False
    ) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
        """As in the base class; a write checks the token of the thread in its transaction."""
        async with super()._cursor(pipeline=pipeline) as cursor:
            fence = _fence.get()
            if pipeline and fence is not None:
                await cursor.execute(FENCE, fence)
            yield cursor
