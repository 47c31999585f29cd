"""Compare the calls of a resumed superstep with the journal: finished, started, not started."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from itertools import chain
from typing import Any

from langchain_core.messages import InvalidToolCall, ToolCall, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import PregelTask, StateSnapshot

from manus.calls.approval import APPROVE
from manus.calls.base import find_needs
from manus.calls.call import JOURNALLED
from manus.calls.catalog import Catalog
from manus.calls.session import AskedCall
from manus.calls.siblings import Needs, Sibling, Siblings, describe_call
from manus.calls.wrapped_call import ATTEMPT
from manus.state.messages import FAILED, last_assistant, list_calls, newest_answers
from manus.threads.journal import Claim, Journal

Call = ToolCall | InvalidToolCall

log = logging.getLogger("manus")

MARK = "journal"
"""Key of the journal's id: in the metadata of each checkpoint, and among the writes of a checkpoint
that another process takes over."""
_RESUME = "__resume__"


def siblings_in(snapshot: StateSnapshot, catalog: Catalog) -> Siblings:
    """Return the calls of the superstep, with the results of those that have finished."""
    settled: dict[str, Sibling] = {}
    unfinished: list[str] = []
    for task, call in calls_by_task(snapshot):
        call_id = str(call["id"])
        message = message_in(task.result)
        if message is None:
            unfinished.append(call_id)
            continue
        is_failed = FAILED in message.additional_kwargs
        settled[call_id] = Sibling(
            describe_call(str(call["name"]), _arguments(call)),
            partial(_needs, catalog, call),  # tools of MCP servers are not loaded yet
            state="failed" if is_failed else "done",
            message=message,
        )
    return Siblings(settled, unfinished)


def held_tasks(snapshot: StateSnapshot, catalog: Catalog, answered: Collection[str]) -> set[str]:
    """Return the ids of tasks whose call has not started because an earlier one is waiting.

    `answered`: ids of the tasks whose question has been answered.
    """
    held_ids: set[str] = set()
    waiting: list[Needs] = []
    for task, call in calls_by_task(snapshot):
        if task.result is not None or task.id in answered:
            continue
        needs = _needs(catalog, call)
        if task.interrupts:
            waiting.append(needs)
        elif any(needs.is_held_by(other) for other in waiting):
            waiting.append(needs)
            held_ids.add(task.id)
    return held_ids


def message_in(result: Any) -> ToolMessage | None:
    """Return the tool message that a finished task of `act` has written, or None."""
    if not isinstance(result, dict):
        return None
    for message in result.get("messages", []):
        if isinstance(message, ToolMessage):
            return message
    return None


def calls_by_task(snapshot: StateSnapshot) -> list[tuple[PregelTask, Call]]:
    """Return the tasks of `act` with their calls, in the order of the message."""
    messages = snapshot.values.get("messages", [])
    message = last_assistant(messages)
    if message is None:
        return []
    tasks = [task for task in snapshot.tasks if task.name == "act"]
    # results of finished tasks may already be in the messages, under the id of the task
    task_ids = {task.id for task in tasks}
    answered = set()
    for answer in newest_answers(messages):
        if answer.id not in task_ids:
            answered.add(answer.tool_call_id)
    calls = [call for call in list_calls(message) if call["id"] not in answered]
    # a person may have edited the history since the calls were sent
    if len(tasks) != len(calls):
        return []
    return list(zip(tasks, calls, strict=True))


def _needs(catalog: Catalog, call: Call) -> Needs:
    return find_needs(catalog.find(str(call["name"])), _arguments(call))


def _arguments(call: Call) -> dict[str, Any]:
    return call["args"] if isinstance(call["args"], dict) else {}


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
    if is_whole and not is_foreign and _matches(journal, snapshot, tasks):
        return
    unknown = [t.id for t in tasks if t.result is None and journal.look_up(t.id) is None]
    for task_id in unknown:
        await journal.abegin(task_id, Claim("act"))
    if unknown:
        log.warning(
            "The record of this thread's tool calls does not match its stored state: the %d tool "
            "calls that were under way may have taken effect and are not repeated.",
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


def _matches(journal: Journal, snapshot: StateSnapshot, tasks: list[PregelTask]) -> bool:
    """Return whether the journal has the newest call of the state, and the state that of it."""
    writes = [task.result.get("messages", []) for task in tasks if isinstance(task.result, dict)]
    messages = chain(snapshot.values.get("messages", []), *writes)
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    recorded = [answer for answer in answers if JOURNALLED in answer.additional_kwargs]
    if recorded and journal.look_up(str(recorded[-1].id)) is None:
        return False
    known_ids = {task.id for task in tasks} | {answer.id for answer in answers}
    newest = journal.newest
    # a delegated task is recorded under its namespace, which ends with the id of the call's task
    return newest is None or newest.partition(ATTEMPT)[0].rpartition(":")[2] in known_ids
