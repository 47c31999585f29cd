"""execute_step: start the ready steps, then run each with the agent of its executor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.calls.call import call_watcher
from manus.calls.changed_files import MAX_FILES, changed_since, find_mentioned, next_tick
from manus.calls.shared_files import SharedFiles, StepFiles, hash_files
from manus.nodes.active_run import ActiveRun, get_active_run
from manus.nodes.inbox import announce_messages, receive_messages
from manus.nodes.lost_calls import record_end, record_start, report_lost_calls
from manus.nodes.planning.questions import (
    interrupts_run,
    sort_by_call,
    step_configuration,
    waiting_record,
)
from manus.nodes.planning.scheduling import choose_steps
from manus.nodes.subagent import SubagentResult, run_subagent
from manus.state.events import PlanActionEvent, PlanStepEvent, StatusEvent
from manus.state.flow import FlowState, StepTask, can_revise, total_usage
from manus.state.messages import get_text
from manus.state.plan import Plan, StepResult, StepStatus, Waiting, get_usage, waiting_steps
from manus.state.plan_changes import StepChange
from manus.state.request import list_steering
from manus.state.taint import read_marks, request_fields
from manus.state.text import shorten
from manus.state.usage import RoleUsage, budget_used_up, sum_tokens, sum_usage

MAX_RESULT = 2_000
"""Characters of a step's result; its checkpoint namespace has the full text."""
MAX_REASON = 400
"""Characters of the reason why a step was blocked."""

Update = dict[str, Any]


async def execute_step(
    state_or_task: FlowState | StepTask,
    config: RunnableConfig,
    *,
    executors: Mapping[str, Any],
    exclusive: Collection[str] = (),
) -> Update:
    """Mark the ready steps as in progress, or, given the task of one step, execute it.

    `executors`: agent graphs by name. `exclusive`: executors of which only one runs at a time.
    """
    active_run = get_active_run(config)
    if "step" in state_or_task:
        task = cast(StepTask, state_or_task)
        return await run_plan_step(task, active_run, executors[task["executor"]], config)
    state, received = await receive_messages(state_or_task, active_run.inbox)
    await report_lost_calls(active_run.session, state)
    active_run.announce_restored_files(get_stream_writer())
    announce_messages(received, get_stream_writer())
    start_time = await next_tick()
    update = start_steps(state, active_run, exclusive, received, start_time=start_time)
    return {**update, "messages": received} if received else update


def start_steps(
    state: FlowState,
    active_run: ActiveRun,
    exclusive: Collection[str],
    received: Sequence[AnyMessage] = (),
    *,
    start_time: int,
) -> Update:
    """Return the update that marks ready steps as in progress since `start_time` nanoseconds.

    No step starts if the budget is used up, or if the plan must be revised first: for a blocked
    step, or for messages that the user has sent since the last step was started. If none can
    start, the steps that were set aside ask their questions.
    """
    seconds = active_run.ledger.take_elapsed()
    usage = total_usage(state)
    usage = {**usage, "seconds": usage["seconds"] + seconds}
    active_run.ledger.sync(usage)
    update: Update = {"usage": {"seconds": seconds}}
    over = budget_used_up(active_run.ledger.limits, usage)
    if over is not None:
        return {**update, "run": {**state["run"], "over": over}}
    if received:
        message = "\n\n".join(map(get_text, received))
        return {**update, "run": {**state["run"], "message": message}}
    if can_revise(state):
        return update
    plan = state["plan"]
    names = state["run"]["executors"]
    selected = choose_steps(plan, active_run.settings.max_parallel_steps, names, exclusive)
    if selected:
        get_stream_writer()(StatusEvent(type="status", status="executing", stop_reason=None))
        return {**update, **_start(plan, selected, start_time)}
    active_run.ledger.sync(state["usage"])  # the resumed executors add their own usage
    return {**update, "plan": _ask_questions(plan, start_time)}


def _start(plan: Plan, selected: Mapping[int, str], start_time: int) -> Update:
    """Return the update that marks the selected steps as in progress, each with its executor."""
    changes = []
    for index, executor in selected.items():
        step = plan["steps"][index]
        change = StepChange(step=index, status="in_progress", executor=executor, began=start_time)
        changes.append(change)
        _emit_step(index, "in_progress", step["notes"], executor, get_usage(step))
    # only the change is stored: storage of whole plans would grow quadratically
    todos = dict.fromkeys(selected, "in_progress")
    return {"plan": changes, "todos": todos, "status": "executing"}


def _ask_questions(plan: Plan, start_time: int) -> list[StepChange]:
    """Return the changes that resume steps set aside, so that their questions interrupt the run."""
    changes = []
    for index in waiting_steps(plan):
        waiting = plan["steps"][index].get("waiting")
        if waiting is not None:
            resumed: Waiting = {**waiting, "is_put": True}
            changes.append(StepChange(step=index, began=start_time, waiting=resumed))
    return changes


