"""The runs of a graph in this process: one at a time on a thread, and those that wait."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
import weakref
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from manus.nodes.active_run import ActiveRun
from manus.state.errors import ThreadBusyError

LONGEST_WAIT = 900.0
"""Seconds for which the live things of a run are kept open while it waits for a person."""
_ENDING = 60.0
"""Seconds that a run waits at most for the one before it on its thread to close what it opened."""
_LOOK = 0.02


@dataclass(slots=True, eq=False)
class StreamHandle:
    """One stream of a run."""

    active_run: ActiveRun | None = None
    stream: weakref.ref[AsyncGenerator[Any]] | None = None
    task: asyncio.Task[Any] | None = None
    """In which it works: a server may take each part of a stream in a task of its own."""
    is_idle: bool = False
    """Whether its caller has a part in hand, and nobody waits for the next."""


def key_of(config: RunnableConfig) -> tuple[str, bool]:
    """The key of a run, and whether it has a thread under which it can be resumed.

    A subgraph runs in a checkpoint namespace of its own and is a run of its own.
    """
    configurable = config.get("configurable", {})
    thread = configurable.get("thread_id")
    space = configurable.get("checkpoint_ns", "")
    return f"{thread or uuid.uuid4().hex}:{space}", thread is not None


class ActiveRuns:
    """Belongs to a graph and its copies; the key of a run is its thread and namespace."""

    def __init__(self) -> None:
        self._handles: dict[str, StreamHandle] = {}
        self._waiting: dict[str, ActiveRun] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def of_thread(self, thread: str) -> list[ActiveRun]:
        """The runs that are at work on a thread, its own first, then those of agents inside it."""
        handles = [handle for key, handle in self._handles.items() if key.startswith(f"{thread}:")]
        return [handle.active_run for handle in handles if handle.active_run is not None]

    async def begin(self, key: str, handle: StreamHandle) -> ActiveRun | None:
        """Take the thread; what the run before keeps open, if it waits for a person.

        A stream that its caller has left, by `break` or by not asking for more, is closed first.
        One that is being cancelled is waited for: a server begins the next run while the one before
        still ends its processes.

        Raises:
            ThreadBusyError: a run of that key is at work.
        """
        while (before := self._handles.get(key)) is not None:
            task = before.task
            stream = before.stream() if before.stream is not None else None
            is_ending = task is not None and (task.done() or task.cancelling() > 0)
            if not (before.is_idle or is_ending):
                raise ThreadBusyError(
                    f"Another run is at work on the thread {key.rpartition(':')[0]}; wait for it "
                    "to end."
                )
            if before.is_idle and stream is not None:
                with contextlib.suppress(RuntimeError):  # it is being closed already
                    await stream.aclose()
            await self._until_left(key, before)
        handle.task = asyncio.current_task()
        self._handles[key] = handle
        return self._waiting.pop(key, None)

    async def _until_left(self, key: str, handle: StreamHandle) -> None:
        limit = time.monotonic() + _ENDING
        # no event: a server may keep its runs in several loops
        while self._handles.get(key) is handle:
            if time.monotonic() > limit:
                raise ThreadBusyError(
                    f"The run before on the thread {key.rpartition(':')[0]} does not end."
                )
            await asyncio.sleep(_LOOK)

    async def end(self, key: str, handle: StreamHandle, *, may_wait: bool) -> None:
        """Close what a run has opened, unless it waits for a person; then let go of the thread."""
        active_run = handle.active_run
        try:
            if active_run is None:
                return
            if may_wait and active_run.session.waiting:
                self._waiting[key] = active_run
                asyncio.get_running_loop().call_later(LONGEST_WAIT, self._give_up, key, active_run)
                return
            await active_run.session.close()
            await self._close_waiting_inside(key)
        finally:
            self._handles.pop(key, None)

    async def _close_waiting_inside(self, key: str) -> None:
        """Close what waits inside a run that has ended, as a step whose question was dropped."""
        inside = [other for other in self._waiting if other != key and other.startswith(key)]
        for other in inside:
            await self._waiting.pop(other).session.close()

    def _give_up(self, key: str, active_run: ActiveRun) -> None:
        """Close what a run kept open while nobody answered; an answer builds it again."""
        if self._waiting.get(key) is active_run:
            del self._waiting[key]
            task = asyncio.get_running_loop().create_task(active_run.session.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close_waiting(self) -> None:
        """Close what waits: an answer that comes later finds the run as after a crash."""
        while self._waiting:
            _, active_run = self._waiting.popitem()
            await active_run.session.close()
