"""The sizes of threads: their data in the store, and their archives on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manus.threads.deletion import list_archives
from manus.workspace.safe_open import look_at
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.threads.base import Store
    from manus.threads.thread_list import Thread


async def measure_threads(store: Store, threads: Sequence[Thread]) -> dict[str, int]:
    """Return the size of each thread in bytes, without the snapshots, which threads share.

    The store answers with one query for all threads.
    """
    stored = await store.measure([thread.thread_id for thread in threads])
    sizes = {}
    for thread in threads:
        part = stored[thread.thread_id]
        sizes[thread.thread_id] = part.size
        if thread.workspace is not None:
            records = Workspace(thread.workspace).records
            archives = (records, thread.thread_id, part.sizes)
            sizes[thread.thread_id] += await asyncio.to_thread(_measure_archives, *archives)
    return sizes


def _measure_archives(records: Path, thread_id: str, namespaces: Collection[str]) -> int:
    statuses = map(look_at, list_archives(records, thread_id, namespaces))
    return sum(status.st_size for status in statuses if status is not None)
