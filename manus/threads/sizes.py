"""The sizes of threads: their data in the store, and their archives on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from manus.threads.deletion import list_archives
from manus.workspace.safe_open import list_sizes
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.threads.base import Store, StoredThread
    from manus.threads.thread_list import Thread


async def measure_threads(store: Store, threads: Sequence[Thread]) -> dict[str, int]:
    """Return the size of each thread in bytes, without the snapshots, which threads share.

    The store answers with one query for all threads.
    """
    stored = await store.measure([thread.thread_id for thread in threads])
    return await asyncio.to_thread(_add_archives, threads, stored)


def _add_archives(threads: Sequence[Thread], stored: Mapping[str, StoredThread]) -> dict[str, int]:
    """Return the sizes of threads; each folder is read once. Blocking."""
    find_records = cache(lambda folder: Workspace(folder).records)
    list_files = cache(list_sizes)
    sizes = {}
    for thread in threads:
        part = stored[thread.thread_id]
        sizes[thread.thread_id] = part.size
        if thread.workspace is not None:
            records = find_records(thread.workspace)
            for archive in list_archives(records, thread.thread_id, part.sizes):
                sizes[thread.thread_id] += list_files(archive.parent).get(archive.name, 0)
    return sizes
