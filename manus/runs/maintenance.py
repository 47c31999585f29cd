"""Prune and compact the threads of a store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import CheckpointMetadata, copy_checkpoint

from manus.graph import build_graph
from manus.graph.outcome import is_over
from manus.graph.run_graph import RunGraph
from manus.state.endings import UNFINISHED, WAITING
from manus.state.errors import StorageError, ThreadBusyError
from manus.threads.base import Store, StoredThread
from manus.threads.deletion import delete_thread
from manus.threads.history import COMPACTED
from manus.threads.outputs import KeptOutputs
from manus.threads.serializer import wrap_full_copy
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.rewinding import REWINDS, SNAPSHOTS
from manus.threads.thread_id import MAX_THREADS
from manus.threads.thread_list import (
    Thread,
    read_thread,
    read_threads,
    thread_config,
)
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
        elif thread.status == WAITING.label:
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
            if current != thread:
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
    graphs = cache(lambda kind: build_graph(kind, "manus", store))
    records = set()
    async for thread, stored in _read_threads(store, report):
        if thread.status == WAITING.label:
            report.waiting.append(thread.thread_id)
            continue
        if thread.is_compacted:
            continue
        if dry_run:
            is_done = thread.status != UNFINISHED.label and thread.workspace is not None
            (report.done if is_done else report.others).append(thread.thread_id)
            continue
        try:
            async with store.hold(thread.thread_id):
                is_done = await compact_thread(store, thread, graphs(thread.kind))
        except ThreadBusyError:
            report.busy.append(thread.thread_id)
            continue
        if not is_done:
            report.others.append(thread.thread_id)
            continue
        report.done.append(thread.thread_id)
        records.add(Workspace(str(thread.workspace)).records)
        [now] = (await store.measure([thread.thread_id])).values()
        report.freed += stored.size - now.size
    for folder in records:
        await asyncio.to_thread(_collect_garbage, folder / SNAPSHOTS)
    return report


async def compact_thread(store: Store, thread: Thread, graph: RunGraph[Any]) -> bool:
    """Keep the newest checkpoint of a thread, which the caller holds, with all its values.

    Returns False if it must stay unchanged: its last run has not ended, or its state has channels
    that the graphs of this release do not know.
    """
    config = thread_config(thread.thread_id)
    snapshot = await graph.aget_state(config)
    stored = await store.aget_tuple(config)
    if stored is None or thread.workspace is None or not is_over(snapshot):
        return False
    versions = stored.checkpoint["channel_versions"]
    if any(not name.startswith(_INTERNAL) for name in versions.keys() - graph.channels):
        return False
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
    return store.squash(ref)


def _collect_garbage(folder: Path) -> None:
    """Remove the objects that no thread uses any more from a workspace's snapshots."""
    if folder.exists() and (store := SnapshotStore.open(folder)) is not None:
        with contextlib.suppress(StorageError):  # of another thread; it only costs space
            store.collect_garbage(everything=True)


async def _read_threads(
    store: Store, report: MaintenanceReport
) -> AsyncIterator[tuple[Thread, StoredThread]]:
    """Yield the threads of a store that can be read, and report the others."""
    sizes = await store.measure(await store.recent(MAX_THREADS))
    async for thread_id, thread in read_threads(store, [*sizes]):
        if isinstance(thread, StorageError):
            report.damaged.append(thread_id)
        elif thread is not None:
            yield thread, sizes[thread_id]
