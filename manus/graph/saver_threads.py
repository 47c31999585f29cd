"""Use LangGraph's synchronous checkpointers in a graph whose nodes are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from manus.threads.records.select import CHECKPOINTER

_SYNCHRONOUS = ("langgraph.checkpoint.base", "langgraph.checkpoint.sqlite")
"""Modules whose `aget_tuple` raises NotImplementedError."""


class _SaverThreads:
    """Asynchronous methods of a checkpointer, which run the synchronous ones in a thread."""

    async def aget_tuple(self: Any, config: RunnableConfig) -> Any:
        """Return a checkpoint, as `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self: Any, config: RunnableConfig | None, **options: Any) -> AsyncIterator[Any]:
        """Yield checkpoints, as `list`."""

        def read() -> list[Any]:
            return [*self.list(config, **options)]

        for checkpoint in await asyncio.to_thread(read):
            yield checkpoint

    async def aput(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Store a checkpoint, as `put`."""
        return await asyncio.to_thread(self.put, *args, **kwargs)

    async def aput_writes(self: Any, *args: Any, **kwargs: Any) -> None:
        """Store pending writes, as `put_writes`."""
        await asyncio.to_thread(self.put_writes, *args, **kwargs)

    async def adelete_thread(self: Any, thread_id: str) -> None:
        """Delete a thread, as `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def aget_delta_channel_history(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the writes of delta channels, as `get_delta_channel_history`."""
        return await asyncio.to_thread(self.get_delta_channel_history, *args, **kwargs)


def is_synchronous(saver: object) -> bool:
    """Return whether a checkpointer has synchronous methods only, such as `SqliteSaver`."""
    if not isinstance(saver, BaseCheckpointSaver):
        return False
    return type(saver).aget_tuple.__module__ in _SYNCHRONOUS


def with_usable_saver(config: RunnableConfig, own_saver: object) -> RunnableConfig:
    """Return the configuration of a run, whose checkpointer has asynchronous methods.

    `own_saver` is the graph's; that of an outer graph, in the configuration, takes precedence.
    """
    configurable = config.get("configurable", {})
    saver = configurable.get(CHECKPOINTER, own_saver)
    if not is_synchronous(saver):
        return config
    adapted = object.__new__(_add_threads(saver.__class__))
    vars(adapted).update(vars(saver))  # such as the connection and its lock
    return {**config, "configurable": {**configurable, CHECKPOINTER: adapted}}


@cache
def _add_threads(saver_class: type[Any]) -> type[Any]:
    return type(saver_class.__name__, (_SaverThreads, saver_class), {})
