"""execute_step: take the ready steps, then have each carried out by the agent of its executor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from manus.nodes.active_run import Running, running_of
from manus.nodes.inner_run import InnerRun, run_inside
from manus.nodes.planning.changed_files import MOST_FILES, changed_since, mentioned, next_tick
from manus.nodes.planning.scheduling import choose_steps
from manus.state.events import PlanActionEvent, PlanStepEvent, StatusEvent
from manus.state.flow import FlowState, StepTask, can_revise
from manus.state.plan import StepResult, StepStatus, used_by
from manus.state.plan_changes import StepChange
from manus.state.taint import passed_on
from manus.state.text import shortened
from manus.state.usage import RoleUsage, Usage, budget_used_up, summed, tokens_of

MOST_TEXT = 2_000
"""Characters of a step's result; its conversation holds all of it."""
MOST_REASON = 400
"""Characters of the reason why a step was blocked."""

Update = dict[str, Any]


async def execute_step(
    given: FlowState | StepTask,
    config: RunnableConfig,
    *,
    executors: Mapping[str, Any],
    exclusive: Collection[str] = (),
) -> Update:
    """With the state: mark the steps that can begin. With one step: carry it out.

    `executors` are the agent graphs by name, `exclusive` those of whom one is at work at a time.
    """
    running = running_of(config)
    if "step" in given:
        task = cast(StepTask, given)
        return await run_plan_step(task, running, executors[task["executor"]], config)
    return take_steps(given, running, exclusive, began=await next_tick())


def take_steps(
    state: FlowState, running: Running, exclusive: Collection[str], *, began: int
) -> Update:
    """Mark the steps that go to work now, which `began` tells in nanoseconds, as in progress.

    None do if the budget is used up, or if the plan is to be revised first.
    """
    seconds = running.lap()
    usage: Usage = {**state["usage"], "seconds": state["usage"]["seconds"] + seconds}
    running.sync(usage)
    update: Update = {"usage": {"seconds": seconds}}
    if (over := budget_used_up(running.budget.limits, usage)) is not None:
        return {**update, "run": {**state["run"], "over": over}}
    plan = state["plan"]
    most = 0 if can_revise(state) else running.context.max_parallel_steps
    chosen = choose_steps(plan, most, state["run"]["executors"], exclusive)
    if not chosen:
        return update
    get_stream_writer()(StatusEvent(type="status", status="executing", stop_reason=None))
    changes = []
    for index, executor in chosen.items():
        step = plan["steps"][index]
        change = StepChange(step=index, status="in_progress", executor=executor, began=began)
        changes.append(change)
        _tell_of(index, "in_progress", step["notes"], executor, used_by(step))
    # a change of a step is stored as such: the whole plan anew would grow with its square
    at_work = dict.fromkeys(chosen, "in_progress")
    return {**update, "plan": changes, "todos": at_work, "status": "executing"}


def _tell_of(step: int, status: StepStatus, notes: str, executor: str, spent: RoleUsage) -> None:
    get_stream_writer()(
        PlanStepEvent(
            type="plan_step", step=step, status=status, notes=notes, executor=executor, spent=spent
        )
    )


async def run_plan_step(
    task: StepTask, running: Running, executor: Any, config: RunnableConfig
) -> Update:
    """Carry out one step. Whatever happens to it, it ends as completed or as blocked.

    Raises:
        GraphBubbleUp: its executor asks a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    emit = get_stream_writer()

    def tell(event: dict[str, Any]) -> None:
        emit(PlanActionEvent(type="plan_action", step=task["step"], event=event))

    known = running.approved  # another process may have been told of an approval
    known += [rule for rule in dict.fromkeys(task.get("approved", ())) if rule not in known]
    known_refusals = running.refused
    known_refusals += [one for one in task.get("refused", ()) if one not in known_refusals]
    inner = await run_inside(running, executor, _request(task), tell)
    files = await asyncio.to_thread(_files, task, running, inner.values)
    return _ended(task, inner, files, config)


def _ended(task: StepTask, inner: InnerRun, files: list[str], config: RunnableConfig) -> Update:
    """What a step that has ended writes: `completed` only if its executor says it succeeded."""
    usage = inner.usage
    spent = summed(task["spent"], usage)
    notes = "" if inner.succeeded else shortened(inner.reason, MOST_REASON)
    change = StepChange(
        step=task["step"],
        status="completed" if inner.succeeded else "blocked",
        notes=notes,
        result=StepResult(
            text=shortened(inner.output, MOST_TEXT),
            files=files,
            tokens=tokens_of(usage),
            usage=spent,
            stop_reason=str(inner.values.get("stop_reason") or ""),
            outside=inner.is_tainted,
            approved=list(inner.values.get("approved") or []),
            refused=list(inner.values.get("refused") or []),
        ),
        space=str(config.get("configurable", {}).get("checkpoint_ns", "")),
    )
    _tell_of(task["step"], change["status"], notes, task["executor"], spent)
    # seconds are the flow's own: steps side by side would count the same time more than once
    todo = {task["step"]: "completed" if inner.succeeded else "pending"}
    return {"plan": change, "todos": todo, "usage": {**usage, "seconds": 0.0}}


def _request(task: StepTask) -> HumanMessage:
    text: Any = task["request"]
    content = [{"type": "text", "text": text}, *task["images"]] if task["images"] else text
    known = passed_on(task.get("asked", ""), tainted=task.get("outside", False))
    return HumanMessage(content, additional_kwargs=known)


def _files(task: StepTask, running: Running, values: dict[str, Any]) -> list[str]:
    files = changed_since(running.session.workspace.root, task["began"])
    if not task["alone"]:
        files = mentioned(files, values.get("messages") or [])
    return sorted(files[:MOST_FILES])
