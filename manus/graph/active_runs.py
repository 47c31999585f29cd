"""Registry of the active runs of a graph: one at a time per thread, and those that are waiting."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
import weakref
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from manus.config.context import HELD
from manus.nodes.active_run import ActiveRun
from manus.state.errors import ThreadBusyError
from manus.threads.records.base import Records
from manus.threads.records.files import run_key

LONGEST_WAIT = 900.0
"""Seconds that the live resources of a run stay open while it waits for a person."""
_CLOSE_TIMEOUT = 60.0
"""Seconds that a run waits for the previous one on its thread to close."""
_POLL_INTERVAL = 0.02


@dataclass(slots=True, eq=False)
class StreamHandle:
    """Handle of the stream of a run, which its caller may abandon."""

    active_run: ActiveRun | None = None
    stream: weakref.ref[AsyncGenerator[Any]] | None = None
    task: asyncio.Task[Any] | None = None
    """Task that last consumed it: a server may fetch each part in a different one."""
    is_idle: bool = False
    """Whether nobody is waiting for its next part."""


def identify_run(config: RunnableConfig) -> tuple[str, bool]:
    """Return the key of a run, and whether it has a thread and can be resumed.

    The key is the thread and the checkpoint namespace: a subgraph is a separate run.
    """
    configurable = config.get("configurable", {})
    thread = configurable.get("thread_id")
    space = configurable.get("checkpoint_ns", "")
    return run_key(thread or uuid.uuid4().hex, space), thread is not None


async def lock_thread(
    lock: AsyncExitStack, saver: Any, configurable: dict[str, Any], records: Records | None
) -> None:
    """Lock the thread against other processes and graphs, unless the caller holds the lock.

    As a node of another graph, share the lock with the other nodes of that graph.
    """
    if configurable.get(HELD):
        return
    thread_id = str(configurable.get("thread_id"))
    hold = getattr(saver, "hold", None) or getattr(records, "hold", None)
    if configurable.get("checkpoint_ns"):
        if records is not None:
            await lock.enter_async_context(records.join(thread_id))
    elif hold is not None:
        await lock.enter_async_context(hold(thread_id, configurable.get("run_id")))


class ActiveRuns:
    """Active runs by key; shared by a graph and its copies."""

    def __init__(self) -> None:
        self._handles: dict[str, StreamHandle] = {}
        self._waiting: dict[str, ActiveRun] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def get_thread_runs(self, thread: str) -> list[ActiveRun]:
        """Return the active runs of a thread, its own first, then those nested in it."""
        active_runs = []
        for key, handle in self._handles.items():
            if key.startswith(f"{thread}:") and handle.active_run is not None:
                active_runs.append(handle.active_run)
        return active_runs

    async def begin(self, key: str, handle: StreamHandle) -> ActiveRun | None:
        """Register a run, and return the previous one if it still waits for a person.

        A stream that its caller has abandoned is closed first. One that is being cancelled is
        awaited: a server starts the next run while the previous one is still ending its processes.

        Raises:
            ThreadBusyError: a run with this key is active.
        """
        while (before := self._handles.get(key)) is not None:
            task = before.task
            stream = before.stream() if before.stream is not None else None
            is_ending = task is not None and (task.done() or task.cancelling() > 0)
            if not (before.is_idle or is_ending):
                raise ThreadBusyError(
                    f"Another run is using the thread {key.rpartition(':')[0]}; wait for it to end."
                )
            if before.is_idle and stream is not None:
                with contextlib.suppress(RuntimeError):  # it is already being closed
                    await stream.aclose()
            await self._wait_until_closed(key, before)
        handle.task = asyncio.current_task()
        self._handles[key] = handle
        return self._waiting.pop(key, None)

    async def _wait_until_closed(self, key: str, handle: StreamHandle) -> None:
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        # no event: the runs of a server may be in several event loops
        while self._handles.get(key) is handle:
            if time.monotonic() > deadline:
                raise ThreadBusyError(
                    f"The previous run on the thread {key.rpartition(':')[0]} has not ended; "
                    "try again later, or restart the process."
                )
            await asyncio.sleep(_POLL_INTERVAL)

    async def end(self, key: str, handle: StreamHandle, *, may_wait: bool) -> None:
        """Close the live resources of a run unless it waits for a person; unregister it."""
        active_run = handle.active_run
        try:
            if active_run is None:
                return
            if may_wait and active_run.session.waiting:
                self._waiting[key] = active_run
                asyncio.get_running_loop().call_later(LONGEST_WAIT, self._expire, key, active_run)
                return
            await active_run.session.close()
            await self._close_waiting_inside(key)
        finally:
            self._handles.pop(key, None)

    async def _close_waiting_inside(self, key: str) -> None:
        """Close waiting runs nested in one that has ended, such as steps that were dropped."""
        for nested in list(self._waiting):
            if nested != key and nested.startswith(key):
                await self._waiting.pop(nested).session.close()

    def _expire(self, key: str, active_run: ActiveRun) -> None:
        """Close the resources of a run that nobody answered; a later answer opens them again."""
        if self._waiting.get(key) is active_run:
            del self._waiting[key]
            task = asyncio.get_running_loop().create_task(active_run.session.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close_waiting(self) -> None:
        """Close all waiting runs; a later answer resumes from the stored state."""
        while self._waiting:
            _, active_run = self._waiting.popitem()
            await active_run.session.close()
