"""List, rewind and fork the threads of a store, and describe the results in sentences."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from manus.prompts.formatting import MAX_NAMES, clean, fit, in_words
from manus.runs.messages import read_unread
from manus.state.errors import StorageError, UsageError
from manus.threads.base import Store
from manus.threads.history import read_history
from manus.threads.records.inbox import InboxMessage
from manus.threads.rewind import Rewinder, Rewound
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.restore import Restoration, plan_copy
from manus.threads.snapshots.restored_text import describe_effects, describe_files
from manus.threads.snapshots.rewinding import SNAPSHOTS
from manus.threads.steps import HistoryStep, find_changes, find_step, list_steps
from manus.threads.thread_list import Thread, get_thread
from manus.workspace.workspace import PRIVATE, Workspace

_TEXT_WIDTH = 60
"""Terminal cells of a message."""

_UNFINISHED = "manus-fork"
"""Suffix of a folder that is being filled with the files of a fork."""


async def history(store: Any, thread_id: str) -> list[HistoryStep]:
    """Return the steps of a thread, each with the files that it changed.

    Step 0 is the state before the first step.

    Example:
        async with open_sqlite(Path("threads.sqlite")) as store:
            for step in await history(store, "calculator"):
                print(step.number, step.text, *step.files)

    Args:
        store: from `open_sqlite` or `open_postgres`.
        thread_id: the thread's id, or a prefix of a generated one.

    Raises:
        UsageError: the thread does not exist.
    """
    thread = await get_thread(_check(store), thread_id)
    steps = list_steps(await read_history(store, thread.thread_id))
    files = await asyncio.to_thread(find_changes, thread, steps)
    return [replace(step, files=tuple(files.get(step.number, ()))) for step in steps]


async def rewind(
    store: Any,
    thread_id: str,
    to: int | None = None,
    *,
    undo: bool = False,
    theirs: bool = False,
) -> Rewound:
    """Return a thread to the end of a step: its messages, plan, approvals and files.

    Files that others have changed since are kept. The next run on the thread continues from there.

    Example:
        async with open_sqlite(Path("threads.sqlite")) as store:
            result = await rewind(store, "calculator", to=2)
            print(result.restored, result.kept, result.outside_effects)

    Args:
        store: from `open_sqlite` or `open_postgres`.
        thread_id: the thread's id, or a prefix of a generated one.
        to: the number of the step (see `history`).
        undo: undo the last rewind instead.
        theirs: also restore files that others have changed since.

    Raises:
        ThreadBusyError: a run is using the thread.
        StorageError: the snapshots of the files cannot be used.
        UsageError: the thread or step does not exist, or its workspace does not exist.
    """
    if (to is None) != undo:
        raise UsageError("Pass either the step to return to, `to=STEP`, or `undo=True`.")
    thread = await get_thread(_check(store), thread_id)
    async with store.acquire(thread.thread_id):
        result = await _rewind(store, thread, to, theirs=theirs)
        result.unread = await read_unread(store, thread.thread_id)
        return result


async def _rewind(store: Store, thread: Thread, to: int | None, *, theirs: bool) -> Rewound:
    rewinder = Rewinder(store, thread)
    finished = await rewinder.finish()
    if finished is not None:
        intent, result = finished
        if (None if intent.undoes else intent.step) == to and intent.theirs == theirs:
            return result  # it is the same rewind
    if to is None:
        return await rewinder.undo()
    steps = list_steps(await read_history(store, thread.thread_id))
    return await rewinder.rewind(find_step(steps, to, thread.thread_id), theirs=theirs)


async def rewind_to_checkpoint(store: Store, thread: Thread, checkpoint: str) -> Rewound | None:
    """Rewind a thread, which the caller holds, to a checkpoint at the end of a step.

    Returns None if the step does not exist.
    """
    for step in list_steps(await read_history(store, thread.thread_id)):
        if step.checkpoint == checkpoint:
            result = await Rewinder(store, thread).rewind(step)
            result.unread = await read_unread(store, thread.thread_id)
            return result
    return None


async def fork(
    store: Any, thread_id: str, at: int, *, workspace: str | os.PathLike[str] | None = None
) -> str:
    """Copy a thread up to the end of a step; return the id of the copy.

    Args:
        store: from `open_sqlite` or `open_postgres`.
        thread_id: the thread's id, or a prefix of a generated one.
        at: the number of the last step of the copy (see `history`).
        workspace: a new or empty folder that gets the files as of the end of the step. By default
            the copy works in the workspace of the original, whose files stay unchanged.

    Raises:
        ThreadBusyError: a run is using the thread.
        UsageError: the thread or step does not exist, the folder is not empty, or the files of the
            step are not recorded.
    """
    thread = await get_thread(_check(store), thread_id)
    folder = None if workspace is None else Path(workspace)
    async with store.hold(thread.thread_id):
        steps = list_steps(await read_history(store, thread.thread_id))
        step = find_step(steps, at, thread.thread_id)
        return await fork_thread(store, thread, step, folder)


def _check(store: Any) -> Store:
    if isinstance(store, Store):
        return store
    raise UsageError(
        f"Pass a store from `open_sqlite` or `open_postgres` (got {type(store).__name__})."
    )


def describe_rewound(result: Rewound, currency: str, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about files, effects outside the workspace, unread messages, and usage.

    `theirs`: the sentence about how to restore files that were kept.
    """
    yield from describe_files(result, theirs=theirs)
    yield from describe_effects(result.outside_effects)
    yield from describe_unread(result.unread)
    if spent := in_words(result.spent, currency):
        yield f"Usage since then still counts: {spent}."


def describe_unread(unread: Sequence[InboxMessage]) -> Iterator[str]:
    """Yield a sentence about the unread messages of a thread."""
    if not unread:
        return
    texts = [f"{fit(clean(item.text), _TEXT_WIDTH)} ({item.id})" for item in unread[:MAX_NAMES]]
    hidden = len(unread) - MAX_NAMES
    suffix = f"; and {hidden} more" if hidden > 0 else ""
    yield f"Unread messages stay, and the next run reads them: {'; '.join(texts)}{suffix}."


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
