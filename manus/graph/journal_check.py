"""Whether a thread's journal and its stored state are of one piece."""

from __future__ import annotations

import logging
from itertools import chain
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import PregelTask, StateSnapshot

from manus.execution.approval import APPROVE
from manus.execution.call import JOURNALLED
from manus.execution.catalog import Catalog
from manus.execution.journal import Journal
from manus.graph.pending_calls import held_tasks

log = logging.getLogger("manus")

MARK = "journal"
"""Names the journal of the process that works on a thread: in the metadata of each checkpoint, and
among the writes of one that another process takes over."""
_RESUME = "__resume__"


async def doubt_unfinished(
    saver: Any, journal: Journal, found: StateSnapshot, catalog: Catalog
) -> None:
    """Where journal and state do not fit, no call that is under way is carried out again.

    The journal may have been lost, or the state restored from an older copy: either way a call of
    which nothing is known may have taken effect. Each ends as an observation that says so. Not so
    for a state that a person has made, which repeats effects on purpose.

    Raises:
        StorageError: the journal cannot be written.
    """
    is_taken, answered = await _take_over(saver, found, journal)
    is_whole = journal.is_whole
    journal.is_whole = True
    if (found.metadata or {}).get("source") != "loop" and not is_taken:
        journal.fork()
        return
    acts = _under_way(found, answered, catalog)
    written = [task.result.get("messages", []) for task in acts if isinstance(task.result, dict)]
    messages = list(chain(found.values.get("messages", []), *written))
    why = "This thread was last worked on with another record of its tool calls"
    if not is_taken:
        why = _misfit(journal, messages, {task.id for task in acts}, is_whole=is_whole)
    if not why:
        return
    unknown = [t for t in acts if t.result is None and journal.look_up(t.id) is None]
    for task in unknown:
        journal.begin(task.id, "act")
    if unknown:
        log.warning(
            "%s: the %d tool calls that were under way may have taken effect and are not repeated.",
            why,
            len(unknown),
        )


async def _take_over(saver: Any, found: StateSnapshot, journal: Journal) -> tuple[bool, set[str]]:
    """Note in the store that a thread which was last worked on with another journal goes on here.

    Otherwise a process on the machine before this one would not know of a call that begins here.

    Returns whether it is so, and the tasks whose questions have been answered.
    """
    if not isinstance(saver, BaseCheckpointSaver):
        return False, set()
    stored = await saver.aget_tuple(found.config)
    if stored is None:
        return False, set()
    writes = stored.pending_writes or []
    known = {value for _, channel, value in writes if channel == MARK}
    is_taken = known | {stored.metadata.get(MARK, journal.id)} != {journal.id}
    if is_taken:
        await saver.aput_writes(stored.config, [(MARK, journal.id)], journal.id)
    return is_taken, {task for task, channel, _ in writes if channel == _RESUME}


def _under_way(found: StateSnapshot, answered: set[str], catalog: Catalog) -> list[PregelTask]:
    """The tasks that call tools, but for those that wait for a person, or for one that does."""
    # an answer is stored for the task that asked, or, to a single question, for no task of the step
    tasks = {task.id for task in found.tasks}
    if answered - tasks:
        answered = tasks
    held = held_tasks(found, catalog, answered)
    return [
        task
        for task in found.tasks
        if task.name == "act" and (not task.interrupts or task.id in answered)
        if task.id not in held
    ]


def asked_about(found: StateSnapshot | None) -> dict[str, str]:
    """Digests of the calls that a person was asked to approve, by the tasks that wait.

    Empty for one whose tool asks something itself: that call has been approved.
    """
    asked: dict[str, str] = {}
    for task, value in (
        (t.id, i.value) for t in (found.tasks if found else ()) for i in t.interrupts
    ):
        is_approval = isinstance(value, dict) and value.get("kind") == APPROVE
        asked[task] = value["call"] if is_approval else ""
    return asked


def _misfit(journal: Journal, messages: list[Any], tasks: set[str], *, is_whole: bool) -> str:
    """What does not fit, in words; empty if all does."""
    if not is_whole:
        return "The record of this thread's tool calls is lost or damaged"
    answers = [m for m in messages if isinstance(m, ToolMessage)]
    recorded = [m for m in answers if JOURNALLED in m.additional_kwargs]
    if recorded and journal.look_up(str(recorded[-1].id)) is None:
        return "The record of this thread's tool calls lacks the last of them"
    if journal.newest is not None and journal.newest not in tasks | {m.id for m in answers}:
        return "This thread's stored state is older than the record of its tool calls"
    return ""
