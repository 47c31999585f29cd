"""Every rule about what comes next: routers, plain functions of the state."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.types import Send

from manus.nodes.turn.allowance import within
from manus.nodes.turn.calls import to_tasks
from manus.prompts import flow as prompts
from manus.state.agent import AgentState, Compaction, ToolTask
from manus.state.flow import Batch, FlowState, StepTask
from manus.state.ledger import as_budget
from manus.state.messages import answered_ids, has_calls, last_assistant, last_request, text_of
from manus.state.plan import as_text, builds_on, executor_for, shown_result
from manus.state.usage import used_by
from manus.tools.planning import Shelf, with_plans
from manus.tools.recall import NAME as RECALL

_INDIRECT = 300
"""Characters of the result of a step that another depends on only by way of a third."""
_INDIRECT_STEPS = 8
"""So many of these are told of, the nearest."""

AfterThink = Literal["call", "no_call", "budget", "error"]
AfterStuckCheck = Literal[
    "next_step", "terminated", "answered", "max_steps", "budget", "stuck", "error"
]
AfterPlan = Literal["ready", "to_approve", "rejected", "cancelled", "error"]
AfterExecuteStep = Literal["ended", "blocked", "complete"]


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
    tasks = [t for t in to_tasks(message, special, state.get("loop")) if t["id"] not in answered]
    if not tasks:  # a person has written into a thread whose calls were carried out
        return "no_call"
    shelf = Shelf(state.get("plans", {}), state.get("active_plan"))
    if "run" in state:
        run = state["run"]
        tasks = within(run.get("calls_left"), tasks, special)
        tasks = [{**task, "step": run["step"]} for task in tasks]
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


def route_after_plan(state: FlowState) -> AfterPlan:
    """To the first steps; before them to the person who approves, or back for another plan."""
    reason = state.get("stop_reason")
    if reason is not None:
        return "error" if reason == "error" else "cancelled"
    approval = state["run"]["approval"]
    if approval == "wanted":
        return "to_approve"
    return "rejected" if approval == "rejected" else "ready"


def route_after_execute_step(state: FlowState) -> list[Send] | AfterExecuteStep:
    """One task for each step that was taken; back to take more when they have ended.

    When nothing was taken: to the planner with what was blocked, else to the summary.
    """
    batch, steps = state["batch"], state["plan"]["steps"]
    taken = [i for i in batch["steps"] if i < len(steps)]
    if batch["steps"]:
        at_work = all(steps[i]["status"] == "in_progress" for i in taken)
        if taken == batch["steps"] and at_work:
            return [Send("execute_step", task_of(state, i)) for i in taken]
        return "ended"
    can_revise = state["run"]["replans_left"] > 0 and "over" not in batch
    return "blocked" if batch["failed"] and can_revise else "complete"


def task_of(state: FlowState, index: int) -> StepTask:
    """What the executor of a step is given: all it may know, and nothing else."""
    plan, batch = state["plan"], state["batch"]
    step = plan["steps"][index]
    request = last_request(state["messages"])
    direct = step["depends_on"]
    indirect = [i for i in builds_on(plan, index) if i not in direct][-_INDIRECT_STEPS:]
    results = [
        shown_result(i, plan["steps"][i], None if i in direct else _INDIRECT)
        for i in sorted([*direct, *indirect])
    ]
    said = text_of(request) if request is not None else ""
    before = used_by(step)
    task = StepTask(
        step=index,
        executor=executor_for(step, state["run"]["executors"]),
        request=prompts.step(said, as_text(plan), results, index, step["text"]),
        images=[b for b in _blocks(request) if b.get("type") in ("image", "image_url")],
        began=batch["began"],
        alone=len(batch["steps"]) == 1,
        budget=_share_of(batch, index),
    )
    if "account" in batch:
        task["account"] = batch["account"]
    if before["model_calls"]:
        task["spent"] = before
    return task


def _share_of(batch: Batch, index: int) -> dict[str, Any]:
    """The budget of a step that is at work, as its executor's context takes it."""
    account = batch.get("account")
    promised = account["promised"].get(str(index), {}) if account is not None else {}
    return as_budget(promised, batch.get("seconds"))


def _blocks(message: Any) -> list[dict[str, Any]]:
    content = message.content if message is not None else ""
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
