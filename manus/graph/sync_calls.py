"""The synchronous methods of LangGraph's API, for graphs whose nodes are coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, overload

from langchain_core.runnables import RunnableConfig
from langgraph.types import All, Durability
from typing_extensions import TypeVar

from manus.models.endpoint_call import IS_SYNC

_T = TypeVar("_T")
ResultT = TypeVar("ResultT", default=Any)
"""Type of the result of `invoke`."""
_END = object()


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
