"""Rewind the files of a workspace for one thread.

An intent is written before the first file changes. After a kill, the same rewind is repeated, which
changes only what is not yet restored. All functions are blocking.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import NoReturn

from manus.execution.safe_open import is_folder, open_file, write_private
from manus.execution.snapshots.activity import ActivityMarker
from manus.execution.snapshots.objects import Author, SnapshotStore, make_ref
from manus.execution.snapshots.recorder import SnapshotRecorder
from manus.execution.snapshots.restore import Restoration, plan_restore
from manus.execution.workspace import Workspace
from manus.state.errors import StorageError, UsageError

SNAPSHOTS = "snapshots"
"""The folder of the snapshots in the records of a workspace."""
REWINDS = "rewinds"
"""The folder with the last rewind of each thread."""
_NO_SNAPSHOT = "none"


@dataclass(frozen=True, slots=True)
class Intent:
    """A rewind that has started. It is complete when `after` is set."""

    checkpoint: str
    """The checkpoint to rewind to; empty if only files are restored."""
    start: str
    """The snapshot to restore; empty if files are not changed."""
    before: str
    """The snapshot of the files before the rewind; empty if there is none."""
    previous: str
    """The newest checkpoint before the rewind."""
    theirs: bool = False
    step: int = 0
    """Number of the step that the files are restored to."""
    after: str = ""
    """The snapshot of the files after the rewind."""
    is_undo: bool = False
    """Whether it undoes a rewind."""


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

    @property
    def has_changes(self) -> bool:
        """Return whether there was anything to restore."""
        return bool(self.restored or self.kept or self.in_doubt or self.failed)


class FileRewinder:
    """Rewinds the files that the calls of one thread have changed."""

    def __init__(self, workspace: Workspace, thread_id: str) -> None:
        self._workspace = workspace
        self._folder = workspace.records / SNAPSHOTS
        self._ref = make_ref(thread_id)
        self._marker = ActivityMarker(self._folder, self._ref)
        self._intent_path = workspace.records / REWINDS / f"{self._ref}.json"

    def find_snapshots(self, snapshot: str) -> tuple[str, str]:
        """Return the snapshot of the current files, and the one to restore.

        Args:
            snapshot: the one after the step to rewind to; empty if no file was changed until then.

        Raises:
            StorageError: the current files cannot be recorded.
            UsageError: the workspace does not exist.
        """
        before = self.record("outside", "before a rewind")
        store = self._open_store()
        if store is None or not before:
            return "", ""
        start = snapshot or store.chain("", before)[0].id
        return before, start if store.exists(start) else ""

    def record(self, author: Author, label: str) -> str:
        """Record the current files; return the snapshot, empty if the thread has none.

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
                "`manus fork THREAD --at STEP --workspace DIR`."
            )
        recorder = SnapshotRecorder(self._workspace.root, self._folder)
        recorder.notify = _refuse
        if self._marker.is_set():
            head = recorder.take(self._ref, head, "unknown", "interrupted")
            self._marker.clear()
        snapshot = recorder.take(self._ref, head, author, label)
        recorder.close()
        return snapshot

    def restore(self, intent: Intent) -> RestoredFiles:
        """Carry out the part of an intent that is about files, and record the result.

        Raises:
            StorageError: the snapshots cannot be used.
        """
        store = self._open_store() if intent.start else None
        if store is None:
            return RestoredFiles(has_files=False)
        # after an interruption, the files differ from the previous snapshot
        current = store.read_tree(self.record("rewind", "a part of a rewind"))
        plan = plan_restore(store, intent.start, intent.before, current, theirs=intent.theirs)
        restoration = Restoration(self._workspace.root, store, plan)
        restoration.run()
        return RestoredFiles(
            sorted(set(restoration.changed)),
            plan.kept,
            plan.in_doubt,
            restoration.occupied,
            restoration.failed,
        )

    def complete(self, intent: Intent) -> None:
        """Record the files after a rewind, and mark the rewind as complete."""
        after = self.record("rewind", "a rewind") if intent.start else ""
        self.write_intent(replace(intent, after=after or _NO_SNAPSHOT))

    def read_intent(self) -> Intent | None:
        """Return the last rewind; None if there is none, or if another release wrote it."""
        try:
            with open_file(self._intent_path) as file:
                return Intent(**json.load(file))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError):  # damaged, or of another release
            return None

    def write_intent(self, intent: Intent) -> None:
        """Write the intent of a rewind.

        Raises:
            StorageError: it cannot be written.
        """
        try:
            write_private(self._intent_path, json.dumps(asdict(intent)).encode())
        except OSError as error:
            raise StorageError(
                f"Cannot write the record of a rewind to {self._intent_path} "
                f"({error.strerror}); free space or fix the permissions, then repeat the command."
            ) from None

    def _open_store(self) -> SnapshotStore | None:
        return SnapshotStore.open(self._folder) if is_folder(self._folder) else None


def restore_snapshot(workspace: Workspace, thread_id: str, snapshot: str) -> RestoredFiles:
    """Restore the files of a thread as in a snapshot, without its messages. Blocking.

    Raises:
        StorageError: the snapshots cannot be used.
        UsageError: the workspace does not exist.
    """
    rewinder = FileRewinder(workspace, thread_id)
    last = rewinder.read_intent()
    if last is not None and not last.after and not last.checkpoint:
        rewinder.restore(last)  # it was interrupted
    before, start = rewinder.find_snapshots(snapshot)
    intent = Intent("", start, before, "")
    rewinder.write_intent(intent)
    result = rewinder.restore(intent)
    rewinder.complete(intent)
    return result


def _refuse(reason: str) -> NoReturn:
    raise StorageError(f"Nothing was restored, because the current files are unknown. {reason}")
