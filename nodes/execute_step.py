"""execute_step: take the ready steps, then have each carried out by the agent of its executor."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from manus.nodes.active_run import Running, running_of
from manus.nodes.planning.changed_files import next_tick
from manus.nodes.planning.run_plan_step import run_plan_step
from manus.nodes.planning.scheduling import choose_steps
from manus.state.events import PlanStepEvent, StatusEvent
from manus.state.flow import FlowState, StepTask, can_revise
from manus.state.plan import executor_for, used_by
from manus.state.plan_changes import StepChange
from manus.state.usage import Usage, budget_used_up

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
    seconds = running.session.lap()
    usage: Usage = {**state["usage"], "seconds": state["usage"]["seconds"] + seconds}
    running.budget.sync(usage)
    update: Update = {"usage": {"seconds": seconds}}
    if (over := budget_used_up(running.budget.limits, usage)) is not None:
        return {**update, "run": {**state["run"], "over": over}}
    plan = state["plan"]
    most = 0 if can_revise(state) else running.context.max_parallel_steps
    chosen = choose_steps(plan, most, exclusive)
    if not chosen:
        return update
    emit = get_stream_writer()
    emit(StatusEvent(type="status", status="executing", stop_reason=None))
    changes = []
    for index in chosen:
        step = plan["steps"][index]
        executor = executor_for(step, state["run"]["executors"])
        change = StepChange(step=index, status="in_progress", executor=executor, began=began)
        changes.append(change)
        told = PlanStepEvent(
            type="plan_step",
            step=index,
            status="in_progress",
            notes=step["notes"],
            executor=executor,
            spent=used_by(step),
        )
        emit(told)
    # a change of a step is stored as such: the whole plan anew would grow with its square
    at_work = dict.fromkeys(chosen, "in_progress")
    return {**update, "plan": changes, "todos": at_work, "status": "executing"}
