"""Open the session of a run: journal, archive, downloads and the record of its files."""

from __future__ import annotations

import os

from manus.calls.changed_files import read_downloads
from manus.calls.session import Session
from manus.threads.archive import Archive
from manus.threads.journal import Journal
from manus.threads.records.base import JournalLog
from manus.threads.records.files import workspace_log
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.rewinding import SNAPSHOTS
from manus.threads.snapshots.thread_files import ThreadFiles
from manus.workspace.workspace import Workspace


def is_reusable(session: Session, workspace: Workspace) -> bool:
    """Return whether the next run can use a session: no other process has continued its thread."""
    return session.workspace.root == workspace.root and session.journal.is_current()


def open_session(
    key: str, durable: bool, lines: JournalLog | None, workspace: Workspace, *, has_files: bool
) -> Session:
    """Open the session of a thread; without `durable` it leaves no records. Blocking."""
    workspace.prepare()
    if lines is None and durable:
        lines = workspace_log(workspace.records, key)
    journal = Journal(lines)
    journal.open()
    archive = Archive(Archive.path_for(workspace.records, key) if durable else None)
    trusts_folder = workspace.trusts_files(os.environ)
    session = Session(
        workspace,
        journal=journal,
        archive=archive,
        trusts_folder=trusts_folder,
        has_files=has_files,
    )
    session.downloads = read_downloads(workspace)
    return session


def open_files(key: str, session: Session) -> ThreadFiles:
    """Return the record of the workspace's files for a thread."""
    workspace = session.workspace
    recorder = SnapshotRecorder(workspace.root, workspace.records / SNAPSHOTS)
    # the key of a run that is not nested ends with an empty namespace
    thread = key.removesuffix(":")
    return ThreadFiles(recorder, thread)
