"""What a thread leaves in its workspace besides the work itself: journals and archives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from manus.tools.archive import Archive
from manus.tools.journal import Journal
from manus.tools.workspace import PRIVATE

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.threads import Thread

_BESIDE = ("", "-journal", "-wal", "-shm")
"""Endings of the files that SQLite may have beside its own."""


async def delete_thread_files(store: Store, thread: Thread) -> list[str]:
    """Delete a thread's journals and archives, those of its plans' steps too.

    The answer is a sentence for each file that could not be deleted. Where the workspace has moved
    or gone there is nothing to delete.
    """
    if thread.workspace is None:
        return []
    stored = store.saver.alist({"configurable": {"thread_id": thread.thread_id}})
    namespaces = {str(one.config["configurable"].get("checkpoint_ns", "")) async for one in stored}
    keys = sorted(f"{thread.thread_id}:{namespace}" for namespace in {"", *namespaces})
    return await asyncio.to_thread(_delete, Path(thread.workspace) / PRIVATE, keys)


def _delete(private: Path, keys: Iterable[str]) -> list[str]:
    left = []
    for path in (path for key in keys for path in files_of(private, key)):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            left.append(f"{path} could not be deleted ({error.strerror}); delete it by hand.")
    return left


def files_of(private: Path, key: str) -> list[Path]:
    """The files of the run of a key, whether they are there or not."""
    archive = Archive.path_for(private, key)
    beside = [archive.with_name(archive.name + ending) for ending in _BESIDE]
    return [Journal.path_for(private, key), *beside]
