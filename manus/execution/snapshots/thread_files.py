"""The files of one thread in one process: snapshots around the calls of a run and its subagents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from manus.execution.snapshots.objects import Author, make_ref
from manus.execution.snapshots.recorder import Recorder
from manus.execution.workspace import WORKSPACE

SNAPSHOTS = "snapshots"
"""The folder of the snapshots in the records of a workspace."""
REWINDS = "rewinds"
"""The folder with the last rewind of each thread."""
_EVERYTHING = "*"


class ThreadFiles:
    """Records what the calls of a thread change, apart from what others change.

    A snapshot before a call contains what others have changed since the last one; a snapshot after
    it, what the call has changed. While several calls run at the same time, all changes count as
    theirs.
    """

    def __init__(self, recorder: Recorder, thread_id: str, *, is_in_doubt: bool) -> None:
        """Create it.

        Args:
            recorder: of the workspace.
            thread_id: id of the thread.
            is_in_doubt: a call was interrupted, so changes since the last snapshot are its own.
        """
        self._recorder = recorder
        self._ref = make_ref(thread_id)
        self._head: str | None = None
        self._active = 0
        self._is_in_doubt = is_in_doubt
        self._lock = asyncio.Lock()

    @property
    def head(self) -> str:
        """Return the id of the newest snapshot; empty if there is none."""
        return self._head or ""

    @asynccontextmanager
    async def around_call(self, label: str, resources: Iterable[str]) -> AsyncIterator[None]:
        """Record the files before and after a call that may change these resources."""
        paths = await asyncio.to_thread(find_paths, self._recorder.root, list(resources))
        # what is not recorded counts later as the work of others, which a rewind keeps
        if paths == [] or self._recorder.is_too_slow():
            yield
            return
        async with self._lock:
            is_ours = self._active > 0 or self._is_in_doubt
            # an interrupted call may have changed more than the files of this one
            await self._take("", None if self._is_in_doubt else paths, is_ours=is_ours)
            self._is_in_doubt = False
            self._active += 1
        try:
            yield
        except BaseException:
            self._is_in_doubt = True
            raise
        else:
            async with self._lock:
                await self._take(label, paths, is_ours=True)
        finally:
            self._active -= 1

    async def find_changes_in_doubt(self) -> list[str]:
        """Return the files that changed since the last snapshot, which was before a call."""
        async with self._lock:
            before = await self._load_head()
            await self._take("interrupted", None, is_ours=True)
            self._is_in_doubt = False
            return await asyncio.to_thread(self._recorder.changes, before, self.head)

    async def close(self) -> None:
        """Record what calls have changed that were cancelled."""
        async with self._lock:
            if self._is_in_doubt:
                await self._take("cancelled", None, is_ours=True)
                self._is_in_doubt = False
            await asyncio.to_thread(self._recorder.close)

    async def _load_head(self) -> str:
        if self._head is None:
            self._head = await asyncio.to_thread(self._recorder.head, self._ref)
        return self._head

    async def _take(self, label: str, paths: Collection[str] | None, *, is_ours: bool) -> None:
        parent = await self._load_head()
        author: Author = "agent" if is_ours else "outside"
        self._head = await asyncio.to_thread(
            self._recorder.take, self._ref, parent, author, label, paths
        )


def find_paths(root: Path, resources: Iterable[str]) -> list[str] | None:
    """Return the files that a call with these resources may change. Blocking (follows links).

    None if it may change any file, and an empty list if it uses no files.
    """
    paths = []
    for resource in resources:
        if resource in (_EVERYTHING, WORKSPACE):
            return None
        name = resource.removeprefix(f"{WORKSPACE}/")
        if name == resource:
            continue
        real = os.path.realpath(root / name)
        if os.path.isdir(real) or not real.startswith(f"{root}/"):  # noqa: PTH112
            return None
        paths.append(os.path.relpath(real, root))
    return paths
