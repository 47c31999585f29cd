"""Announce the files that were restored when a run started from an earlier checkpoint."""

from __future__ import annotations

from typing import Any

from manus.nodes.active_run import ActiveRun


def announce_restored_files(active_run: ActiveRun, emit: Any) -> None:
    """Emit the event about restored files once, in the first node that runs."""
    event = active_run.files_event
    if event is not None:
        active_run.files_event = None
        emit(event)
