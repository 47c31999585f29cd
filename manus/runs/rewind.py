"""Rewind a thread to the end of one of its steps, together with the files of its workspace.

The checkpoints after the step stay in the store, as do the snapshots, so that a rewind can be
undone. An intent is written before the first file changes: after a kill, the same rewind is carried
out again, which changes only what is not yet restored.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointMetadata, create_checkpoint
from langgraph.graph.state import CompiledStateGraph

from manus.execution.journal import Journal
from manus.execution.records.files import run_key, workspace_log
from manus.execution.safe_open import open_file, write_private
from manus.execution.snapshots.objects import SnapshotStore, make_ref
from manus.execution.snapshots.recorder import Recorder
from manus.execution.snapshots.restore import Restoration, plan_restore
from manus.execution.snapshots.thread_files import REWINDS, SNAPSHOTS
from manus.execution.workspace import Workspace
from manus.graph.journal_check import MARK
from manus.runs.graphs import build_graph
from manus.state.errors import StorageError, UsageError
from manus.store.base import Store
from manus.store.history import ROOT, Superstep, read_history
from manus.store.threads import Thread

STUCK_CHECK = "stuck_check"
_METADATA = {"graph", "profile", "workspace", "request", "started", "chosen", MARK}
"""Metadata of checkpoints that `Job.config` and the graph set."""


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """The end of a step of a thread: a checkpoint to rewind to."""

    number: int
    """From 1 over all runs of the thread; 0 is the state before the first step."""
    text: str
    ended_at: datetime | None
    checkpoint: str
    snapshot: str
    """Of the workspace's files; empty if no step until then has changed any."""
    run: str
    """Id of its run."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A rewind that has started. It is complete when `after` is set."""

    checkpoint: str
    """The checkpoint to return to; empty if only files are restored."""
    start: str
    """The snapshot to restore; empty if files stay as they are."""
    before: str
    """The snapshot of the files before the rewind; empty if there is none."""
    previous: str
    """The newest checkpoint before the rewind."""
    theirs: bool = False
    step: int = 0
    """Number of the step that the files are restored to."""
    after: str = ""
    """The snapshot of the files after the rewind."""


