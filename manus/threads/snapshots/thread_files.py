"""The files of one thread in one process: snapshots around the calls of a run and its subagents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from manus.threads.snapshots.objects import make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.restored_text import describe_deleted, describe_unrecorded
from manus.threads.snapshots.rewinding import RestoredFiles, restore_snapshot
from manus.threads.snapshots.write_log import open_write_log
from manus.workspace.safe_open import observe_writes
from manus.workspace.workspace import WORKSPACE, Workspace

_EVERYTHING = "*"
_MAX_FILES = 20
"""Maximum number of files named after an interrupted call."""


class ThreadFiles:
    """The recorded files of a thread, which separate changes by its calls from changes by others.

    A call is preceded by a snapshot of the whole workspace, so that everything it may change or
    delete is stored, and followed by one of the files that it changed; neither is taken if the
    kernel reports no change since the last one. The author of each change is read from the log of
    what the thread's calls and programs write.
    """

    def __init__(self, recorder: SnapshotRecorder, thread_id: str) -> None:
        """Create the recorded files of a thread. Blocking."""
        self._recorder = recorder
        self._thread_id = thread_id
        self._ref = make_ref(thread_id)
        self.head = ""
        """Id of the newest snapshot; empty if there is none, or it is not loaded yet."""
        self._is_head_loaded = False
        self.writes = open_write_log(recorder.folder, self._ref)
        """The changes by calls and programs of the thread that are not in a snapshot yet."""
        self._start = ""
        """Id of the snapshot before the first call of the run."""
        self._unrecorded: dict[str, None] = {}
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def around_call(
        self, label: str, resources: Iterable[str], *, is_logged: bool
    ) -> AsyncIterator[None]:
        """Record the files before and after a call that may change these resources.

        `is_logged`: the call itself, or the supervisor of its programs, logs what it changes.
        """
        root = self._recorder.root
        names = list(resources)
        paths = None
        if not _uses_any_file(names):
            paths = await asyncio.to_thread(find_paths, root, names)
        if paths == []:
            with observe_writes(root, self.writes):
                yield
            return
        is_unknown = not (is_logged or paths)
        async with self._lock:
            if paths or self.writes or not self._recorder.is_current(self.head):
                await self._take("", paths)  # contains everything that the call may change
        self._start = self._start or self.head
        if paths:
            await asyncio.to_thread(self.writes.note_all, paths)
        with ExitStack() as stack:
            if is_unknown and self.writes.expects_unknown:
                stack.enter_context(self.writes.unknown_writer())
            elif is_unknown:
                await asyncio.to_thread(stack.enter_context, self.writes.unknown_writer())
            stack.enter_context(observe_writes(root, self.writes))
            yield
        async with self._lock:
            is_current = is_unknown and self._recorder.is_current(self.head)
            if not (is_current and self.writes.withdraw_unknown()):
                await self._take(label, ())

    def describe_unrecorded(self) -> str:
        """Return a note on files that calls have changed and a rewind cannot restore; or empty."""
        names = self._recorder.find_unrecorded(self.writes)
        self._unrecorded |= dict.fromkeys(names)
        return f"\n[{describe_unrecorded(names)}]" if names else ""

    async def describe_changes_in_doubt(self, before: str) -> str:
        """Return a sentence about the files that an interrupted call may have changed.

        Return an empty text if there are none. `before`: the snapshot before the call; by default
        the newest.
        """
        async with self._lock:
            before = before or await self._load_head()
            await self._take("interrupted", None)
            find_changes = self._recorder.changes_by_agent
            changed = await asyncio.to_thread(find_changes, before, self.head)
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
                restore_snapshot, workspace, self._thread_id, snapshot, self.writes
            )
            self.head = ""
            self._is_head_loaded = False
        return restored

    async def close(self) -> None:
        """Record what calls have changed since the last snapshot, and report what cannot be."""
        if self._unrecorded:
            self._recorder.notify(describe_unrecorded([*self._unrecorded]))
            self._unrecorded.clear()
        async with self._lock:
            if self.writes:
                await self._take("the end of a run", ())
            await self._report_deletions()
            await asyncio.to_thread(self._recorder.close)
            await asyncio.to_thread(self.writes.close)

    async def _report_deletions(self) -> None:
        """Report which files of before the run its calls have deleted, and what restores them."""
        if self._start in ("", self.head):
            return
        find = self._recorder.deletions_by_agent
        if deleted := await asyncio.to_thread(find, self._start, self.head):
            self._recorder.notify(describe_deleted(deleted, self._thread_id))
        self._start = ""

    async def _load_head(self) -> str:
        if not self._is_head_loaded:
            self.head = await asyncio.to_thread(self._recorder.head, self._ref)
            self._is_head_loaded = True
        return self.head

    async def _take(self, label: str, paths: Collection[str] | None) -> None:
        """Take a snapshot of what is logged and these paths, or of the whole workspace."""
        parent = await self._load_head()

        def take() -> str:
            settled = self.writes.settle()
            logged = self.writes.paths
            listed = None if paths is None or logged is None else {*paths, *logged}
            snapshot = self._recorder.take(self._ref, parent, self.writes, label, listed)
            if snapshot is None:
                return parent
            self.writes.forget(settled)
            return snapshot

        self.head = await asyncio.to_thread(take)


def _uses_any_file(resources: Sequence[str]) -> bool:
    return _EVERYTHING in resources or WORKSPACE in resources


def find_paths(root: Path, resources: Iterable[str]) -> list[str] | None:
    """Return the files that a call with these resources may change. Blocking (follows links).

    None if it may change any file, and an empty list if it uses no files.
    """
    names = list(resources)
    if _uses_any_file(names):
        return None
    paths = []
    for resource in names:
        name = resource.removeprefix(f"{WORKSPACE}/")
        if name == resource:
            continue
        real = os.path.realpath(root / name)
        if os.path.isdir(real) or not real.startswith(f"{root}/"):  # noqa: PTH112
            return None
        paths.append(os.path.relpath(real, root))
    return paths
