"""execute_step: take the ready steps, then carry each out by the agent graph of its executor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from manus.nodes.active_run import Running, running_of
from manus.nodes.planning.changed_files import mark_now
from manus.nodes.planning.run_plan_step import carry_out
from manus.nodes.planning.scheduling import choose_batch
from manus.nodes.planning.shares import (
    ledger_of,
    no_room_to_plan,
    room_for,
    seconds_left,
    shared,
    used_up,
)
from manus.state.agent import Usage
from manus.state.context import Context
from manus.state.errors import PlanError
from manus.state.events import PlanEvent, PlanStepEvent, StatusEvent
from manus.state.flow import Batch, FlowState, StepTask
from manus.state.plan import Plan, executor_for, ready_steps
from manus.state.plan_changes import StepChange, as_edited
from manus.state.usage import spent_so_far, used_by

Update = dict[str, Any]


async def execute_step(
    given: FlowState | StepTask,
    runtime: Runtime[Context],
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
        return await carry_out(task, running, executors[task["executor"]], runtime, config)
    began = await asyncio.to_thread(mark_now, running.session.workspace.private)
    return take_steps(given, running, exclusive, began, runtime.stream_writer)


def take_steps(
    state: FlowState, running: Running, exclusive: Collection[str], began: int, tell: Any
) -> Update:
    """The next batch: the ready steps, marked as in progress.

    It is empty if a step is to be planned anew, if the budget is used up, or if none can begin.
    """
    seconds = running.session.lap()
    usage: Usage = {**state["usage"], "seconds": state["usage"]["seconds"] + seconds}
    running.purse.sync(usage)
    plan = with_edits(state, running, tell)
    batch = Batch(steps=[], began=began, failed=newly_blocked(state))
    choose(batch, plan, usage, running, exclusive, can_revise=state["run"]["replans_left"] > 0)
    if batch["steps"]:
        tell(StatusEvent(type="status", status="executing", stop_reason=None))
    # a change of a step is stored as such: the whole plan anew would grow with its square
    changes: list[Any] = [] if plan is state["plan"] else [plan]
    changes += begin_steps(plan, batch["steps"], state["run"]["executors"], tell)
    if "over" in batch:
        changes += block_steps(plan, batch["over"], tell)
    update: Update = {"batch": batch, "usage": {"seconds": seconds}}
    if changes:
        update["plan"] = changes
    return {**update, "status": "executing"} if batch["steps"] else update


def choose(
    batch: Batch,
    plan: Plan,
    usage: Usage,
    running: Running,
    exclusive: Collection[str],
    *,
    can_revise: bool,
) -> None:
    """Write into the batch which steps go to work and what each may use, or what is used up."""
    budget, most = running.budget, running.context.max_parallel_steps
    to_revise = bool(batch["failed"]) and can_revise
    if not (to_revise or ready_steps(plan)):
        return
    ledger = ledger_of(running, plan, usage)
    over = used_up(ledger, budget, usage)
    if over is None and to_revise:
        over = no_room_to_plan(ledger, budget, usage)
    if over is not None:
        batch["over"] = over
    elif not to_revise:
        room = room_for(ledger, plan, usage, most)
        batch["steps"] = choose_batch(plan, room, exclusive)
        if ledger.limits:
            batch["account"] = shared(ledger, batch["steps"])
        if (left := seconds_left(budget, usage)) is not None:
            batch["seconds"] = left


def block_steps(plan: Plan, over: str, tell: Any) -> list[StepChange]:
    """The changes that block the steps that could begin if the budget were not used up."""
    changes = []
    for index in ready_steps(plan):
        step = plan["steps"][index]
        notes = f"not begun, because the budget is used up: {over}"
        changes.append(StepChange(step=index, status="blocked", notes=notes))
        told = PlanStepEvent(
            type="plan_step",
            step=index,
            status="blocked",
            notes=notes,
            executor=step["executor"],
            spent=used_by(step),
        )
        tell(told)
    return changes


def newly_blocked(state: FlowState) -> list[int]:
    """Of the steps that were at work last: those that were blocked."""
    steps = state["plan"]["steps"]
    batch = state["batch"]["steps"]
    return [i for i in batch if i < len(steps) and steps[i]["status"] == "blocked"]


def begin_steps(plan: Plan, chosen: list[int], names: list[str], tell: Any) -> list[StepChange]:
    """The changes that put the chosen steps in progress, each with an executor."""
    changes = []
    for index in chosen:
        step = plan["steps"][index]
        executor = executor_for(step, names)
        changes.append(StepChange(step=index, status="in_progress", executor=executor))
        told = PlanStepEvent(
            type="plan_step",
            step=index,
            status="in_progress",
            notes=step["notes"],
            executor=executor,
            spent=used_by(step),
        )
        tell(told)
    return changes


def with_edits(state: FlowState, running: Running, tell: Any) -> Plan:
    """The plan with what a person changed in it while the last steps were at work."""
    plan = state["plan"]
    edits, running.edits = running.edits, []
    for edit in edits:
        try:
            plan = settled(as_edited(plan, edit), plan, state["batch"]["steps"])
        except PlanError:
            continue  # it was right when it came, and what it changed is gone: the plan stands
        spent = spent_so_far(state["usage"])
        tell(PlanEvent(type="plan", why="edited", plan=plan, spent=spent))
    return plan


def settled(edited: Plan, present: Plan, ended: list[int]) -> Plan:
    """The edited plan, with what came of the steps that have ended since it was read."""
    known = {present["steps"][i]["text"]: present["steps"][i] for i in ended}
    steps = [
        {**step, **{name: known[step["text"]][name] for name in ("status", "notes", "result")}}
        if step["text"] in known and step["status"] in ("in_progress", "not_started")
        else step
        for step in edited["steps"]
    ]
    return {**edited, "steps": steps}  # type: ignore[typeddict-item]
