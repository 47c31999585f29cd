"""execute_step: take the ready steps, then have each carried out by the agent of its executor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.execution.call import call_watcher
from manus.execution.changed_files import MOST_FILES, changed_since, mentioned, next_tick
from manus.execution.shared_files import SharedFiles, StepFiles, fingerprints_of
from manus.nodes.active_run import ActiveRun, active_run_of
from manus.nodes.planning.questions import (
    config_of_step,
    in_call_order,
    interrupts_run,
    waiting_of,
)
from manus.nodes.planning.scheduling import choose_steps
from manus.nodes.subagent import SubagentResult, run_subagent
from manus.state.events import PlanActionEvent, PlanStepEvent, StatusEvent
from manus.state.flow import FlowState, StepTask, can_revise, used_so_far
from manus.state.plan import Plan, StepResult, StepStatus, Waiting, used_by, waiting_steps
from manus.state.plan_changes import StepChange
from manus.state.taint import passed_on
from manus.state.text import shortened
from manus.state.usage import RoleUsage, budget_used_up, summed, tokens_of

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
    active_run = active_run_of(config)
    if "step" in given:
        task = cast(StepTask, given)
        return await run_plan_step(task, active_run, executors[task["executor"]], config)
    return take_steps(given, active_run, exclusive, began=await next_tick())


def take_steps(
    state: FlowState, active_run: ActiveRun, exclusive: Collection[str], *, began: int
) -> Update:
    """Mark the steps that start now, at `began` nanoseconds, as in progress.

    None do if the budget is used up, or if the plan is to be revised first. Where no step can
    start, the questions of those that were set aside are put.
    """
    seconds = active_run.lap()
    usage = used_so_far(state)
    usage = {**usage, "seconds": usage["seconds"] + seconds}
    active_run.sync(usage)
    update: Update = {"usage": {"seconds": seconds}}
    if (over := budget_used_up(active_run.budget.limits, usage)) is not None:
        return {**update, "run": {**state["run"], "over": over}}
    if can_revise(state):
        return update
    plan = state["plan"]
    names = state["run"]["executors"]
    chosen = choose_steps(plan, active_run.context.max_parallel_steps, names, exclusive)
    if chosen:
        get_stream_writer()(StatusEvent(type="status", status="executing", stop_reason=None))
        return {**update, **_start(plan, chosen, began)}
    active_run.sync(state["usage"])  # the executors that resume add what they have used
    return {**update, "plan": _put_questions(plan, began)}


def _start(plan: Plan, chosen: Mapping[int, str], began: int) -> Update:
    """Mark the chosen steps as in progress, each with its executor."""
    changes = []
    for index, executor in chosen.items():
        step = plan["steps"][index]
        change = StepChange(step=index, status="in_progress", executor=executor, began=began)
        changes.append(change)
        _tell_of(index, "in_progress", step["notes"], executor, used_by(step))
    # a change of a step is stored as such: the whole plan anew would grow with its square
    todos = dict.fromkeys(chosen, "in_progress")
    return {"plan": changes, "todos": todos, "status": "executing"}


def _put_questions(plan: Plan, began: int) -> list[StepChange]:
    """Take the steps that were set aside again, so that their questions interrupt the run."""
    changes = []
    for index in waiting_steps(plan):
        waiting = plan["steps"][index].get("waiting")
        if waiting is not None:
            changes.append(StepChange(step=index, began=began, waiting={**waiting, "is_put": True}))
    return changes


def _tell_of(
    step: int,
    status: StepStatus,
    notes: str,
    executor: str,
    spent: RoleUsage,
    question: str = "",
) -> None:
    event = PlanStepEvent(
        type="plan_step", step=step, status=status, notes=notes, executor=executor, spent=spent
    )
    if question:
        event["question"] = question
    get_stream_writer()(event)


async def run_plan_step(
    task: StepTask, active_run: ActiveRun, executor: Any, config: RunnableConfig
) -> Update:
    """Carry out one step. Whatever happens to it, it ends as completed, blocked or set aside.

    Raises:
        GraphInterrupt: its executor asks a person, and the run waits for the answer.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    emit = get_stream_writer()

    def tell(event: dict[str, Any]) -> None:
        emit(PlanActionEvent(type="plan_action", step=task["step"], event=event))

    known = active_run.approved  # another process may have been told of an approval
    known += [rule for rule in dict.fromkeys(task.get("approved", ())) if rule not in known]
    known_refusals = active_run.refused
    known_refusals += [one for one in task.get("refused", ()) if one not in known_refusals]
    inner_config = await config_of_step(task, active_run, config)
    step_files = _watch_calls(task, active_run, inner_config)
    async with active_run.slots:
        inner = await run_subagent(active_run, executor, _request(task), tell, inner_config)
    space = str(inner_config["configurable"].get("checkpoint_ns", ""))
    asked: list[Interrupt] = []
    if inner.stop is not None:
        asked = await in_call_order(inner.stop, executor, inner_config)
        if not asked or interrupts_run(task, asked, active_run, config):
            active_run.session.waiting = True
            raise GraphInterrupt(asked)
    files = await asyncio.to_thread(_files, task, active_run, inner.values)
    if asked:
        root = active_run.session.workspace.root
        hashes = await asyncio.to_thread(fingerprints_of, root, files)
        waiting = await waiting_of(task, asked, inner, hashes, inner_config)
        return _set_aside(task, waiting, space)
    update = _ended(task, inner, files, space)
    if step_files is not None and step_files.conflicts:
        conflicts = {path: sorted(titles) for path, titles in step_files.conflicts.items()}
        update["plan"]["result"]["conflicts"] = conflicts
    return update


