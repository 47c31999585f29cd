"""Delete a thread and everything stored for it on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from manus.state.errors import StorageError
from manus.threads.archive import Archive
from manus.threads.outputs import KeptOutputs
from manus.threads.pictures import picture_folder
from manus.threads.records.files import run_key, workspace_log
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.rewinding import REWINDS, SNAPSHOTS
from manus.threads.snapshots.write_log import WRITES
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.threads.base import Store

log = logging.getLogger("manus")

_SQLITE_SUFFIXES = ("", "-journal", "-wal", "-shm")
"""Suffixes of a SQLite database and its companion files."""


async def delete_thread(store: Store, thread_id: str, kept: KeptOutputs | None = None) -> None:
    """Delete a thread, which the caller holds.

    That includes its checkpoints, journals, inbox, archives, snapshots and kept outputs, none of
    which need be readable. Files are deleted first, so that an interrupted deletion can be
    repeated. To delete several threads, pass the same `kept` for all of them.

    Raises:
        StorageError: something cannot be deleted.
    """
    kept = kept or KeptOutputs(store)
    [stored] = (await store.measure([thread_id])).values()
    namespaces = {"", *stored.sizes}
    for namespace in namespaces:
        await asyncio.to_thread(store.records.log(thread_id, namespace).remove)
    for folder in await store.read_workspaces(thread_id):
        workspace = Workspace(folder)
        outputs = await kept.find_own(thread_id, workspace)
        await asyncio.to_thread(_delete_records, workspace.records, thread_id, namespaces)
        await asyncio.to_thread(_delete_files, outputs)
    await store.adelete_thread(thread_id)


def list_archives(records: Path, thread_id: str, namespaces: Collection[str]) -> list[Path]:
    """Return the paths of the archives of a thread, which need not exist."""
    return [Archive.path_for(records, run_key(thread_id, namespace)) for namespace in namespaces]


def _delete_records(records: Path, thread_id: str, namespaces: Collection[str]) -> None:
    """Delete the records of a thread in its workspace. Blocking."""
    _delete_snapshots(records, thread_id)
    for namespace in namespaces:
        workspace_log(records, run_key(thread_id, namespace)).remove()
    for archive in list_archives(records, thread_id, namespaces):
        _delete_files(archive.with_name(archive.name + suffix) for suffix in _SQLITE_SUFFIXES)
        pictures = picture_folder(archive)
        _delete_files(pictures.glob("*"))
        with contextlib.suppress(FileNotFoundError):
            pictures.rmdir()


def _delete_snapshots(records: Path, thread_id: str) -> None:
    """Delete the snapshots of a thread, and the objects that no other thread uses. Blocking."""
    folder = records / SNAPSHOTS
    ref = make_ref(thread_id)
    _delete_files([records / REWINDS / f"{ref}.json", folder / WRITES / ref])
    if not folder.exists():
        return
    store = SnapshotStore.open(folder)
    if store is None or not store.head(ref):
        return
    store.set_head(ref, "")
    try:
        store.collect_garbage(everything=True)
    except StorageError as error:  # objects of another thread are missing
        log.warning("cannot free the space of old snapshots: %s", error)


def _delete_files(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        except OSError as error:
            raise StorageError(
                f"Cannot delete {path} ({error.strerror}); delete it manually, then try again."
            ) from None
