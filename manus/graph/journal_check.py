"""Check that a thread's journal and its stored state match."""

from __future__ import annotations

import logging
from itertools import chain
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import PregelTask, StateSnapshot

from manus.calls.approval import APPROVE
from manus.calls.call import JOURNALLED
from manus.calls.catalog import Catalog
from manus.calls.session import AskedCall
from manus.calls.wrapped_call import ATTEMPT
from manus.graph.pending_calls import held_tasks
from manus.threads.journal import Claim, Journal

log = logging.getLogger("manus")

MARK = "journal"
"""Key of the journal's id: in the metadata of each checkpoint, and among the writes of a checkpoint
that another process takes over."""
_RESUME = "__resume__"


async def mark_unfinished(
    saver: Any, journal: Journal, snapshot: StateSnapshot, catalog: Catalog
) -> None:
    """Mark unfinished calls as possibly executed if the journal and the state do not match.

    The journal may be lost, or the state restored from an older copy: then an unfinished call that
    the journal does not have may have taken effect, and must not be repeated. Its result reports
    this. A state that a person has edited is exempt, because it repeats effects on purpose.

    Raises:
        StorageError: the journal cannot be written.
    """
    is_foreign, answered = await _take_over(saver, snapshot, journal)
    is_whole = journal.is_whole
    journal.is_whole = True
    source = (snapshot.metadata or {}).get("source")
    if source != "loop" and not is_foreign:
        await journal.afork()
        return
    tasks = _started_tasks(snapshot, answered, catalog)
    if is_foreign:
        problem = "This thread was last continued with another record of its tool calls"
    else:
        problem = _find_mismatch(journal, snapshot, tasks, is_whole=is_whole)
    if problem:
        await _record_unknown(journal, tasks, problem)


async def _record_unknown(journal: Journal, tasks: list[PregelTask], problem: str) -> None:
    """Record unfinished calls that the journal does not have, so that they are not repeated."""
    unknown = []
    for task in tasks:
        if task.result is None and journal.look_up(task.id) is None:
            unknown.append(task)
    for task in unknown:
        await journal.abegin(task.id, Claim("act"))
    if unknown:
        log.warning(
            "%s: the %d tool calls that were under way may have taken effect and are not repeated.",
            problem,
            len(unknown),
        )


async def _take_over(
    saver: Any, snapshot: StateSnapshot, journal: Journal
) -> tuple[bool, set[str]]:
    """Record that this journal continues a thread that was last continued with another one.

    Otherwise a process on the previous machine would not know of a call that starts here.

    Returns whether the journal was a different one, and the ids of tasks whose questions are
    answered.
    """
    if not isinstance(saver, BaseCheckpointSaver):
        return False, set()
    stored = await saver.aget_tuple(snapshot.config)
    if stored is None:
        return False, set()
    journal_ids = {stored.metadata.get(MARK, journal.id)}
    answered: set[str] = set()
    for task_id, channel, value in stored.pending_writes or []:
        if channel == MARK:
            journal_ids.add(value)
        elif channel == _RESUME:
            answered.add(task_id)
    is_foreign = journal_ids != {journal.id}
    if is_foreign:
        await saver.aput_writes(stored.config, [(MARK, journal.id)], journal.id)
    return is_foreign, answered


def _started_tasks(
    snapshot: StateSnapshot, answered: set[str], catalog: Catalog
) -> list[PregelTask]:
    """Return the tasks of `act` whose call may have started: those not waiting for a person."""
    # an answer is stored under the task that asked, or, if there was one question, under no task
    task_ids = {task.id for task in snapshot.tasks}
    if answered - task_ids:
        answered = task_ids
    held_ids = held_tasks(snapshot, catalog, answered)
    started = []
    for task in snapshot.tasks:
        is_waiting = bool(task.interrupts) and task.id not in answered
        if task.name == "act" and not is_waiting and task.id not in held_ids:
            started.append(task)
    return started


def asked_calls(snapshot: StateSnapshot | None) -> dict[str, AskedCall]:
    """Return, by waiting task, the call that a person was asked about."""
    calls: dict[str, AskedCall] = {}
    if snapshot is None:
        return calls
    for task in snapshot.tasks:
        for interrupt in task.interrupts:
            value = interrupt.value
            is_approval = isinstance(value, dict) and value.get("kind") == APPROVE
            calls[task.id] = AskedCall()
            if is_approval:
                rules = tuple(value.get("rules", ()))
                tool = value["action_requests"][0]["name"]
                calls[task.id] = AskedCall(value["call"], value.get("place", ""), rules, tool)
    return calls


def _find_mismatch(
    journal: Journal, snapshot: StateSnapshot, tasks: list[PregelTask], *, is_whole: bool
) -> str:
    """Describe how the journal and the state differ; empty if they match."""
    if not is_whole:
        return "The record of this thread's tool calls is lost or damaged"
    answers = _answers(snapshot, tasks)
    recorded = [answer for answer in answers if JOURNALLED in answer.additional_kwargs]
    if recorded and journal.look_up(str(recorded[-1].id)) is None:
        return "The record of this thread's tool calls lacks the newest of them"
    known_ids = {task.id for task in tasks} | {answer.id for answer in answers}
    newest = journal.newest
    # a delegated task is recorded under its namespace, which ends with the id of the call's task
    if newest is not None and newest.partition(ATTEMPT)[0].rpartition(":")[2] not in known_ids:
        return "This thread's stored state is older than the record of its tool calls"
    return ""


def _answers(snapshot: StateSnapshot, tasks: list[PregelTask]) -> list[ToolMessage]:
    """Return the tool messages of the history and of finished tasks."""
    writes = [task.result.get("messages", []) for task in tasks if isinstance(task.result, dict)]
    messages = chain(snapshot.values.get("messages", []), *writes)
    return [message for message in messages if isinstance(message, ToolMessage)]
