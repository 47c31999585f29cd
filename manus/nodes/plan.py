"""plan: create the plan of a request, have it approved, revise it."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from manus.config.context import Context
from manus.nodes.active_run import ActiveRun, get_active_run, model_interrupt
from manus.nodes.inbox import announce_messages, receive_messages
from manus.nodes.lost_calls import report_lost_calls
from manus.nodes.planning.approval import ask_for_approval
from manus.nodes.planning.planner import Executors, ask_planner, compact_thread
from manus.nodes.summarize import summarize_without_model
from manus.prompts import flow as prompts
from manus.state.endings import ENDINGS, StopReason
from manus.state.errors import ManusError, ModelUnavailableError
from manus.state.events import PlanChange, PlanEvent, StatusEvent
from manus.state.flow import FlowRun, FlowState, total_usage
from manus.state.history import close_history
from manus.state.messages import ephemeral, get_text, last_request
from manus.state.plan import (
    Plan,
    describe_order,
    format_plan,
    format_result,
    list_todos,
    steps_to_revise,
)
from manus.state.plan_changes import NewStep, create, replace_step, revise
from manus.state.request import full_request
from manus.state.text import shorten
from manus.state.usage import add_usage, budget_used_up, no_usage, sum_usage
from manus.tools.planning import PlanningArgs

_MAX_TITLE = 60

Update = dict[str, Any]


async def plan(
    state: FlowState, runtime: Runtime[Context], config: RunnableConfig, *, executors: Executors
) -> Update:
    """Create a plan for a new request, ask for its approval, revise it when a step is blocked."""
    active_run = get_active_run(config)
    emit = runtime.stream_writer
    is_first = is_new(state) or not state.get("plan")
    if not is_first and state["run"]["approval"] == "wanted":
        return _ask_for_approval(state, active_run)
    state, received = await receive_messages(state, active_run.inbox)
    await report_lost_calls(active_run.session, state)
    active_run.announce_restored_files(emit)
    announce_messages(received, emit)
    usage = total_usage(state)
    is_carried = state.get("run") is None and bool(state.get("usage"))
    if is_first:
        usage = state["usage"] if is_carried else no_usage()
        emit(StatusEvent(type="status", status="running", stop_reason=None))
    emit(StatusEvent(type="status", status="thinking", stop_reason=None))
    entries = active_run.ledger.start(usage)
    make_update = _create_plan if is_first else _revise_plan
    try:
        update, origin = await make_update(state, active_run, executors)
    except ModelUnavailableError as error:
        raise model_interrupt(error, active_run, config) from error
    if received:
        update["messages"] = [*received, *update.get("messages", [])]
    new_usage = active_run.ledger.count(entries)
    # usage from before a rewind to the start of the run still counts
    update["usage"] = Overwrite(new_usage) if is_first and not is_carried else new_usage
    if origin is not None:
        current = update["plan"].value if "plan" in update else state["plan"]
        spent = sum_usage(add_usage(usage, new_usage))
        emit(PlanEvent(type="plan", why=origin, plan=current, spent=spent))
    return update


def is_new(state: FlowState) -> bool:
    """Return whether the newest request has no run yet."""
    request = last_request(state.get("messages", []))
    run = state.get("run")
    if run is None or state.get("stop_reason") is not None:
        return True
    return run["request_id"] != request.id


PlanUpdate = tuple[Update, PlanChange | None]
"""A state update, and the origin of its plan; None if there is no plan."""


async def _create_plan(state: FlowState, active_run: ActiveRun, executors: Executors) -> PlanUpdate:
    """Return the update with a plan for the newest request; keep the previous one in `plans`."""
    previous = state.get("plan")
    earlier = {previous["id"]: previous} if previous else {}
    state, compaction_update = await compact_thread(state, active_run, executors)
    start = {**_start_run(state, active_run, executors), "plans": earlier, **compaction_update}
    title = _title(state)
    existing_ids = [*state.get("plans", {}), *earlier]

    def build_plan(args: PlanningArgs, steps: list[NewStep]) -> Plan:
        plan_id = _unused_id(args.plan_id or "plan", existing_ids)
        return create(plan_id, args.title or title, steps)

    question = ephemeral(prompts.PLAN_NOW)
    try:
        planned = await ask_planner(state, active_run, executors, question, build_plan)
    except ModelUnavailableError:
        raise
    except ManusError as error:
        end = _end_run(state, "error", str(error))
        end["messages"] = [*compaction_update.get("messages", []), *end["messages"]]
        return {**start, **end, "plan": Overwrite({}), "todos": []}, None
    if planned is not None:
        return {**start, **_plan_update(planned)}, "made"
    default_steps = [NewStep(text=text) for text in prompts.DEFAULT_STEPS]
    default = create(_unused_id("plan", existing_ids), title, default_steps)
    return {**start, **_plan_update(default)}, "default"


def _plan_update(new: Plan) -> Update:
    return {"plan": Overwrite(new), "todos": list_todos(new)}


def _start_run(state: FlowState, active_run: ActiveRun, executors: Executors) -> Update:
    """Return the state channels of a new run."""
    run = FlowRun(
        id=uuid.uuid4().hex[:12],
        request_id=str(last_request(state["messages"]).id),
        workspace=str(active_run.session.workspace.root),
        executors=list(executors),
        replans_left=active_run.settings.max_replans,
        revised=[],
        approval="wanted" if active_run.settings.approve_plan else "not_needed",
        reason="",
    )
    return {
        "run": run,
        "status": "thinking",
        "stop_reason": None,
        "success": None,
        "output": "",
        "results": [],
    }


def _title(state: FlowState) -> str:
    request = get_text(last_request(state["messages"])).strip()
    lines = request.splitlines() or [prompts.DEFAULT_TITLE]
    return shorten(lines[0], _MAX_TITLE)


def _unused_id(plan_id: str, existing_ids: list[str]) -> str:
    """Return the id, with a numeric suffix if another plan has it."""
    number = 2
    unused = plan_id
    while unused in existing_ids:
        unused = f"{plan_id}_{number}"
        number += 1
    return unused


def _ask_for_approval(state: FlowState, active_run: ActiveRun) -> Update:
    """Ask a person to approve the plan and return the update with the decision."""
    run = state["run"]
    decision = ask_for_approval(state["plan"], active_run)
    if decision.kind == "cancel":
        return _end_run(state, "plan_incomplete", prompts.CANCELLED)
    if decision.kind == "reject":
        return {"run": {**run, "approval": "rejected", "reason": decision.reason}}
    update: Update = {"run": {**run, "approval": "given"}}
    if decision.kind == "approve":
        return update
    spent = sum_usage(state["usage"])
    get_stream_writer()(PlanEvent(type="plan", why="edited", plan=decision.plan, spent=spent))
    return {**update, **_plan_update(decision.plan)}


async def _revise_plan(state: FlowState, active_run: ActiveRun, executors: Executors) -> PlanUpdate:
    """Return the update with a revision of the unfinished steps; without one the plan stays."""
    current = state["plan"]
    revised = None
    update: Update = {
        "run": _count_revision(state, approve=active_run.settings.approve_plan),
        "status": "thinking",
    }

    def build_plan(args: PlanningArgs, steps: list[NewStep]) -> Plan:
        if args.step_index is not None:
            steps = replace_step(current, args.step_index, steps)
        return revise(current, steps, args.title)

    try:
        if budget_used_up(active_run.ledger.limits, total_usage(state)) is None:
            question = HumanMessage(_question(state))
            revised = await ask_planner(state, active_run, executors, question, build_plan)
    except ModelUnavailableError:
        raise
    except ManusError as error:
        output = f"The plan could not be revised: {error}\n\n{summarize_without_model(current)}"
        return {**update, **_end_run(state, "error", output)}, None
    if revised is None:
        return update, "kept"
    # a new step may have the text of a blocked one
    update["run"]["revised"] = _blocked_texts(revised)
    return {**update, **_plan_update(revised)}, "revised"


def _count_revision(state: FlowState, *, approve: bool) -> FlowRun:
    """Return the run after a revision that a person or a blocked step has caused."""
    run = state["run"].copy()
    is_rejected = run["approval"] == "rejected"
    is_steered = run.pop("message", None) is not None
    if not (is_rejected or is_steered):
        run["replans_left"] -= 1
        run["revised"] = _blocked_texts(state["plan"])
    run["approval"] = "wanted" if approve or is_rejected else "not_needed"
    run["reason"] = ""
    return run


def _blocked_texts(current: Plan) -> list[str]:
    return [step["text"] for step in current["steps"] if step["status"] == "blocked"]


def _question(state: FlowState) -> str:
    """Return the request to revise the plan, with the results and the reason."""
    run = state["run"]
    current = state["plan"]
    steps = current["steps"]
    if run["approval"] == "rejected":
        reason = prompts.rejected(run["reason"])
    elif "message" in run:
        reason = prompts.steered(run["message"])
    else:
        indexes = steps_to_revise(current, run["revised"])
        reason = prompts.blocked([f"{index}. {steps[index]['text']}" for index in indexes])
    request = full_request(state["messages"])
    results = [format_result(index, step) for index, step in enumerate(steps) if step["result"]]
    order = "\n".join(describe_order(index, step) for index, step in enumerate(steps))
    return prompts.revise(request, f"{format_plan(current)}\n\nOrder:\n{order}", results, reason)


def _end_run(state: FlowState, reason: StopReason, output: str) -> Update:
    """Return the update that ends a run without a plan to execute."""
    status = ENDINGS[reason].status
    get_stream_writer()(StatusEvent(type="status", status=status, stop_reason=reason))
    messages = close_history(state.get("messages", []), output)
    end = {"status": status, "stop_reason": reason, "success": False, "output": output}
    return {**end, "messages": messages}
