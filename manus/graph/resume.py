"""Restore an active run from the stored state of its thread, and on request its files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from manus.calls.session import Session
from manus.calls.siblings import Siblings
from manus.config.trust import approved_rules
from manus.graph.pending_calls import asked_calls, mark_unfinished, siblings_in
from manus.graph.sync_calls import with_usable_saver
from manus.graph.waiting import CHECKPOINT, read_newest
from manus.nodes.active_run import ActiveRun
from manus.nodes.subagent import is_repeated
from manus.state.events import FilesEvent
from manus.threads.history import CONTINUES
from manus.threads.journal import Journal
from manus.threads.records.select import CHECKPOINTER
from manus.threads.snapshots.restored_text import describe_effects, describe_files
from manus.threads.snapshots.rewinding import RestoredFiles

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph


log = logging.getLogger("manus")


async def resume_repeated(
    graph: RunGraph[Any], graph_input: Any, config: RunnableConfig
) -> tuple[Any, RunnableConfig]:
    """Return the input and configuration of a run, for a resume if the thread already has the run.

    A server that has lost a worker executes its run again, with the same input and the same
    `run_id`. The stored state has that input, and an answer or a fork must not be applied twice.
    """
    configurable = config.get("configurable", {})
    run_id = configurable.get("run_id")
    if not run_id or configurable.get("checkpoint_ns"):
        return graph_input, config
    snapshot = await graph.stored_state(configurable)
    if snapshot is None or (snapshot.metadata or {}).get("run_id") != str(run_id):
        return graph_input, config
    return None, at_newest(config)


def at_newest(config: RunnableConfig) -> RunnableConfig:
    """Return a configuration without its checkpoint id."""
    configurable = config.get("configurable", {})
    newest = {name: value for name, value in configurable.items() if name not in CHECKPOINT}
    return {**config, "configurable": newest}


async def restore_run(
    graph: RunGraph[Any], active_run: ActiveRun, configurable: dict[str, Any], *, is_new: bool
) -> None:
    """Set usage, approvals, questions and pending calls, and check the journal.

    Raises:
        StorageError: the journal cannot be written.
    """
    session = active_run.session
    is_fork = bool(configurable.get("checkpoint_id"))
    if is_fork:
        await session.journal.afork()  # a fork repeats effects on purpose
    snapshot = None
    if is_new:
        # approvals of the previous run do not apply to a new one
        root = session.workspace.root
        active_run.approved = await asyncio.to_thread(approved_rules, root)
        active_run.refused = []
        await _compare_newest(graph, session, configurable)
    else:
        snapshot = await graph.stored_state(configurable)
    session.asked = asked_calls(snapshot)
    active_run.interrupted = _interrupted_tasks(snapshot)
    session.siblings = Siblings()
    active_run.continues, active_run.original_tasks = [], {}
    if snapshot is None:
        session.journal.is_whole = True
        return
    _restore_usage(active_run, snapshot)
    session.egress_guard.read_history(snapshot.values.get("messages") or [])
    if _is_replay(configurable, snapshot):
        session.siblings = Siblings(unfinished=None)  # every call is repeated
    else:
        session.siblings = siblings_in(snapshot, active_run.catalog)
        await _find_originals(graph, active_run, snapshot)
    if is_fork:
        session.journal.is_whole = True
    else:
        saver = configurable.get(CHECKPOINTER, graph.checkpointer)
        await mark_unfinished(saver, session.journal, snapshot, active_run.catalog)
        if not (active_run.is_inside and is_repeated(configurable)):
            session.recorded_calls = session.journal.list_ended()


async def _compare_newest(
    graph: RunGraph[Any], session: Session, configurable: dict[str, Any]
) -> None:
    """Have the calls in the journal compared with the history of the new run.

    A new thread, or one that a person has edited or rewound, may lack them on purpose.
    """
    journal = session.journal
    if not (graph.checkpointer or CHECKPOINTER in configurable):
        return
    if journal.newest is None and not journal.unfinished:
        return
    stored = await read_newest(graph, configurable)
    if stored is None or stored.metadata.get("source") in ("update", "fork"):
        await journal.afork()
    session.recorded_calls = journal.list_ended()


async def _find_originals(
    graph: RunGraph[Any], active_run: ActiveRun, snapshot: StateSnapshot
) -> None:
    """Find the tasks that the tasks of the newest checkpoint are copies of, if it is a copy.

    The undo of a rewind copies a checkpoint, and the ids of its tasks change. A call that had
    started counts as started.
    """
    metadata: dict[str, Any] = {**(snapshot.metadata or {})}
    active_run.continues = metadata.get(CONTINUES, [])
    for checkpoint in reversed(active_run.continues):
        configurable = {**snapshot.config["configurable"], "checkpoint_id": checkpoint}
        config = with_usable_saver({"configurable": configurable}, graph.checkpointer)
        original = await CompiledStateGraph.aget_state(graph, config)
        for copied, task in zip(snapshot.tasks, original.tasks, strict=False):
            active_run.original_tasks.setdefault(copied.id, []).append(task.id)
            await _copy_entry(active_run.session.journal, task.id, copied.id)


async def _copy_entry(journal: Journal, original: str, copied: str) -> None:
    entry = journal.look_up(original)
    if entry is None or journal.look_up(copied) is not None:
        return
    if entry.message is None:
        await journal.abegin(copied, entry.claim)
    else:
        await journal.afinish(copied, entry.message, entry.update, entry.packed)


def _interrupted_tasks(snapshot: StateSnapshot | None) -> set[str]:
    if snapshot is None:
        return set()
    return {task.id for task in snapshot.tasks if task.interrupts}


def _restore_usage(active_run: ActiveRun, snapshot: StateSnapshot) -> None:
    """Count the stored usage: a tool may ask a model before any node has counted it."""
    usage = snapshot.values.get("usage")
    if usage is not None:
        active_run.ledger.restore(usage)


def _is_replay(configurable: dict[str, Any], snapshot: StateSnapshot) -> bool:
    """Return whether the run starts from an older checkpoint than the newest."""
    checkpoint_id = configurable.get("checkpoint_id")
    newest = snapshot.config["configurable"].get("checkpoint_id")
    return bool(checkpoint_id) and checkpoint_id != newest


async def restore_files(
    graph: RunGraph[Any], active_run: ActiveRun, configurable: dict[str, Any]
) -> None:
    """Restore the files as of a configuration's checkpoint, and let the first node report it.

    Without a checkpoint, or in a nested run, nothing is done.

    Raises:
        StorageError: the snapshots cannot be used.
        UsageError: the workspace does not exist.
    """
    if not configurable.get("checkpoint_id") or active_run.is_inside:
        return
    config = with_usable_saver({"configurable": configurable}, graph.checkpointer)
    state = await graph.aget_state(config)
    if state.metadata is None:  # the checkpoint does not exist, which the run itself reports
        return
    files = active_run.session.files
    restored = RestoredFiles(has_files=False)
    if files is not None:
        snapshot = str(state.values.get("snapshot") or "")
        restored = await files.restore(active_run.session.workspace, snapshot)
    effects = await _list_effects(graph, configurable)
    text = " ".join([*describe_files(restored), *describe_effects(effects)])
    if restored.failed or effects or not restored.has_files:
        log.warning("%s", text)
    active_run.files_event = FilesEvent(
        type="files",
        text=text,
        restored=restored.restored,
        kept=restored.kept,
        in_doubt=restored.in_doubt,
        failed=restored.failed,
        outside_effects=[str(effect) for effect in effects],
        is_recorded=restored.has_files,
    )


async def _list_effects(graph: RunGraph[Any], configurable: dict[str, Any]) -> Sequence[object]:
    """Return the lasting effects of the calls since the checkpoint, if the store knows them."""
    saver = configurable.get(CHECKPOINTER) or graph.checkpointer
    list_outside_effects = getattr(saver, "list_outside_effects", None)
    if list_outside_effects is None:
        return ()
    thread_id, checkpoint_id = configurable["thread_id"], configurable["checkpoint_id"]
    effects: Sequence[object] = await list_outside_effects(str(thread_id), str(checkpoint_id))
    return effects