def _watch_calls(task: StepTask, active_run: ActiveRun, config: RunnableConfig) -> StepFiles | None:
    """Have the calls of a step watched for files that other steps change; None if it is alone."""
    waiting = task.get("waiting")
    if not (task["is_shared"] or waiting):
        return None
    session = active_run.session
    shared = session.shared
    if shared is None:
        shared = session.shared = SharedFiles(session.workspace.root)
    space = str(config["configurable"].get("checkpoint_ns", ""))
    step_files = shared.of_step(space, task["title"])
    step_files.start(task["title"], waiting["files"] if waiting else {})
    call_watcher.set(step_files)
    return step_files


def _set_aside(task: StepTask, waiting: Waiting, space: str) -> Update:
    """Return what a step writes that waits for a person while other steps go on."""
    before = task.get("waiting")
    if before is None or before["asked_at"] != waiting["asked_at"]:
        question = waiting["question"]
        _tell_of(task["step"], "in_progress", "", task["executor"], task["spent"], question)
    return {"plan": StepChange(step=task["step"], waiting=waiting, space=space)}


def _ended(task: StepTask, inner: SubagentResult, files: list[str], space: str) -> Update:
    """Return what a step that has ended writes: `completed` only if its executor says so."""
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
        space=space,
    )
    if "waiting" in task:
        change["waiting"] = None
    _tell_of(task["step"], change["status"], notes, task["executor"], spent)
    # seconds are the flow's own: steps side by side would count the same time more than once
    todo = {task["step"]: "completed" if inner.succeeded else "pending"}
    return {"plan": change, "todos": todo, "usage": {**usage, "seconds": 0.0}}


def _request(task: StepTask) -> HumanMessage:
    text: Any = task["request"]
    content = [{"type": "text", "text": text}, *task["images"]] if task["images"] else text
    known = passed_on(task.get("asked", ""), tainted=task.get("outside", False))
    return HumanMessage(content, additional_kwargs=known)


def _files(task: StepTask, active_run: ActiveRun, values: dict[str, Any]) -> list[str]:
    """Return the files that a step has made or changed, at most `MOST_FILES`. Blocking."""
    files = changed_since(active_run.session.workspace.root, task["began"])
    if not task["alone"]:
        files = mentioned(files, values.get("messages") or [])
    waiting = task.get("waiting")
    earlier = [*waiting["files"]] if waiting else []
    return sorted([*dict.fromkeys([*files, *earlier])][:MOST_FILES])
