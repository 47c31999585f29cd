"""Threads: look them up, and read their state."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from manus.state.endings import DAMAGED, RUNNING, UNFINISHED, WAITING, get_ending
from manus.state.errors import StorageError, ThreadBusyError, UsageError
from manus.state.text import one_line
from manus.threads.base import read_id_time
from manus.threads.history import COMPACTED, checkpoint_time, is_waiting
from manus.threads.thread_id import MAX_THREADS, NEWEST

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from manus.threads.base import Store

MAX_TITLE = 100
"""Characters of the title of a thread."""
_MIN_PREFIX = 4
_BATCH = 100
_GENERATED_ID = re.compile("[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as described by its newest checkpoint."""

    thread_id: str
    kind: str
    profile: str | None
    workspace: str | None
    options: dict[str, Any]
    """Context fields set by command-line options; settings apply to all others."""
    request: str
    """Its title: the start of the first request, unless it was renamed."""
    steps: int
    status: str
    """Label of how its last run ended, or `waiting`, or `unfinished`."""
    updated: datetime
    """Time of the newest checkpoint."""
    worker: str | None = None
    """Process that works on it, as `HOST:PID`; known for PostgreSQL databases."""
    is_compacted: bool = False
    """Whether the steps before the newest checkpoint have been deleted."""

    def as_json(self) -> dict[str, Any]:
        """Return the object that `manus threads --json` prints."""
        return {
            "thread_id": self.thread_id,
            "status": self.status,
            "request": self.request,
            "steps": self.steps,
            "profile": self.profile,
            "workspace": self.workspace,
            "updated": self.updated.isoformat(timespec="seconds"),
            "graph": self.kind,
            "worker": self.worker,
        }


def thread_config(thread_id: str) -> Any:
    """Return the LangGraph configuration of a thread."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


async def read_thread(store: Store, thread_id: str) -> Thread | None:
    """Return the thread, or None if it does not exist."""
    checkpoint = await store.aget_tuple(thread_config(thread_id))
    return None if checkpoint is None else _thread(thread_id, checkpoint)


async def read_threads(
    store: Store, thread_ids: Sequence[str]
) -> AsyncIterator[tuple[str, Thread | StorageError | None]]:
    """Yield each thread, or why it cannot be read, or None if it does not exist.

    Batches are read at once: waiting for the store takes longer than reading.
    """
    for start in range(0, len(thread_ids), _BATCH):
        batch = thread_ids[start : start + _BATCH]
        for result in await asyncio.gather(*(_try_to_read(store, name) for name in batch)):
            yield result


async def _try_to_read(store: Store, thread_id: str) -> tuple[str, Thread | StorageError | None]:
    try:
        return thread_id, await read_thread(store, thread_id)
    except StorageError as error:
        return thread_id, error


async def describe_damaged(store: Store, thread_id: str) -> Thread:
    """Return what is known about a thread whose newest checkpoint cannot be read."""
    [stored] = (await store.measure([thread_id])).values()
    workspaces = await store.read_workspaces(thread_id)
    return Thread(
        thread_id=thread_id,
        kind="agent",
        profile=None,
        workspace=workspaces[0] if workspaces else None,
        options={},
        request="",
        steps=0,
        status=DAMAGED,
        updated=read_id_time(stored.newest),
    )


async def add_worker(store: Store, thread: Thread) -> Thread:
    """Return a thread with the process that works on it, if there is one."""
    may_run = thread.status in (UNFINISHED.label, WAITING.label)
    if not (may_run and await is_being_worked_on(store, thread.thread_id)):
        return thread
    worker = (await store.holders([thread.thread_id])).get(thread.thread_id)
    return replace(thread, status=RUNNING, worker=worker)


async def get_thread(store: Store, prefix: str) -> Thread:
    """Look up a thread as `find_thread` does, and return it."""
    thread = await read_thread(store, await find_thread(store, prefix))
    assert thread is not None
    return thread


async def rename_thread(store: Store, thread_id: str, title: str) -> None:
    """Give a thread a title in place of its first request.

    Raises:
        UsageError: the title is empty.
        ThreadBusyError: a run is working on it.
    """
    title = one_line(title, MAX_TITLE)
    if not title:
        raise UsageError("The title is empty; write what the thread is about.")
    async with store.hold(thread_id):
        await store.write_title(thread_id, title)


async def find_thread(store: Store, prefix: str, *, or_new: bool = False) -> str:
    """Return the full id of a thread given by its id, a prefix of it, or `NEWEST`.

    With `or_new`, an unknown id names a new thread, and only generated ids can be abbreviated, to
    four characters or more.

    Raises:
        UsageError: no thread matches, or several do.
    """
    if prefix == NEWEST:
        matches = await store.recent(1)
    elif await _exists(store, prefix):
        return prefix
    else:
        matches = [
            thread_id
            for thread_id in await store.recent(MAX_THREADS)
            if thread_id.startswith(prefix)
        ]
    if or_new and prefix != NEWEST:
        matches = _generated_ids(matches, prefix) or [prefix]
    if len(matches) == 1:
        return matches[0]
    problem = f"There is no thread {prefix or 'yet'}"
    if matches:
        problem = f"{len(matches):,} threads start with {prefix}"
    raise UsageError(f"{problem} in {store.location}; `manus threads` lists all threads.")


async def _exists(store: Store, thread_id: str) -> bool:
    try:
        return await read_thread(store, thread_id) is not None
    except StorageError:  # it exists and is damaged
        return True


def _generated_ids(matches: list[str], prefix: str) -> list[str]:
    """Return the generated ids among the matches; none if the prefix is too short for them."""
    if len(prefix) < _MIN_PREFIX:
        return []
    return [thread_id for thread_id in matches if _GENERATED_ID.fullmatch(thread_id)]


async def is_being_worked_on(store: Store, thread_id: str) -> bool:
    """Return whether a process is running the thread."""
    try:
        async with store.hold(thread_id):
            return False
    except ThreadBusyError:
        return True


def _thread(thread_id: str, checkpoint: CheckpointTuple) -> Thread:
    values = checkpoint.checkpoint["channel_values"]
    metadata: dict[str, Any] = dict(checkpoint.metadata)
    run: dict[str, Any] = values.get("run") or {}
    source = metadata if "graph" in metadata else run
    return Thread(
        thread_id=thread_id,
        kind=metadata.get("graph") or ("flow" if "executors" in run else "agent"),
        profile=source.get("profile"),
        workspace=source.get("workspace"),
        options=json.loads(metadata.get("chosen", "{}")),
        request=str(metadata.get("request", "")),
        steps=int(run.get("step", 0)) or len(values.get("results") or []),
        status=_status(checkpoint, values),
        updated=checkpoint_time(checkpoint),
        is_compacted=bool(metadata.get(COMPACTED)),
    )


def _status(checkpoint: CheckpointTuple, values: dict[str, Any]) -> str:
    if is_waiting(checkpoint.pending_writes or ()):
        return WAITING.label
    # Before the first node of a run ends, the channels still hold the result of the previous run.
    source = checkpoint.metadata.get("source")
    updated_channels = checkpoint.checkpoint.get("updated_channels")
    is_behind = (
        source == "loop" and updated_channels is not None and "stop_reason" not in updated_channels
    )
    reason = values.get("stop_reason")
    if source == "input" or is_behind:
        reason = None
    return get_ending(reason, success=values.get("success")).label
