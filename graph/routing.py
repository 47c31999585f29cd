"""Every rule about what comes next: routers, plain functions of the state."""

from __future__ import annotations

from typing import Literal

from langgraph.types import Send

from manus.nodes.turn.calls import lacks_answer, to_tasks
from manus.state.agent import AgentState, Compaction, ToolTask
from manus.state.messages import answered_ids, has_calls, last_assistant
from manus.tools.planning import Shelf, with_plans
from manus.tools.recall import NAME as RECALL

AfterThink = Literal["call", "no_call", "budget", "error"]
AfterStuckCheck = Literal[
    "next_step", "terminated", "answered", "max_steps", "budget", "stuck", "error"
]


def route_after_think(
    state: AgentState, special: tuple[str, ...] = ("terminate",)
) -> list[Send] | AfterThink:
    """One task of `act` for each call; with none to the stuck check; with no reply to the end."""
    reason = state.get("stop_reason")
    if reason in ("budget", "error"):
        return reason
    message = last_assistant(state["messages"])
    if message is None or not has_calls(message):
        return "no_call"
    answered = answered_ids(state["messages"])
    wants_answer = "run" in state and lacks_answer(state["messages"], message, state["run"])
    tasks = to_tasks(message, special, state.get("loop"), wants_answer=wants_answer)
    tasks = [task for task in tasks if task["id"] not in answered]
    if not tasks:  # a person has written into a thread whose calls were carried out
        return "no_call"
    shelf = Shelf(state.get("plans", {}), state.get("active_plan"))
    if "run" in state:
        tasks = [{**task, "step": state["run"]["step"]} for task in tasks]
    tasks = [with_compaction(task, state.get("compaction")) for task in tasks]
    return [Send("act", task) for task in with_plans(tasks, shelf)]


def with_compaction(task: ToolTask, compaction: Compaction | None) -> ToolTask:
    """A call of `recall` with what it looks into: another process may be the one to make it."""
    if compaction is None or task["name"].lower() != RECALL:
        return task
    return {**task, "compaction": compaction}


def route_after_stuck_check(state: AgentState) -> AfterStuckCheck:
    """To the next step, unless one of the rules in `stop_conditions` has ended the run."""
    reason = state.get("stop_reason")
    if reason is None:
        return "next_step"
    if reason in ("terminated", "answered", "max_steps", "budget", "stuck"):
        return reason
    return "error"