@dataclass(slots=True)
class Rewound:
    """The result of a rewind."""

    restored: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files that somebody else has changed, and that are left as they are."""
    occupied: list[str] = field(default_factory=list)
    """Folders that stay because they contain what is not recorded."""
    failed: dict[str, str] = field(default_factory=dict)
    has_files: bool = True
    """Whether the files of the step are recorded on this machine."""


async def list_steps(store: Store, thread_id: str) -> list[HistoryStep]:
    """Return the steps of a thread, with 0 for the state before the first; empty without any."""
    supersteps = (await read_history(store, thread_id)).get(ROOT, [])
    steps: list[HistoryStep] = []
    for before, after in itertools.pairwise(supersteps):
        snapshot = str(after.values.get("snapshot") or "")
        if not steps and not after.is_input:
            start = "before the first step"
            steps.append(HistoryStep(0, start, after.started_at, after.id, "", ""))
        run = str((after.values.get("run") or {}).get("id") or "")
        for text in _describe_step(before):
            number = len(steps)
            steps.append(HistoryStep(number, text, after.started_at, after.id, snapshot, run))
    return steps


def _describe_step(superstep: Superstep) -> Iterator[str]:
    """Yield a line for each step that ended in a superstep."""
    for lines in superstep.writes_to("results"):
        yield from (line.partition(": ")[2] or line for line in lines)
    for change in superstep.writes_to("plan"):
        if isinstance(change, dict) and change.get("result"):
            yield f"plan step {int(change['step']) + 1}: {change.get('status', '')}"


class Rewinder:
    """Rewinds one thread, which the caller holds."""

    def __init__(self, store: Store, thread: Thread) -> None:
        self._store = store
        self._thread = thread
        self._workspace = Workspace(thread.workspace or ".")
        self._folder = self._workspace.records / SNAPSHOTS
        self._ref = make_ref(thread.thread_id)
        self._intent_path = self._workspace.records / REWINDS / f"{self._ref}.json"

    async def rewind(self, step: HistoryStep, *, theirs: bool = False) -> Rewound:
        """Return to the end of a step: messages, plan, loop state, approvals, and files.

        Raises:
            StorageError: the snapshots or the journal cannot be used.
        """
        newest = await self._newest_checkpoint()
        before, start = await asyncio.to_thread(self._find_snapshots, step)
        intent = Intent(step.checkpoint, start, before, newest, theirs, step.number)
        return await self._carry_out(intent)

    async def restore_files(self, steps: Sequence[HistoryStep]) -> Rewound | None:
        """Take back the newest run's changes of files that are not taken back yet, messages stay.

        Returns None if there are none, or if the files are not recorded.
        """
        newest = await self._newest_checkpoint()
        starts = list(_run_starts(steps))
        last = await asyncio.to_thread(self._read_intent)
        if last is not None and not last.checkpoint and last.previous == newest:
            # nothing has happened since: now the run before that one
            starts = [step for step in starts if step.number < last.step]
        for step in reversed(starts):
            before, start = await asyncio.to_thread(self._find_snapshots, step)
            if not start:
                return None
            intent = Intent("", start, before, newest, step=step.number)
            result = await self._carry_out(intent)
            if result.restored or result.kept or result.failed:
                return result
        return None

    async def undo(self) -> Rewound:
        """Undo the last rewind of the thread.

        Raises:
            UsageError: there is none.
        """
        intent = await asyncio.to_thread(self._read_intent)
        if intent is None or not intent.after:
            raise UsageError(
                f"The thread {self._thread.thread_id} has no rewind that could be undone."
            )
        newest = await self._newest_checkpoint()
        before = await asyncio.to_thread(self._record, "outside", "before undoing a rewind")
        return await self._carry_out(Intent(intent.previous, intent.before, before, newest))

    async def finish(self) -> Rewound | None:
        """Complete a rewind that was interrupted; return None if there is none."""
        intent = await asyncio.to_thread(self._read_intent)
        if intent is None or intent.after:
            return None
        return await self._carry_out(intent)

    async def _carry_out(self, intent: Intent) -> Rewound:
        await asyncio.to_thread(self._write_intent, intent)
        result, after = await asyncio.to_thread(self._restore, intent)
        if intent.checkpoint:
            await self.return_to(intent.checkpoint)
        done = Intent(**{**asdict(intent), "after": after or "none"})
        await asyncio.to_thread(self._write_intent, done)
        return result

    def _find_snapshots(self, step: HistoryStep) -> tuple[str, str]:
        """Return the snapshot of the files as they are, and the one to restore."""
        before = self._record("outside", "before a rewind")
        store = SnapshotStore.open(self._folder)
        if store is None or not before:
            return "", ""
        start = step.snapshot or store.chain("", before)[0].id
        return before, start if store.exists(start) else ""

    def _record(self, author: Any, label: str) -> str:
        """Record the files as they are; return the snapshot, empty if the thread has none.

        Raises:
            StorageError: they cannot be recorded, so nobody's work in them could be recognized.
        """
        if SnapshotStore.open(self._folder) is None:
            return ""
        recorder = Recorder(self._workspace.root, self._folder)
        recorder.notify = _refuse
        head = recorder.head(self._ref)
        snapshot = recorder.take(self._ref, head, author, label) if head else ""
        recorder.close()
        return snapshot

    def _restore(self, intent: Intent) -> tuple[Rewound, str]:
        """Restore the files; return what came of it, and the snapshot afterwards."""
        store = SnapshotStore.open(self._folder) if intent.start else None
        if store is None:
            return Rewound(has_files=False), ""
        # after an interruption, the files differ from the snapshot before
        current = store.read_tree(self._record("rewind", "a part of a rewind"))
        plan = plan_restore(store, intent.start, intent.before, current, theirs=intent.theirs)
        restoration = Restoration(self._workspace.root, store, plan)
        restoration.run()
        after = self._record("rewind", "a rewind")
        restored = sorted(set(restoration.changed))
        result = Rewound(restored, plan.kept, restoration.occupied, restoration.failed)
        return result, after

    async def _newest_checkpoint(self) -> str:
        config = self._config()
        checkpoint = await self._store.aget_tuple(config)
        assert checkpoint is not None
        return str(checkpoint.config["configurable"]["checkpoint_id"])

    async def return_to(self, checkpoint: str, workspace: str = "") -> None:
        """Continue the thread from a checkpoint; what was spent since stays spent.

        `workspace`: a folder that the thread works in from now on.
        """
        thread = self._thread
        graph = build_graph(thread.kind, "manus", self._store)
        supersteps = (await read_history(self._store, thread.thread_id)).get(ROOT, [])
        config = self._config(checkpoint)
        config["metadata"] = _find_metadata(supersteps, checkpoint)
        if workspace:
            config["metadata"]["workspace"] = workspace
        usage = _find_usage(supersteps, checkpoint) if thread.kind == "agent" else None
        if usage is None:
            await self._copy_checkpoint(checkpoint, config["metadata"])
        else:
            # not through the graph's own method, whose checks are for values that a person gives
            update = {"usage": usage}
            await CompiledStateGraph.aupdate_state(graph, config, update, STUCK_CHECK)
        await asyncio.to_thread(self._fork_journal)

    async def _copy_checkpoint(self, checkpoint: str, changes: dict[str, Any]) -> None:
        """Make a copy of a checkpoint the newest of the thread, with metadata changed."""
        stored = await self._store.aget_tuple(self._config(checkpoint))
        assert stored is not None
        step = int(stored.metadata.get("step", -1))
        copy = create_checkpoint(stored.checkpoint, None, step)
        metadata = cast(CheckpointMetadata, {**stored.metadata, **changes})
        metadata |= {"source": "fork", "step": step + 1}
        # the copy has the same parent, because its values include what the parent's tasks wrote
        parent = stored.parent_config or self._config()
        await self._store.aput(parent, copy, metadata, {})

    def _config(self, checkpoint: str = "") -> Any:
        configurable = {"thread_id": self._thread.thread_id, "checkpoint_ns": ""}
        if checkpoint:
            configurable["checkpoint_id"] = checkpoint
        return {"configurable": configurable}

    def _fork_journal(self) -> None:
        """Record that the journal's newest calls are not those of the thread's newest state."""
        lines = self._store.records.log(self._thread.thread_id, ROOT)
        previous = workspace_log(self._workspace.records, run_key(self._thread.thread_id, ROOT))
        if lines.exists() or previous.exists():
            journal = Journal(lines, previous)
            journal.open()
            journal.fork()
            journal.close()

    def _read_intent(self) -> Intent | None:
        try:
            with open_file(self._intent_path) as file:
                return Intent(**json.load(file))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):  # damaged, or of another release
            return None

    def _write_intent(self, intent: Intent) -> None:
        write_private(self._intent_path, json.dumps(asdict(intent)).encode())


def _refuse(reason: str) -> None:
    raise StorageError(f"Nothing was restored, because the present files are unknown. {reason}")


def _find_metadata(supersteps: Sequence[Superstep], checkpoint: str) -> dict[str, Any]:
    """Return what a run has stored with a checkpoint, which a copy of it would lose."""
    for superstep in supersteps:
        if superstep.id == checkpoint:
            return {
                name: superstep.metadata[name] for name in _METADATA & superstep.metadata.keys()
            }
    return {}


def _find_usage(supersteps: Sequence[Superstep], checkpoint: str) -> Any:
    """Return the newest usage of the run that a checkpoint after a step belongs to; else None."""
    target = next((s for s in supersteps if s.id == checkpoint), None)
    run = (target.values.get("run") or {}).get("id") if target is not None else None
    if target is None or run is None or not target.values.get("usage"):
        return None
    usages = [s.values["usage"] for s in supersteps if (s.values.get("run") or {}).get("id") == run]
    return usages[-1]


async def rewind_to_checkpoint(store: Store, thread: Thread, checkpoint: str) -> Rewound | None:
    """Rewind a thread, which the caller holds, to a checkpoint at the end of a step.

    Returns None if there is no such step, or if its files are not recorded.
    """
    for step in await list_steps(store, thread.thread_id):
        if step.checkpoint == checkpoint:
            rewinder = Rewinder(store, thread)
            await rewinder.finish()
            return await rewinder.rewind(step)
    return None


def _run_starts(steps: Sequence[HistoryStep]) -> Iterator[HistoryStep]:
    """Yield the last step before each run."""
    for before, step in itertools.pairwise(steps):
        if before.number == 0 or before.run != step.run:
            yield before


def find_step(steps: Sequence[HistoryStep], number: int, thread_id: str) -> HistoryStep:
    """Return a step by number.

    Raises:
        UsageError: there is no such step.
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
    recorder = Recorder(workspace.root, workspace.records / SNAPSHOTS)
    head = recorder.head(make_ref(thread.thread_id))
    changes: dict[int, list[str]] = {}
    for before, step in itertools.pairwise(steps):
        if head and step.snapshot != before.snapshot:
            paths = recorder.changes_by_agent(before.snapshot, step.snapshot)
            if paths:
                changes[step.number] = paths
    return changes


def find_repository_head(workspace: str | None) -> str:
    """Return the commit that is checked out in a workspace, abbreviated; empty without one."""
    root = Path(workspace or ".")
    head = root / ".git" / "HEAD"
    try:
        text = head.read_text(encoding="utf-8", errors="replace").strip()
        if text.startswith("ref: "):
            text = (root / ".git" / text.removeprefix("ref: ")).read_text().strip()
    except OSError:
        return ""
    return text[:10]