def _emit_step(
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
    """Execute one step. Whatever happens, it ends as completed, blocked or set aside.

    Raises:
        GraphInterrupt: its executor asks a person, and the run waits for the answer.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    emit = get_stream_writer()

    def emit_action(event: dict[str, Any]) -> None:
        emit(PlanActionEvent(type="plan_action", step=task["step"], event=event))

    _add_decisions(task, active_run)
    step_config = await step_configuration(task, active_run, config)
    step_files = _watch_calls(task, active_run, step_config)
    space = str(step_config["configurable"].get("checkpoint_ns", ""))
    journal = active_run.session.journal
    await record_start(journal, space, task["title"], task["title"])
    async with active_run.slots:
        request = _request(task)
        subagent = await run_subagent(active_run, executor, request, emit_action, step_config)
    questions: list[Interrupt] = []
    if subagent.interrupt is not None:
        questions = await sort_by_call(subagent.interrupt, executor, step_config)
        if not questions or interrupts_run(task, questions, active_run, config):
            active_run.session.waiting = True
            raise GraphInterrupt(questions)
    files = await asyncio.to_thread(_changed_files, task, active_run, subagent.values)
    if questions:
        root = active_run.session.workspace.root
        hashes = await asyncio.to_thread(hash_files, root, files)
        waiting = await waiting_record(task, questions, subagent, hashes, step_config)
        return _set_aside(task, waiting, space)
    update = _end_step(task, subagent, files, space)
    await record_end(journal, space, task["title"], space, subagent.output)
    if messages := list_steering(subagent.values.get("messages") or []):
        update["messages"] = messages  # so that the following steps and the summary have them too
    if active_run.session.files is not None and active_run.session.files.head:
        update["snapshot"] = active_run.session.files.head
    if step_files is not None and step_files.conflicts:
        conflicts = {path: sorted(titles) for path, titles in step_files.conflicts.items()}
        update["plan"]["result"]["conflicts"] = conflicts
    return update


def _add_decisions(task: StepTask, active_run: ActiveRun) -> None:
    """Add the approvals and refusals of the task: another process may have received them."""
    for rule in task.get("approved", ()):
        if rule not in active_run.approved:
            active_run.approved.append(rule)
    for refusal in task.get("refused", ()):
        if refusal not in active_run.refused:
            active_run.refused.append(refusal)


def _watch_calls(task: StepTask, active_run: ActiveRun, config: RunnableConfig) -> StepFiles | None:
    """Watch the calls of a step for files that other steps change; return None if it runs alone."""
    waiting = task.get("waiting")
    if not (task["is_shared"] or waiting):
        return None
    session = active_run.session
    shared = session.shared
    if shared is None:
        shared = session.shared = SharedFiles(session.workspace.root)
    space = str(config["configurable"].get("checkpoint_ns", ""))
    step_files = shared.get_step_files(space, task["title"])
    step_files.start(task["title"], waiting["files"] if waiting else {})
    call_watcher.set(step_files)
    return step_files


def _set_aside(task: StepTask, waiting: Waiting, space: str) -> Update:
    """Return the update of a step that waits for a person while other steps continue."""
    before = task.get("waiting")
    if before is None or before["asked_at"] != waiting["asked_at"]:
        question = waiting["question"]
        _emit_step(task["step"], "in_progress", "", task["executor"], task["spent"], question)
    return {"plan": StepChange(step=task["step"], waiting=waiting, space=space)}


def _end_step(task: StepTask, subagent: SubagentResult, files: list[str], space: str) -> Update:
    """Return the update of an ended step: `completed` only if its executor reports success."""
    usage = subagent.usage
    values = subagent.values
    spent = sum_usage(task["spent"], usage)
    status: StepStatus = "completed"
    notes = ""
    todo = "completed"
    if not subagent.succeeded:
        status = "blocked"
        notes = shorten(subagent.reason, MAX_REASON)
        todo = "pending"
    change = StepChange(
        step=task["step"],
        status=status,
        notes=notes,
        result=StepResult(
            text=shorten(subagent.output, MAX_RESULT),
            files=files,
            tokens=sum_tokens(usage),
            usage=spent,
            stop_reason=str(values.get("stop_reason") or ""),
            outside=subagent.exposure.untrusted,
            private=subagent.exposure.private,
            approved=list(values.get("approved") or []),
            refused=list(values.get("refused") or []),
        ),
        space=space,
    )
    if "waiting" in task:
        change["waiting"] = None
    _emit_step(task["step"], change["status"], notes, task["executor"], spent)
    # the flow counts the seconds itself: those of parallel steps would be counted repeatedly
    return {"plan": change, "todos": {task["step"]: todo}, "usage": {**usage, "seconds": 0.0}}


def _request(task: StepTask) -> HumanMessage:
    content: Any = task["request"]
    if task["images"]:
        content = [{"type": "text", "text": content}, *task["images"]]
    taint = request_fields(task.get("asked", ""), read_marks(task))
    return HumanMessage(content, additional_kwargs=taint)


def _changed_files(task: StepTask, active_run: ActiveRun, values: dict[str, Any]) -> list[str]:
    """Return the files that a step has created or changed, at most `MAX_FILES`. Blocking."""
    files = changed_since(active_run.session.workspace.root, task["began"])
    if not task["alone"]:
        files = find_mentioned(files, values.get("messages") or [])
    waiting = task.get("waiting")
    earlier = [*waiting["files"]] if waiting else []
    return sorted([*dict.fromkeys([*files, *earlier])][:MAX_FILES])
