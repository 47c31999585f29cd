"""Rewind the files of a workspace for one thread.

An intent is written before the first file changes, and each path before it changes. After a kill,
the intent is completed, which changes only what the rewind has not changed yet. All functions are
blocking.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

from manus.state.errors import StorageError, UsageError
from manus.threads.snapshots.objects import Author, SnapshotStore, make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder, Writes
from manus.threads.snapshots.restore import Restoration, plan_restore
from manus.threads.snapshots.rewinds import Intent, RewindLog
from manus.threads.snapshots.write_log import WriteLog, open_write_log
from manus.workspace.safe_open import is_folder
from manus.workspace.tree import path_and_parents
from manus.workspace.workspace import Workspace

SNAPSHOTS = "snapshots"
"""The folder of the snapshots in the records of a workspace."""
REWINDS = "rewinds"
"""The folder with the rewinds of each thread."""


@dataclass(slots=True)
class RestoredFiles:
    """The effects of a rewind on the files of a workspace; paths are relative to it."""

    restored: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files that somebody else has changed, which are not restored."""
    in_doubt: list[str] = field(default_factory=list)
    """Files that an interrupted call or somebody else has changed, also not restored."""
    occupied: list[str] = field(default_factory=list)
    """Folders that stay because they contain unrecorded files."""
    failed: dict[str, str] = field(default_factory=dict)
    """Files that could not be restored, with the reason."""
    has_files: bool = True
    """Whether the files of the step are recorded on this machine."""


class _RewindWrites:
    """The author of each change while a rewind is in progress."""

    def __init__(self, writes: WriteLog, restored: list[str]) -> None:
        self._writes = writes
        self._restored = {parent for path in restored for parent in path_and_parents(path)}
        self.paths = writes.paths

    def find_author(self, path: str) -> Author:
        """Return the author of the change of a path."""
        return "rewind" if path in self._restored else self._writes.find_author(path)


class FileRewinder:
    """Rewinds the files that the calls of one thread have changed."""

    def __init__(
        self, workspace: Workspace, thread_id: str, writes: WriteLog | None = None
    ) -> None:
        """Create the rewinder of a thread; `writes` is its log if the thread is open."""
        self._workspace = workspace
        self._folder = workspace.records / SNAPSHOTS
        self._ref = make_ref(thread_id)
        self._writes = writes or open_write_log(self._folder, self._ref)
        self._written: list[str] = []
        """Paths that are as the rewind in progress has left them."""
        self.log = RewindLog(workspace.records / REWINDS, thread_id)

    def find_snapshots(self, snapshot: str) -> tuple[str, str]:
        """Return the snapshot of the current files, and the one to restore.

        Args:
            snapshot: the one after the step to rewind to; empty if no file was changed until then.

        Raises:
            StorageError: the current files cannot be recorded.
            UsageError: the workspace does not exist.
        """
        before = self.record("before a rewind")
        store = self._open_store()
        if store is None or not before:
            return "", ""
        start = snapshot or store.chain("", before)[0].id
        return before, start if store.exists(start) else ""

    def record(self, label: str, restored: list[str] | None = None) -> str:
        """Record the current files; return the snapshot, empty if the thread has none.

        `restored`: the paths that a rewind has changed.

        Raises:
            StorageError: the files cannot be recorded, so other people's changes would be lost.
            UsageError: the workspace does not exist.
        """
        store = self._open_store()
        head = store.head(self._ref) if store is not None else ""
        if not head:
            return ""
        if not is_folder(self._workspace.root):
            raise UsageError(
                f"The workspace {self._workspace.root} does not exist, so nothing was restored. "
                "Move it back, or write the files of a step to a new folder with "
                "`manus fork THREAD --to STEP --workspace DIR`."
            )
        recorder = SnapshotRecorder(self._workspace.root, self._folder)
        recorder.notify = _refuse
        settled = self._writes.settle()
        writes: Writes = _RewindWrites(self._writes, restored or [])
        snapshot = recorder.take(self._ref, head, writes, label)
        recorder.close()
        self._writes.forget(settled)
        return snapshot or ""

    def restore(self, intent: Intent) -> RestoredFiles:
        """Carry out the part of an intent that is about files, or what remains of it.

        Raises:
            StorageError: the snapshots cannot be used.
        """
        store = self._open_store() if intent.start else None
        if store is None:
            return RestoredFiles(has_files=False)
        before = store.read_tree(intent.before)
        plan = plan_restore(store, intent.start, intent.before, before, theirs=intent.theirs)
        restoration = Restoration(self._workspace.root, store, plan, self.log.progress)
        restoration.run()
        self._written = restoration.list_written()
        return RestoredFiles(
            sorted(set(restoration.changed)),
            plan.kept + restoration.kept,
            plan.in_doubt,
            restoration.occupied,
            restoration.failed,
        )

    def begin(self, intent: Intent, replaced: int = 0) -> None:
        """Write the intent of a rewind, which replaces a number of the newest ones.

        Raises:
            StorageError: it cannot be written.
        """
        rewinds = self.log.read()
        self.log.write([*rewinds[: len(rewinds) - replaced], intent])

    def find_unfinished(self) -> Intent | None:
        """Return the rewind that was interrupted; None if there is none."""
        rewinds = self.log.read()
        return rewinds[-1] if rewinds and not rewinds[-1].is_complete else None

    def complete(self, result: str) -> None:
        """Record the files after the rewind in progress, and mark it as complete.

        `result`: the newest checkpoint of the thread.
        """
        *earlier, intent = self.log.read()
        if intent.start:
            self.record("a rewind", self._written)
        if intent.undoes:
            earlier = earlier[: -intent.undoes]
        if intent.undoes and earlier:  # the thread is where that rewind led to
            earlier[-1] = replace(earlier[-1], result=result)
        if intent.origin:
            earlier.append(replace(intent, undoes=0, result=result, is_complete=True))
        self.log.write(earlier)

    def _open_store(self) -> SnapshotStore | None:
        return SnapshotStore.open(self._folder) if is_folder(self._folder) else None


def restore_snapshot(
    workspace: Workspace, thread_id: str, snapshot: str, writes: WriteLog
) -> RestoredFiles:
    """Restore the files of a thread as in a snapshot, without its messages. Blocking.

    Raises:
        StorageError: the snapshots cannot be used.
        UsageError: the workspace does not exist.
    """
    rewinder = FileRewinder(workspace, thread_id, writes)
    if (unfinished := rewinder.find_unfinished()) is not None:
        rewinder.restore(unfinished)
        rewinder.complete("")
    before, start = rewinder.find_snapshots(snapshot)
    rewinder.begin(Intent("", start, before, "", before))
    result = rewinder.restore(rewinder.log.read()[-1])
    rewinder.complete("")
    return result


def _refuse(reason: str) -> NoReturn:
    raise StorageError(f"Nothing was restored, because the current files are unknown. {reason}")
