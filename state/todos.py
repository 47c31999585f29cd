"""A plan as LangChain's chat UIs show it: `todos`, as its deep agents keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.plan import Plan

TodoStatus = Literal["pending", "in_progress", "completed"]


class Todo(TypedDict):
    """A step of a plan."""

    content: str
    status: TodoStatus


def todos_of(plan: Plan) -> list[Todo]:
    """The steps of a plan; one that is blocked is still to be done."""
    return [Todo(content=s["text"], status=_status(s["status"])) for s in plan.get("steps", [])]


def _status(status: str) -> TodoStatus:
    if status == "completed":
        return "completed"
    return "in_progress" if status == "in_progress" else "pending"


def fold_todos(
    todos: list[Todo], writes: Sequence[list[Todo] | Mapping[int, TodoStatus]]
) -> list[Todo]:
    """The todos after writes: all of them anew, or the statuses of some by their places."""
    for write in writes:
        if isinstance(write, list):
            todos = write
        else:
            todos = [
                Todo(content=t["content"], status=write.get(i, t["status"]))
                for i, t in enumerate(todos)
            ]
    return todos
