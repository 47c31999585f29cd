"""A plan in the form in which chat UIs show it: `todos`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.plan import Plan

TodoStatus = Literal["pending", "in_progress", "completed"]


class Todo(TypedDict):
    """A step of a plan."""

    id: str
    """The place of the step in its plan."""
    content: str
    status: TodoStatus


def todos_of(plan: Plan) -> list[Todo]:
    """Return the steps of a plan. A blocked step is still to be done."""
    statuses: dict[str, TodoStatus] = {"completed": "completed", "in_progress": "in_progress"}
    return [
        Todo(id=str(place), content=s["text"], status=statuses.get(s["status"], "pending"))
        for place, s in enumerate(plan.get("steps", []))
    ]


def fold_todos(
    todos: list[Todo], writes: Sequence[list[Todo] | Mapping[int, TodoStatus]]
) -> list[Todo]:
    """Fold writes into todos: all of them anew, or the statuses of some by their places."""
    for write in writes:
        if isinstance(write, list):
            todos = write
        else:
            todos = [
                Todo(id=str(i), content=t["content"], status=write.get(i, t["status"]))
                for i, t in enumerate(todos)
            ]
    return todos
