"""How many tool calls the budget still allows, in a message that asks for more of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from langchain_core.messages import ToolMessage

from manus.prompts import agent as prompts
from manus.state.agent import ToolTask
from manus.state.messages import text_of


def within(left: int | None, tasks: Sequence[ToolTask], special: Collection[str]) -> list[ToolTask]:
    """The tasks, with those refused that are more than are left; None: as many as there are.

    A special tool is never refused for that: ending a run must not fail for want of a call.
    """
    if left is None:
        return list(tasks)
    allowed: list[ToolTask] = []
    for task in tasks:
        if "refusal" in task or task["name"].lower() in special:
            allowed.append(task)
        elif left > 0:
            left -= 1
            allowed.append(task)
        else:
            allowed.append({**task, "refusal": prompts.OVER_BUDGET})
    return allowed


def is_over_budget(message: ToolMessage) -> bool:
    """Whether a call was not carried out because the budget allowed no more of them."""
    return message.status == "error" and text_of(message) == prompts.OVER_BUDGET
