"""Prune and compact the threads of a store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import CheckpointMetadata, copy_checkpoint

from manus.graph.outcome import is_over
from manus.graph.thread_graph import build_graph
from manus.state.errors import StorageError, ThreadBusyError
from manus.threads.base import Store, StoredThread
from manus.threads.deletion import delete_thread
from manus.threads.history import COMPACTED, is_waiting
from manus.threads.outputs import KeptOutputs
from manus.threads.serializer import wrap_full_copy
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.rewinding import REWINDS, SNAPSHOTS
from manus.threads.thread_id import MAX_THREADS
from manus.threads.thread_list import Thread, read_thread, thread_config
from manus.workspace.workspace import Workspace

_INTERNAL = ("branch:", "__")
"""Prefixes of LangGraph's own channels, which have no value between two steps."""


@dataclass(slots=True)
class MaintenanceReport:
    """The threads that were pruned or compacted, and those that were not."""

    done: list[str] = field(default_factory=list)
    freed: int = 0
    """Bytes in the store."""
    waiting: list[str] = field(default_factory=list)
    """Threads kept because they have an open question."""
    busy: list[str] = field(default_factory=list)
    """Threads kept because they are in use."""
    damaged: list[str] = field(default_factory=list)
    """Threads kept because they cannot be read."""
    others: list[str] = field(default_factory=list)
    """Threads kept for another reason: unfinished, or not written by manus."""


async def prune_threads(store: Store, before: datetime, *, dry_run: bool) -> MaintenanceReport:
    """Delete the threads that were last used before a time and have no open question."""
    report = MaintenanceReport()
    kept = KeptOutputs(store)
    async for thread, stored in _read_threads(store, report):
        if thread.updated >= before:
            continue
        if thread.workspace is None:  # from another program in the same database
            report.others.append(thread.thread_id)
        elif await _is_waiting(store, thread):
            report.waiting.append(thread.thread_id)
        elif await _delete(store, thread, None if dry_run else kept, report):
            report.freed += stored.size
    return report


async def _delete(
    store: Store, thread: Thread, kept: KeptOutputs | None, report: MaintenanceReport
) -> bool:
    """Delete a thread that is not in use; without `kept`, only report that it would be deleted."""
    try:
        async with store.hold(thread.thread_id):
            current = await read_thread(store, thread.thread_id)
            if current is None or current.updated != thread.updated:
                return False  # deleted or continued in the meantime
            if kept is not None:
                await delete_thread(store, thread.thread_id, kept)
    except ThreadBusyError:
        report.busy.append(thread.thread_id)
        return False
    report.done.append(thread.thread_id)
    return True


async def compact_threads(store: Store, *, dry_run: bool) -> MaintenanceReport:
    """Keep the newest checkpoint of each thread whose last run has ended."""
    report = MaintenanceReport()
    async for thread, stored in _read_threads(store, report):
        if await _is_waiting(store, thread):
            report.waiting.append(thread.thread_id)
            continue
        try:
            async with store.hold(thread.thread_id):
                is_done = await compact_thread(store, thread, dry_run=dry_run)
        except ThreadBusyError:
            report.busy.append(thread.thread_id)
            continue
        if is_done is None:
            continue
        if not is_done:
            report.others.append(thread.thread_id)
            continue
        report.done.append(thread.thread_id)
        [now] = (await store.measure([thread.thread_id])).values()
        report.freed += stored.size - now.size
    return report


async def compact_thread(store: Store, thread: Thread, *, dry_run: bool = False) -> bool | None:
    """Keep the newest checkpoint of a thread, which the caller holds, with all its values.

    Returns None if the thread is compact, and False if it must stay unchanged: its last run has not
    ended, or its state has channels that the graphs of this release do not know.
    """
    graph = build_graph(thread.kind, "manus", store)
    config = thread_config(thread.thread_id)
    snapshot = await graph.aget_state(config)
    stored = await store.aget_tuple(config)
    if stored is None or stored.metadata.get(COMPACTED):
        return None
    versions = stored.checkpoint["channel_versions"]
    unknown = [name for name in versions.keys() - graph.channels if not name.startswith(_INTERNAL)]
    if unknown or not is_over(snapshot) or thread.workspace is None:
        return False
    if dry_run:
        return True
    checkpoint = copy_checkpoint(stored.checkpoint)
    values: dict[str, Any] = dict(checkpoint["channel_values"])
    new_versions: dict[str, Any] = {}
    for name, channel in graph.channels.items():
        if isinstance(channel, DeltaChannel) and name in versions and name in snapshot.values:
            values[name] = wrap_full_copy(snapshot.values[name])
            new_versions[name] = store.get_next_version(versions[name], None)
    if squashed := await asyncio.to_thread(_squash_snapshots, thread):
        values["snapshot"] = squashed
        new_versions["snapshot"] = store.get_next_version(versions.get("snapshot"), None)
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = {**versions, **new_versions}
    metadata = cast(CheckpointMetadata, {**stored.metadata, COMPACTED: True})
    # the same id, so that the thread keeps its place in the list; it no longer has a parent
    await store.aput(config, checkpoint, metadata, new_versions)
    await store.keep_only(thread.thread_id, checkpoint["id"])
    return True


def _squash_snapshots(thread: Thread) -> str:
    """Keep only the newest snapshot of the files; return its new id, empty if there is none."""
    records = Workspace(thread.workspace or ".").records
    folder = records / SNAPSHOTS
    if not folder.exists():
        return ""
    store = SnapshotStore.open(folder)
    ref = make_ref(thread.thread_id)
    if store is None or not store.head(ref):
        return ""
    with contextlib.suppress(OSError):
        (records / REWINDS / f"{ref}.json").unlink(missing_ok=True)
    snapshot = store.squash(ref)
    with contextlib.suppress(StorageError):  # of another thread; it only costs space
        store.collect_garbage(everything=True)
    return snapshot


async def _read_threads(
    store: Store, report: MaintenanceReport
) -> AsyncIterator[tuple[Thread, StoredThread]]:
    """Yield the threads of a store that can be read, and report the others."""
    thread_ids = await store.recent(MAX_THREADS)
    for thread_id, stored in (await store.measure(thread_ids)).items():
        try:
            thread = await read_thread(store, thread_id)
        except StorageError:
            report.damaged.append(thread_id)
            continue
        if thread is not None:
            yield thread, stored


async def _is_waiting(store: Store, thread: Thread) -> bool:
    stored = await store.aget_tuple(thread_config(thread.thread_id))
    return stored is not None and is_waiting(stored.pending_writes or ())
