"""A thread: what its newest checkpoint tells of it, and what it leaves in its workspace."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from manus.prompts.formatting import ENDINGS, ending_of
from manus.state.errors import StorageError, ThreadBusyError, UsageError
from manus.store.history import checkpoint_time, is_waiting
from manus.store.thread_id import NEWEST

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from manus.store.checkpoint import Store

_ALL = 1_000_000
"""More threads than a store holds."""
_SHORTEST = 4
_MADE = re.compile("[0-9a-f]{10}")
_BESIDE = ("", "-journal", "-wal", "-shm")
"""Endings of the files that SQLite may have beside its own."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as its newest checkpoint has it."""

    thread_id: str
    kind: str
    profile: str | None
    workspace: str | None
    chosen: dict[str, Any]
    """Fields of the context that flags chose; for all others the settings count."""
    request: str
    steps: int
    status: str
    """In a word or two: how its last run ended, or that it waits, or has not finished."""
    updated: datetime
    """When it was last worked on."""

    def as_json(self) -> dict[str, Any]:
        """As `threads --json` prints it."""
        shown = ("thread_id", "status", "request", "steps", "profile", "workspace")
        when = {"updated": self.updated.isoformat(timespec="seconds")}
        return {**{name: getattr(self, name) for name in shown}, **when, "graph": self.kind}


def thread_config(thread_id: str) -> Any:
    """The configuration that names a thread."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


async def read_thread(store: Store, thread_id: str) -> Thread | None:
    """The thread, or None if there is none of that id."""
    found = await store.aget_tuple(thread_config(thread_id))
    return None if found is None else _thread(thread_id, found)


async def get_thread(store: Store, meant: str) -> Thread:
    """The thread that `find_thread` finds, with its errors."""
    thread = await read_thread(store, await find_thread(store, meant))
    assert thread is not None
    return thread


async def find_thread(store: Store, meant: str, *, or_new: bool = False) -> str:
    """The whole id of a thread that is named by its beginning, or as the newest.

    `or_new`: one that is not there is the name of a new one, and only ids that we made can be
    shortened, to four characters or more.

    Raises:
        UsageError: there is none, or more than one begins so.
    """
    if meant == NEWEST:
        found = await store.recent(1)
    elif await read_thread(store, meant) is not None:
        return meant
    else:
        found = [one for one in await store.recent(_ALL) if one.startswith(meant)]
    if or_new and meant != NEWEST:
        found = [i for i in found if len(meant) >= _SHORTEST and _MADE.fullmatch(i)] or [meant]
    if len(found) == 1:
        return found[0]
    none = f"There is no thread {meant or 'yet'}"
    problem = f"{len(found):,} threads begin with {meant}" if found else none
    raise UsageError(f"{problem} in {store.place}; `manus threads` lists what there is.")


async def is_being_worked_on(store: Store, thread_id: str) -> bool:
    """Whether a process is at work on it."""
    try:
        async with store.hold(thread_id):
            return False
    except ThreadBusyError:
        return True


def _thread(thread_id: str, found: CheckpointTuple) -> Thread:
    values = found.checkpoint["channel_values"]
    metadata: dict[str, Any] = dict(found.metadata)
    run: dict[str, Any] = values.get("run") or {}
    source = metadata if "graph" in metadata else run
    return Thread(
        thread_id=thread_id,
        kind=metadata.get("graph") or ("flow" if "executors" in run else "agent"),
        profile=source.get("profile"),
        workspace=source.get("workspace"),
        chosen=json.loads(metadata.get("chosen", "{}")),
        request=str(metadata.get("request", "")),
        steps=int(run.get("step", 0)) or len(values.get("results") or []),
        status=_status(found, values),
        updated=checkpoint_time(found),
    )


def _status(found: CheckpointTuple, values: dict[str, Any]) -> str:
    if is_waiting(found.pending_writes or ()):
        return ENDINGS["interrupted"].label
    # Before the first node of a run is done, the channels still tell of the run before it.
    source = found.metadata.get("source")
    written = found.checkpoint.get("updated_channels")
    is_behind = source == "loop" and written is not None and "stop_reason" not in written
    reason = None if source == "input" or is_behind else values.get("stop_reason")
    return ending_of(reason, success=values.get("success")).label


async def delete_thread_files(store: Store, thread: Thread) -> None:
    """Delete a thread's journals and archives, those of its plans' steps too.

    Raises:
        StorageError: one cannot be deleted.
    """
    from manus.execution.archive import Archive
    from manus.execution.journal import Journal
    from manus.execution.workspace import Workspace

    if thread.workspace is None:
        return
    stored = store.alist({"configurable": {"thread_id": thread.thread_id}})
    namespaces = {str(one.config["configurable"].get("checkpoint_ns", "")) async for one in stored}
    records = Workspace(thread.workspace).records
    for key in (f"{thread.thread_id}:{namespace}" for namespace in {"", *namespaces}):
        archive = Archive.path_for(records, key)
        beside = [archive.with_name(archive.name + ending) for ending in _BESIDE]
        for path in (Journal.path_for(records, key), *beside):
            try:
                await asyncio.to_thread(path.unlink, missing_ok=True)
            except OSError as error:
                raise StorageError(f"{path} cannot be deleted ({error.strerror}).") from None
