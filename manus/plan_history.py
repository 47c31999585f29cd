"""What happened inside the steps of a flow's plan, for `show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.types import StateSnapshot

from manus.history import as_text
from manus.state.plan import Plan, at_work
from manus.state.plan import as_text as plan_as_text

Histories = Mapping[int, list[AnyMessage]]
"""Conversations of steps, by the step's place in the plan."""


async def histories_of(graph: Any, snapshot: StateSnapshot) -> Histories:
    """The conversation of each step that has been at work, or is."""
    thread = snapshot.config["configurable"]["thread_id"]
    plan: Plan | None = snapshot.values.get("plan")
    spaces = {
        index: step.get("space", "")
        for index, step in enumerate(plan["steps"] if plan else [])
        if step["status"] != "not_started"
    }
    taken = at_work(plan) if plan else []
    for index, task in zip(taken, snapshot.tasks, strict=False):
        # a step is told where its conversation is kept when it ends
        if task.state is not None:
            config: Any = task.state
            spaces[index] = config["configurable"]["checkpoint_ns"]
    found = {}
    for index, space in spaces.items():
        if space:
            config = {"configurable": {"thread_id": thread, "checkpoint_ns": space}}
            found[index] = (await graph.aget_state(config)).values.get("messages", [])
    return found


def steps_as_text(plan: Plan, histories: Histories, *, full: bool = False) -> str:
    """The plan, and the conversation of each step below its text."""
    parts = [plan_as_text(plan)]
    for index, history in sorted(histories.items()):
        parts.append(f"Step {index}: {plan['steps'][index]['text']}")
        # The first message holds the request and the plan once more.
        parts.append(as_text(history[1:], full=full).strip("\n"))
    return "\n\n".join(parts)
