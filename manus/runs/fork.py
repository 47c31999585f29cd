"""Fork a thread: a new thread that continues from the end of one of its steps."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from pathlib import Path

from manus.state.errors import StorageError, UsageError
from manus.threads.base import Store
from manus.threads.rewind import Rewinder
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.restore import Restoration, plan_copy
from manus.threads.snapshots.rewinding import SNAPSHOTS
from manus.threads.steps import HistoryStep
from manus.threads.thread_list import Thread, get_thread
from manus.workspace.workspace import PRIVATE, Workspace

_UNFINISHED = "manus-fork"
"""Suffix of a folder that is being filled with the files of a fork."""


async def fork_thread(
    store: Store, thread: Thread, step: HistoryStep, workspace: Path | None
) -> str:
    """Copy a thread, which the caller holds, up to the end of a step; return the copy's id.

    Args:
        store: the store of the thread.
        thread: the original, which stays unchanged.
        step: the last step of the copy.
        workspace: a new or empty folder that gets the files as of the end of the step. By default
            the copy works in the workspace of the original, whose files stay unchanged.

    Raises:
        UsageError: the folder is not empty, or the files of the step are not recorded.
    """
    target = Workspace(workspace or thread.workspace or ".")
    snapshot = ""
    if workspace is not None:
        snapshot = await asyncio.to_thread(_copy_files, thread, step, target)
    new_id = secrets.token_hex(5)
    await store.acopy_thread(thread.thread_id, new_id)
    await asyncio.to_thread(_share_snapshots, target, thread.thread_id, new_id, snapshot)
    async with store.hold(new_id):
        rewinder = Rewinder(store, await get_thread(store, new_id))
        await rewinder.return_to(step.checkpoint, str(target.root))
    return new_id


def _share_snapshots(workspace: Workspace, old_id: str, new_id: str, snapshot: str) -> None:
    """Let a copy of a thread continue from a snapshot, or the newest of the original. Blocking."""
    folder = workspace.records / SNAPSHOTS
    store = SnapshotStore.open(folder) if folder.exists() else None
    if store is not None and (head := snapshot or store.head(make_ref(old_id))):
        store.set_head(make_ref(new_id), head)


def _copy_files(thread: Thread, step: HistoryStep, target: Workspace) -> str:
    """Write the files as of the end of a step into a folder; return the snapshot. Blocking."""
    store = open_snapshots(thread)
    if store is None:
        raise UsageError(
            f"The files of the thread {thread.thread_id} are not recorded on this machine; "
            "omit --workspace to fork only its messages."
        )
    folder = target.root
    is_in_use = folder.exists() and not folder.is_dir()
    if is_in_use or (folder.is_dir() and {path.name for path in folder.iterdir()} - {PRIVATE}):
        raise UsageError(f"{folder} is not empty; choose a new folder for the fork.")
    snapshot = step.snapshot or find_first_snapshot(store, thread)
    # the folder appears with all files, so that a fork that was killed can be repeated
    unfinished = folder.with_name(f".{folder.name}.{_UNFINISHED}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    write_snapshot(store, snapshot, unfinished)
    target.prepare()  # records that the folder was empty
    snapshots = Workspace(thread.workspace or ".").records / SNAPSHOTS
    shutil.copytree(snapshots, target.records / SNAPSHOTS, dirs_exist_ok=True)
    shutil.rmtree(target.private)
    unfinished.rename(folder)
    target.prepare()
    return snapshot


def open_snapshots(thread: Thread) -> SnapshotStore | None:
    """Return the snapshots of a thread's files; None if it has none here. Blocking."""
    folder = Workspace(thread.workspace or ".").records / SNAPSHOTS
    store = SnapshotStore.open(folder) if folder.exists() else None
    has_any = store is not None and store.head(make_ref(thread.thread_id))
    return store if has_any else None


def find_first_snapshot(store: SnapshotStore, thread: Thread) -> str:
    """Return the id of the snapshot from before the first change of a thread. Blocking."""
    return store.chain("", store.head(make_ref(thread.thread_id)))[0].id


def write_snapshot(store: SnapshotStore, snapshot: str, folder: Path) -> None:
    """Write the files of a snapshot into an empty folder. Blocking.

    Raises:
        StorageError: some files cannot be written.
    """
    restoration = Restoration(folder, store, plan_copy(store, snapshot))
    restoration.run()
    if restoration.failed:
        names = ", ".join(restoration.failed)
        raise StorageError(f"These files of the step cannot be written to {folder}: {names}.")
