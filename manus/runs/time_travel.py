"""The public functions that list, rewind and fork the threads of a store."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from manus.runs.fork import fork_thread
from manus.runs.messages import read_unread
from manus.state.errors import UsageError
from manus.threads.base import Store
from manus.threads.history import read_history
from manus.threads.rewind import Rewinder, Rewound
from manus.threads.steps import HistoryStep, find_changes, find_step, list_steps
from manus.threads.thread_list import Thread, get_thread


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
