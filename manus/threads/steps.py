"""The steps of a thread, as points in time to which it can be rewound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from manus.state.errors import UsageError
from manus.threads.history import ROOT, History, Superstep
from manus.threads.snapshots.objects import make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.rewinding import SNAPSHOTS
from manus.threads.thread_list import Thread
from manus.workspace.workspace import Workspace

ENDED = "ended"
"""Metadata key of a copied checkpoint: when the step ended, since the copy is newer."""


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """The end of a step of a thread: a checkpoint to rewind to."""

    number: int
    """From 1 over all runs of the thread; 0 is the state before the first step."""
    text: str
    ended_at: datetime | None
    checkpoint: str
    snapshot: str
    """Id of the snapshot of the files; empty if no step until then has changed any."""
    run: str
    """Id of its run."""
    files: tuple[str, ...] = ()
    """The files that it changed, if they were read."""


def list_steps(history: History) -> list[HistoryStep]:
    """Return the steps of a thread, with 0 for the state before the first; empty without any."""
    steps: list[HistoryStep] = []
    for before, after in itertools.pairwise(history.get(ROOT, [])):
        snapshot = str(after.values.get("snapshot") or "")
        if not steps and not after.is_input:
            start = "before the first step"
            steps.append(HistoryStep(0, start, after.started_at, after.id, "", ""))
        run = str((after.values.get("run") or {}).get("id") or "")
        ended_at = _read_end(after)
        for text in _describe_step(before):
            steps.append(HistoryStep(len(steps), text, ended_at, after.id, snapshot, run))
    return steps


def _read_end(superstep: Superstep) -> datetime:
    ended = superstep.metadata.get(ENDED)
    return datetime.fromisoformat(ended) if ended else superstep.started_at


def _describe_step(superstep: Superstep) -> Iterator[str]:
    """Yield a line for each step that ended in a superstep."""
    if "executors" not in (superstep.values.get("run") or {}):
        for lines in superstep.writes_to("results"):
            yield from (line.partition(": ")[2] or line for line in lines)
        return
    for change in superstep.writes_to("plan"):
        if isinstance(change, dict) and change.get("result"):
            result = f"{change.get('status', '')} → {change['result'].get('text', '')}"
            yield f"plan step {int(change['step']) + 1}: {result}"
    if superstep.writes_to("stop_reason"):
        yield f"summary: {superstep.last_write('output') or ''}"


def find_step(steps: Sequence[HistoryStep], number: int, thread_id: str) -> HistoryStep:
    """Return a step by number.

    Raises:
        UsageError: the step does not exist.
    """
    for step in steps:
        if step.number == number:
            return step
    last = steps[-1].number if steps else 0
    raise UsageError(
        f"The thread {thread_id} has no step {number}; `manus history {thread_id}` lists its steps,"
        f" 0 to {last}."
    )


def find_changes(thread: Thread, steps: Sequence[HistoryStep]) -> dict[int, list[str]]:
    """Return the files that each step has changed, by step number. Blocking."""
    if thread.workspace is None:
        return {}
    workspace = Workspace(thread.workspace)
    folder = workspace.records / SNAPSHOTS
    if not folder.exists():
        return {}
    recorder = SnapshotRecorder(workspace.root, folder)
    head = recorder.head(make_ref(thread.thread_id))
    changes: dict[int, list[str]] = {}
    for before, step in itertools.pairwise(steps):
        if head and step.snapshot and step.snapshot != before.snapshot:
            paths = recorder.changes_by_agent(before.snapshot, step.snapshot)
            if paths:
                changes[step.number] = paths
    return changes
