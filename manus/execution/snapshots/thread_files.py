"""The files of one thread in one process: snapshots around the calls of a run and its subagents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from manus.execution.snapshots.activity import ActivityMarker
from manus.execution.snapshots.objects import Author, make_ref
from manus.execution.snapshots.recorder import SnapshotRecorder
from manus.execution.snapshots.rewinding import RestoredFiles, restore_snapshot
from manus.execution.workspace import WORKSPACE, Workspace

_EVERYTHING = "*"
_MAX_FILES = 20
"""Maximum number of files named after an interrupted call."""


class ThreadFiles:
    """The recorded files of a thread, which separate changes by its calls from changes by others.

    A snapshot before a call contains what others have changed since the last one; a snapshot after
    it contains what the call has changed. While several calls run at the same time, all changes
    count as theirs. If the process died during a call, the author of later changes is unknown.
    """

    def __init__(self, recorder: SnapshotRecorder, thread_id: str) -> None:
        """Create the recorded files of a thread. Blocking."""
        self._recorder = recorder
        self._thread_id = thread_id
        self._ref = make_ref(thread_id)
        self.head = ""
        """Id of the newest snapshot; empty if there is none, or it is not loaded yet."""
        self._is_head_loaded = False
        self._active = 0
        self._marker = ActivityMarker(recorder.folder, self._ref)
        self._was_interrupted = self._marker.is_set()
        self._has_cancelled = False
        """Whether a call of this process was cancelled, so that changes since are its own."""
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def around_call(self, label: str, resources: Iterable[str]) -> AsyncIterator[None]:
        """Record the files before and after a call that may change these resources."""
        paths = await asyncio.to_thread(find_paths, self._recorder.root, list(resources))
        # unrecorded changes later count as the work of others, which a rewind keeps
        if paths == [] or self._recorder.is_too_slow():
            yield
            return
        async with self._lock:
            await self._record_before(paths)
            self._active += 1
        try:
            yield
        except BaseException:
            self._has_cancelled = True
            raise
        else:
            async with self._lock:
                is_last = self._active == 1 and not self._has_cancelled
                await self._take(label, paths, "agent", is_active=not is_last)
        finally:
            self._active -= 1

    async def _record_before(self, paths: Collection[str] | None) -> None:
        if self._was_interrupted:
            await self._take("interrupted", None, "unknown", is_active=True)
            self._was_interrupted = False
        elif self._has_cancelled:
            # a cancelled call may have changed more than the files of this one
            await self._take("cancelled", None, "agent", is_active=True)
            self._has_cancelled = False
        else:
            author: Author = "agent" if self._active else "outside"
            await self._take("", paths, author, is_active=True)

    async def describe_changes_in_doubt(self, before: str) -> str:
        """Return a sentence about the files that changed since an interrupted call started.

        Return an empty text if there are none. `before`: the snapshot before the call; by default
        the newest.
        """
        async with self._lock:
            before = before or await self._load_head()
            if self._was_interrupted:
                is_active = self._active > 0
                await self._take("interrupted", None, "unknown", is_active=is_active)
                self._was_interrupted = False
            await self._load_head()
            changed = await asyncio.to_thread(self._recorder.changes, before, self.head)
        if not changed:
            return ""
        hidden = len(changed) - _MAX_FILES
        names = ", ".join(changed[:_MAX_FILES]) + (f" and {hidden} more" if hidden > 0 else "")
        return f" Files that have changed since it started: {names}."

    async def restore(self, workspace: Workspace, snapshot: str) -> RestoredFiles:
        """Restore the workspace's files to a snapshot; empty means before the first change.

        Raises:
            StorageError: the snapshots cannot be used.
            UsageError: the workspace does not exist.
        """
        async with self._lock:
            restored = await asyncio.to_thread(
                restore_snapshot, workspace, self._thread_id, snapshot
            )
            self.head = ""
            self._is_head_loaded = False
            self._was_interrupted = False
        return restored

    async def close(self) -> None:
        """Record what cancelled calls have changed."""
        async with self._lock:
            if self._has_cancelled:
                await self._take("cancelled", None, "agent", is_active=False)
                self._has_cancelled = False
            await asyncio.to_thread(self._recorder.close)

    async def _load_head(self) -> str:
        if not self._is_head_loaded:
            self.head = await asyncio.to_thread(self._recorder.head, self._ref)
            self._is_head_loaded = True
        return self.head

    async def _take(
        self, label: str, paths: Collection[str] | None, author: Author, *, is_active: bool
    ) -> None:
        """Take a snapshot; then mark whether calls of the thread may be changing files."""
        parent = await self._load_head()

        def take() -> str:
            snapshot = self._recorder.take(self._ref, parent, author, label, paths)
            if is_active and snapshot:
                self._marker.set()
            else:
                self._marker.clear()
            return snapshot

        self.head = await asyncio.to_thread(take)


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
