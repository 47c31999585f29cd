"""The calls of a superstep that is resumed: which have ended, which have never begun."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from langchain_core.messages import InvalidToolCall, ToolCall, ToolMessage
from langgraph.types import PregelTask, StateSnapshot

from manus.execution.call import describe_call, needs_of
from manus.execution.catalog import Catalog
from manus.execution.siblings import Needs, Sibling, Siblings
from manus.state.messages import FAILED, calls_of, last_assistant, newest_answers

Call = ToolCall | InvalidToolCall


def siblings_in(found: StateSnapshot, catalog: Catalog) -> Siblings:
    """Return the calls of the superstep, with the outcome of those that have ended."""
    settled: dict[str, Sibling] = {}
    unfinished: list[str] = []
    for task, call in calls_by_task(found):
        message = message_in(task.result)
        if message is None:
            unfinished.append(str(call["id"]))
            continue
        name = str(call["name"])
        args = _arguments(call)
        is_failed = FAILED in message.additional_kwargs
        settled[str(call["id"])] = Sibling(
            describe_call(name, args),
            partial(_needs, catalog, call),  # tools of MCP servers are not loaded yet
            state="failed" if is_failed else "done",
            message=message,
        )
    return Siblings(settled, unfinished)


def held_tasks(found: StateSnapshot, catalog: Catalog, answered: Collection[str]) -> set[str]:
    """Return the tasks whose call has not begun, since an earlier one waits for a person.

    `answered` are the tasks whose question has been answered.
    """
    held: set[str] = set()
    waiting: list[Needs] = []
    for task, call in calls_by_task(found):
        needs = _needs(catalog, call)
        if task.result is not None or task.id in answered:
            continue
        if task.interrupts:
            waiting.append(needs)
        elif any(needs.is_held_by(other) for other in waiting):
            waiting.append(needs)
            held.add(task.id)
    return held


def message_in(result: Any) -> ToolMessage | None:
    """Return the tool message that a task of `act` has written, if it has ended."""
    messages = result.get("messages", []) if isinstance(result, dict) else []
    return next((m for m in messages if isinstance(m, ToolMessage)), None)


def calls_by_task(found: StateSnapshot) -> list[tuple[PregelTask, Call]]:
    """Return the tasks of `act`, each with its call, in the order of the message."""
    message = last_assistant(found.values.get("messages", []))
    tasks = [task for task in found.tasks if task.name == "act"]
    if message is None:
        return []
    # what a task has written already may be among the messages, under the id of the task
    ids = {task.id for task in tasks}
    answers = [m for m in newest_answers(found.values["messages"]) if m.id not in ids]
    answered = {answer.tool_call_id for answer in answers}
    calls = [call for call in calls_of(message) if call["id"] not in answered]
    # a person may have changed the history since the calls were sent
    return list(zip(tasks, calls, strict=True)) if len(tasks) == len(calls) else []


def _needs(catalog: Catalog, call: Call) -> Needs:
    return needs_of(catalog.find(str(call["name"])), _arguments(call))


def _arguments(call: Call) -> dict[str, Any]:
    return call["args"] if isinstance(call["args"], dict) else {}
