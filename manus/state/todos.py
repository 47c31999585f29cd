"""A plan in the form that chat UIs display: `todos`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.plan import Plan

TodoStatus = Literal["pending", "in_progress", "completed"]


class Todo(TypedDict):
    """A step of a plan, as a to-do item."""

    id: str
    """The index of the step in its plan."""
    content: str
    status: TodoStatus


def list_todos(plan: Plan) -> list[Todo]:
    """Return the steps of a plan as to-do items; a blocked step is `pending`."""
    statuses: dict[str, TodoStatus] = {"completed": "completed", "in_progress": "in_progress"}
    todos: list[Todo] = []
    for index, step in enumerate(plan.get("steps", [])):
        status = statuses.get(step["status"], "pending")
        todos.append(Todo(id=str(index), content=step["text"], status=status))
    return todos


def fold_todos(
    todos: list[Todo], writes: Sequence[list[Todo] | Mapping[int, TodoStatus]]
) -> list[Todo]:
    """Fold writes into todos; a write is a new list, or a mapping of indexes to new statuses."""
    for write in writes:
        todos = write if isinstance(write, list) else _with_statuses(todos, write)
    return todos


def _with_statuses(todos: list[Todo], statuses: Mapping[int, TodoStatus]) -> list[Todo]:
    changed: list[Todo] = []
    for index, todo in enumerate(todos):
        status = statuses.get(index, todo["status"])
        changed.append(Todo(id=str(index), content=todo["content"], status=status))
    return changed
