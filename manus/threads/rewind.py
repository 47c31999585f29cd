"""Rewind a thread to the end of one of its steps, together with the files of its workspace.

The checkpoints after the step stay in the store, as do the snapshots, so that a rewind can be
undone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    create_checkpoint,
)

from manus.state.errors import UsageError
from manus.state.usage import RoleUsage, sum_usage
from manus.threads.base import Store
from manus.threads.history import CONTINUES, ROOT, History, read_history, to_superstep
from manus.threads.journal import Journal
from manus.threads.outside_effects import OutsideEffect, list_outside_effects
from manus.threads.records.inbox import InboxMessage
from manus.threads.snapshots.restored_text import describe_files
from manus.threads.snapshots.rewinding import FileRewinder, RestoredFiles
from manus.threads.snapshots.rewinds import Intent, is_rewinding
from manus.threads.spending import (
    TAKEN_BACK,
    Spent,
    add_taken_back,
    find_spent,
    find_spent_elsewhere,
)
from manus.threads.steps import ENDED, HistoryStep, list_steps
from manus.threads.thread_list import Thread, read_thread
from manus.workspace.workspace import Workspace

log = logging.getLogger("manus")

_USAGE = "usage"


@dataclass(slots=True)
class Rewound(RestoredFiles):
    """The result of a rewind."""

    outside_effects: list[OutsideEffect] = field(default_factory=list)
    """Effects of later calls that are not undone, such as mail or posts on the web."""
    spent: RoleUsage = field(default_factory=sum_usage)
    """Usage of the steps that are undone; it still counts."""
    unread: list[InboxMessage] = field(default_factory=list)
    """Unread messages to the thread; they stay, and the next run reads them."""


class Rewinder:
    """Rewinds one thread, which the caller holds."""

    def __init__(self, store: Store, thread: Thread) -> None:
        self._store = store
        self._thread = thread
        workspace = Workspace(thread.workspace or ".")
        self._files = FileRewinder(workspace, thread.thread_id)

    async def rewind(self, step: HistoryStep, *, theirs: bool = False) -> Rewound:
        """Return to the end of a step: messages, plan, loop state, approvals, and files.

        `theirs`: also restore files that others have changed since.

        Raises:
            StorageError: the snapshots or the journal cannot be used.
            UsageError: the workspace does not exist.
        """
        history = await read_history(self._store, self._thread.thread_id)
        newest = history[ROOT][-1].id
        effects = await asyncio.to_thread(self._list_effects, history, step.checkpoint)
        before, start = await asyncio.to_thread(self._files.find_snapshots, step.snapshot)
        intent = Intent(
            step.checkpoint, start, before, newest, before, theirs=theirs, step=step.number
        )
        last = await asyncio.to_thread(self._files.log.find_last)
        is_repeated = last is not None and (last.result, last.step) == (newest, step.number)
        if last is not None and last.checkpoint and is_repeated:
            # it completes the last rewind, so undoing both leads to where that one started
            intent = replace(intent, previous=last.previous, origin=last.origin)
        result = await self._carry_out(intent, replaced=int(is_repeated))
        result.outside_effects = effects
        result.spent = find_spent(history, step.checkpoint).total
        return result

    async def undo(self) -> Rewound:
        """Undo the last rewind of the thread.

        Raises:
            UsageError: there is none.
        """
        last = await asyncio.to_thread(self._files.log.find_last)
        if last is None:
            raise UsageError(f"The thread {self._thread.thread_id} has no rewind to undo.")
        history = await read_history(self._store, self._thread.thread_id)
        newest = history[ROOT][-1].id
        before = await asyncio.to_thread(self._files.record, "before undoing a rewind")
        # what happened since the rewind can be reached again by undoing the undo
        origin = before if last.checkpoint and last.result != newest else ""
        checkpoint = last.previous if last.checkpoint else ""
        return await self._carry_out(
            Intent(checkpoint, last.origin, before, newest, origin, undoes=1)
        )

    async def finish(self) -> tuple[Intent, Rewound] | None:
        """Complete a rewind that was interrupted; return None if there is none."""
        intent = await asyncio.to_thread(self._files.find_unfinished)
        return None if intent is None else (intent, await self._continue(intent))

    async def _carry_out(self, intent: Intent, replaced: int = 0) -> Rewound:
        await asyncio.to_thread(self._files.begin, intent, replaced)
        return await self._continue(intent)

    async def _continue(self, intent: Intent) -> Rewound:
        files = await asyncio.to_thread(self._files.restore, intent)
        result = ""
        if intent.checkpoint:
            result = await self.return_to(intent.checkpoint, is_undo=bool(intent.undoes))
        await asyncio.to_thread(self._files.complete, result)
        return Rewound(
            files.restored,
            files.kept,
            files.in_doubt,
            files.occupied,
            files.failed,
            files.has_files,
        )

    async def return_to(
        self, checkpoint: str, workspace: str = "", *, is_undo: bool = False
    ) -> str:
        """Continue the thread from a checkpoint; return the id of its copy, the newest one.

        The usage since then still counts.

        `workspace`: a folder that the thread works in from now on. `is_undo`: calls in progress at
        the checkpoint continue.
        """
        configurable: Any = {"thread_id": self._thread.thread_id, "checkpoint_ns": ""}
        config: Any = {"configurable": {**configurable, "checkpoint_id": checkpoint}}
        stored = await self._store.aget_tuple(config)
        assert stored is not None
        history = await read_history(self._store, self._thread.thread_id)
        if any(superstep.id == checkpoint for superstep in history[ROOT]):
            spent = find_spent(history, checkpoint)
        else:
            spent = find_spent_elsewhere(history, to_superstep(stored))
        # before the first step, a checkpoint of a Python caller does not have them
        thread = self._thread
        changes: dict[str, Any] = {"graph": thread.kind, "profile": thread.profile}
        changes["workspace"] = thread.workspace
        if workspace:
            changes["workspace"] = workspace
        if is_undo:
            before: dict[str, Any] = {**stored.metadata}
            changes[CONTINUES] = [*before.get(CONTINUES, ()), checkpoint]
        # the copy has the same parent, because its values include what the parent's tasks wrote
        parent = stored.parent_config or {"configurable": configurable}
        copy = await self._store.aput(parent, *_copy(self._store, stored, spent, changes))
        await asyncio.to_thread(self._fork_journal)
        return str(copy["configurable"]["checkpoint_id"])

    def _list_effects(self, history: History, checkpoint: str) -> list[OutsideEffect]:
        return list_outside_effects(history, checkpoint, self._open_journal)

    def _open_journal(self, namespace: str) -> Journal:
        """Return the journal of a namespace; an empty one if nothing is recorded."""
        lines = self._store.records.log(self._thread.thread_id, namespace)
        return Journal(lines if lines.exists() else None)

    def _fork_journal(self) -> None:
        """Record that the journal's newest calls are not those of the thread's newest state."""
        journal = self._open_journal(ROOT)
        journal.open()
        journal.fork()
        journal.close()


def _copy(
    store: Store, stored: CheckpointTuple, spent: Spent, changes: Mapping[str, Any]
) -> tuple[Checkpoint, CheckpointMetadata, ChannelVersions]:
    """Return a newer copy of a checkpoint, with the usage changed, in the form that a store takes.

    No graph is needed for that, so channels of the user's own graph are copied too.
    """
    step = int(stored.metadata.get("step", -1))
    copy = create_checkpoint(stored.checkpoint, None, step)
    copy["v"] = stored.checkpoint["v"]  # otherwise LangGraph migrates it, which empties channels
    facts: dict[str, Any] = {**stored.metadata}
    facts.pop(CONTINUES, None)
    facts |= {**changes, "source": "fork", "step": step + 1}
    facts[TAKEN_BACK] = add_taken_back(facts, spent)
    facts[ENDED] = facts.get(ENDED) or stored.checkpoint["ts"]
    versions: ChannelVersions = {}
    if spent.usage is not None:
        current: Any = copy["channel_versions"].get(_USAGE)
        versions[_USAGE] = store.get_next_version(current, None)
        copy["channel_values"] = {**copy["channel_values"], _USAGE: spent.usage}
        copy["channel_versions"] = {**copy["channel_versions"], **versions}
    return copy, cast(CheckpointMetadata, facts), versions


async def list_steps_ahead(store: Store, thread: Thread, last: int) -> list[HistoryStep]:
    """Return the steps after the `last` one that rewinds have undone, and that can come back."""
    workspace = Workspace(thread.workspace or ".")
    rewinds = await asyncio.to_thread(FileRewinder(workspace, thread.thread_id).log.read)
    ahead: list[HistoryStep] = []
    for rewind in reversed(rewinds):
        if rewind.checkpoint and rewind.is_complete:
            branch = await read_history(store, thread.thread_id, newest=rewind.previous)
            ahead += [step for step in list_steps(branch) if step.number > last]
            last = max(last, *(step.number for step in ahead)) if ahead else last
    return ahead


async def complete_rewind(store: Store, thread_id: str) -> None:
    """Complete a rewind of a thread, which the caller holds, that was interrupted.

    This costs a look at one file if there is none.
    """
    if not await asyncio.to_thread(is_rewinding, thread_id):
        return
    thread = await read_thread(store, thread_id)
    finished = None if thread is None else await Rewinder(store, thread).finish()
    if finished is not None:
        sentences = " ".join(describe_files(finished[1]))
        log.warning("Completed the interrupted rewind of the thread %s. %s", thread_id, sentences)


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
