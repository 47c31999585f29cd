"""The synchronous half of LangGraph's API, for graphs whose nodes are coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig

from manus.models.endpoint_call import IS_SYNC

_T = TypeVar("_T")
_END = object()


class SyncCalls:
    """`invoke`, `stream` and the state's methods, by way of their asynchronous twins.

    Inside a running event loop the work is done in a thread with a loop of its own. A checkpointer
    that is bound to one loop (LangGraph's own asynchronous ones) is used in that loop.
    """

    def invoke(self: Any, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
        """As `ainvoke`."""
        return self._wait_for(lambda: self.ainvoke(input, config, **options))

    def stream(
        self: Any,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """As `astream`; the run is ended when the iterator is left."""
        parts: queue.Queue[Any] = queue.Queue()
        asked = threading.Semaphore(0)
        left = threading.Event()

        async def work() -> None:
            stream = self.astream(input, config, **options)
            try:
                while not left.is_set():
                    parts.put(await anext(stream, _END))
                    await asyncio.to_thread(asked.acquire)
            finally:
                await stream.aclose()

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(contextvars.copy_context().run, self._wait_for, work)
            done.add_done_callback(lambda _: parts.put(_END))
            try:
                while (part := parts.get()) is not _END:
                    yield part
                    asked.release()
            finally:
                left.set()
                asked.release()
        done.result()

    def get_state(self: Any, config: RunnableConfig, **options: Any) -> Any:
        """As `aget_state`."""
        return self._wait_for(lambda: self.aget_state(config, **options))

    def get_state_history(self: Any, config: RunnableConfig, **options: Any) -> Iterator[Any]:
        """As `aget_state_history`, read at once."""

        async def read() -> list[Any]:
            return [found async for found in self.aget_state_history(config, **options)]

        yield from self._wait_for(read)

    def update_state(
        self: Any, config: RunnableConfig, values: Any, *more: Any, **named: Any
    ) -> Any:
        """As `aupdate_state`."""
        return self._wait_for(lambda: self.aupdate_state(config, values, *more, **named))

    def _wait_for(self: Any, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        home = getattr(self.checkpointer, "loop", None)
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if home is not None and home is not here and home.is_running():
            return asyncio.run_coroutine_threadsafe(make(), home).result()
        if here is None:
            return asyncio.run(_in_sync(make))
        with ThreadPoolExecutor(1) as pool:
            context = contextvars.copy_context()
            return pool.submit(context.run, asyncio.run, _in_sync(make)).result()


async def _in_sync(make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    IS_SYNC.set(True)
    return await make()
