"""The runs of the queue in the list of threads. Slow imports are in the functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from manus.cli.notes import print_note
from manus.prompts.formatting import count
from manus.state.endings import FAILED, QUEUED, RUNNING, UNFINISHED, get_ending
from manus.state.errors import SettingsError, UsageError
from manus.threads.thread_list import Thread
from manus.worker.queue import check_queue, open_queue

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.threads.base import Store
    from manus.worker.job_queue import QueueEntry


async def with_queue(
    threads: list[Thread], store: Store, settings: Settings, limit: int
) -> list[Thread]:
    """Return threads with those that wait in the queue, newest first, at most `limit`.

    The number of waiting runs is printed on stderr.
    """
    try:
        check_queue(settings)
    except SettingsError:  # no queue, or none that can be read here
        return threads
    async with open_queue(settings, create=False) as queue:
        entries = await queue.entries()
    if not entries:
        return threads
    listed = {thread.thread_id: thread for thread in threads}
    for entry in entries:
        run = entry.run
        thread = listed.get(run.thread_id) or await _find_thread(store, entry)
        listed[run.thread_id] = _with_status(thread, entry)
        if entry.failure:
            print_note(f"The run of the thread {run.thread_id} was given up: {entry.failure}.")
    waiting = sum(entry.status == "todo" for entry in entries)
    running = sum(entry.status == "doing" for entry in entries)
    print_note(f"Queue: {count(waiting, 'run')} waiting, {running:,} at a worker.")
    newest_first = sorted(listed.values(), key=lambda thread: thread.updated, reverse=True)
    return newest_first[:limit]


async def _find_thread(store: Store, entry: QueueEntry) -> Thread:
    """Return the thread of a run, which need not have any checkpoint yet."""
    from manus.threads.thread_list import read_thread

    run = entry.run
    thread = await read_thread(store, run.thread_id)
    if thread is not None:
        return thread
    return Thread(
        thread_id=run.thread_id,
        kind=run.kind,
        profile=run.options.get("profile"),
        workspace=run.options.get("workspace"),
        options={},
        request=run.request[:100],
        steps=0,
        status=QUEUED,
        updated=run.queued_at,
    )


def _with_status(thread: Thread, entry: QueueEntry) -> Thread:
    if entry.status == "failed":
        status = FAILED if entry.failure else get_ending("error", success=False).label
        is_open = thread.status == QUEUED or (entry.failure and thread.status == UNFINISHED.label)
        return replace(thread, status=status) if is_open else thread
    if thread.status == RUNNING:
        return thread
    return replace(thread, status=QUEUED)


def cancel_runs(settings: Settings, ids: Sequence[str]) -> None:
    """Remove the runs of threads from the queue, and have workers stop those that they execute.

    Raises:
        UsageError: an id, or a prefix of one, has no run in the queue, or matches several.
    """
    import asyncio

    asyncio.run(_cancel(settings, ids))


async def _cancel(settings: Settings, ids: Sequence[str]) -> None:
    from manus.threads.open_store import open_store

    async with open_store(settings), open_queue(settings, create=False) as queue:
        entries = await queue.entries()
        for prefix in ids:
            for entry in _select(entries, prefix, queue.location):
                if not await queue.cancel(entry):
                    continue
                action = "The worker stops" if entry.status == "doing" else "Cancelled"
                print_note(f"{action} the run of the thread {entry.run.thread_id}.")


def _select(entries: Sequence[QueueEntry], prefix: str, location: str) -> Iterator[QueueEntry]:
    """Yield the entries of the thread with an id, or with the only id that has this prefix."""
    thread_ids = {entry.run.thread_id for entry in entries}
    matches = {prefix} & thread_ids or {name for name in thread_ids if name.startswith(prefix)}
    if len(matches) != 1:
        problem = (
            f"{len(matches)} threads start with {prefix}"
            if matches
            else (f"The thread {prefix} has no run")
        )
        raise UsageError(f"{problem} in the queue of {location}; `manus threads` lists them.")
    for entry in entries:
        if entry.run.thread_id in matches:
            yield entry
