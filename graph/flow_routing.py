"""The routers of the flow, plain functions of the state."""

from __future__ import annotations

from typing import Literal

from langgraph.types import Send

from manus.nodes.planning.step_task import tasks_of
from manus.state.flow import FlowState, can_revise
from manus.state.plan import at_work, ready_steps, taken_last

AfterPlan = Literal["ready", "to_approve", "rejected", "cancelled", "error"]
AfterExecuteStep = Literal["ended", "ready_steps", "blocked", "complete"]


def route_after_plan(state: FlowState) -> AfterPlan:
    """To the first steps; before them to the person who approves, or back for another plan.

    A plan that could not be made is made again in a run that goes on.
    """
    reason = state.get("stop_reason")
    if reason is not None:
        return "error" if reason == "error" else "cancelled"
    approval = state["run"]["approval"]
    if not state.get("plan") or approval == "rejected":
        return "rejected"
    return "to_approve" if approval == "wanted" else "ready"


def route_after_execute_step(state: FlowState) -> list[Send] | AfterExecuteStep:
    """One task for each step that was taken; when they have ended, what can be done then.

    A step that ends sees its siblings still in progress: the node looks again when all have ended.
    """
    run, plan = state["run"], state["plan"]
    working = at_work(plan)
    if working and working == taken_last(plan):
        return [Send("execute_step", task) for task in tasks_of(state)]
    if working:
        return "ended"
    if "over" in run:
        return "complete"
    if can_revise(state):
        return "blocked"
    return "ready_steps" if ready_steps(plan) else "complete"
