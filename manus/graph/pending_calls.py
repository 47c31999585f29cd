"""Find out which calls of a resumed superstep have finished and which have not started."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from langchain_core.messages import InvalidToolCall, ToolCall, ToolMessage
from langgraph.types import PregelTask, StateSnapshot

from manus.calls.call import find_needs
from manus.calls.catalog import Catalog
from manus.calls.siblings import Needs, Sibling, Siblings, describe_call
from manus.state.messages import FAILED, last_assistant, list_calls, newest_answers

Call = ToolCall | InvalidToolCall


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
