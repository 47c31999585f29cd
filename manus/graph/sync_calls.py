"""Synchronous callers and checkpointers of a graph whose nodes are coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Generic, overload

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import All, Durability
from typing_extensions import TypeVar

from manus.models.endpoint_call import IS_SYNC
from manus.threads.records.select import CHECKPOINTER

_T = TypeVar("_T")
ResultT = TypeVar("ResultT", default=Any)
"""Type of the result of `invoke`."""
_END = object()

_SYNCHRONOUS = ("langgraph.checkpoint.base", "langgraph.checkpoint.sqlite")
"""Modules whose `aget_tuple` raises NotImplementedError."""


class SyncCalls(Generic[ResultT]):
    """Synchronous methods of a graph, implemented by the asynchronous ones.

    If an event loop is running in the caller's thread, the work is done in another thread with its
    own loop. A checkpointer that is bound to a loop (LangGraph's asynchronous ones) is used there.
    """

    @overload
    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
    ) -> ResultT: ...

    @overload
    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any: ...

    def invoke(self: Any, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
        """Run the graph and return its output, as `ainvoke`."""
        return self._wait_for(lambda: self.ainvoke(input, config, **options))

    def stream(
        self: Any,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Run the graph and stream its parts, as `astream`; closing the iterator ends the run."""
        parts: queue.Queue[Any] = queue.Queue()
        demand = threading.Semaphore(0)
        is_closed = threading.Event()

        async def work() -> None:
            stream = self.astream(input, config, **options)
            try:
                while not is_closed.is_set():
                    parts.put(await anext(stream, _END))
                    await asyncio.to_thread(demand.acquire)
            finally:
                await stream.aclose()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(contextvars.copy_context().run, self._wait_for, work)
            future.add_done_callback(lambda _: parts.put(_END))
            try:
                while (part := parts.get()) is not _END:
                    yield part
                    demand.release()
            finally:
                is_closed.set()
                demand.release()
        future.result()

    def get_state(self: Any, config: RunnableConfig, **options: Any) -> Any:
        """Return the state of a thread, as `aget_state`."""
        return self._wait_for(lambda: self.aget_state(config, **options))

    def get_state_history(self: Any, config: RunnableConfig, **options: Any) -> Iterator[Any]:
        """Yield the states of a thread, as `aget_state_history`; all are read at once."""

        async def read() -> list[Any]:
            return [snapshot async for snapshot in self.aget_state_history(config, **options)]

        yield from self._wait_for(read)

    def update_state(
        self: Any, config: RunnableConfig, values: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Change the state of a thread, as `aupdate_state`."""
        return self._wait_for(lambda: self.aupdate_state(config, values, *args, **kwargs))

    def _wait_for(self: Any, create_coroutine: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        saver_loop = getattr(self.checkpointer, "loop", None)
        try:
            current_loop = asyncio.get_running_loop()
        except RuntimeError:
            current_loop = None
        if saver_loop is current_loop:
            saver_loop = None
        if saver_loop is not None and saver_loop.is_running():
            return asyncio.run_coroutine_threadsafe(create_coroutine(), saver_loop).result()
        if current_loop is None:
            return asyncio.run(_in_sync(create_coroutine))
        with ThreadPoolExecutor(1) as pool:
            context = contextvars.copy_context()
            return pool.submit(context.run, asyncio.run, _in_sync(create_coroutine)).result()


async def _in_sync(create_coroutine: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    IS_SYNC.set(True)
    return await create_coroutine()


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
