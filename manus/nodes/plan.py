"""plan: make the plan of a request, have it approved, revise it."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from manus.config.context import Context
from manus.models.budget import usage_ledger
from manus.nodes.active_run import ActiveRun, active_run_of, used_in, waits_for_model
from manus.nodes.planning.approval import ask_for_approval
from manus.nodes.planning.planner import Executors, ask_planner, compact_thread
from manus.nodes.summarize import without_model
from manus.prompts import flow as prompts
from manus.state.agent import StopReason
from manus.state.errors import ManusError, ModelUnavailableError
from manus.state.events import PlanChange, PlanEvent, StatusEvent
from manus.state.flow import FlowRun, FlowState, used_so_far
from manus.state.messages import ephemeral, last_request, text_of
from manus.state.plan import Plan, as_text, shown_result, to_revise
from manus.state.plan_changes import NewStep, create, revise
from manus.state.text import shortened
from manus.state.todos import todos_of
from manus.state.usage import Spending, add_usage, budget_used_up, no_usage, summed
from manus.tools.planning import PlanningArgs

_TITLE = 60

Update = dict[str, Any]


async def plan(
    state: FlowState, runtime: Runtime[Context], config: RunnableConfig, *, executors: Executors
) -> Update:
    """Make a plan for a new request; have it approved; revise it when a step was blocked."""
    active_run = active_run_of(config)
    tell = runtime.stream_writer
    new = is_new(state) or not state.get("plan")
    if not new and state["run"]["approval"] == "wanted":
        return _approved(state, active_run)
    if new:
        tell(StatusEvent(type="status", status="running", stop_reason=None))
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    used = no_usage() if new else used_so_far(state)
    lines: list[Spending] = []
    usage_ledger.set(lines)
    active_run.sync(used)
    try:
        update, why = await (_make if new else _revise)(state, active_run, executors)
    except ModelUnavailableError as error:
        raise waits_for_model(error, active_run, config) from error
    spent = used_in(lines, active_run)
    update["usage"] = Overwrite(spent) if new else spent
    if why is not None:
        chosen = update["plan"].value if "plan" in update else state["plan"]
        total = summed(add_usage(used, spent))
        tell(PlanEvent(type="plan", why=why, plan=chosen, spent=total))
    return update


def is_new(state: FlowState) -> bool:
    """Whether the newest request has no run yet."""
    request = last_request(state.get("messages", []))
    run = state.get("run")
    if run is None or state.get("stop_reason") is not None:
        return True
    return run["request_id"] != request.id


Planned = tuple[Update, PlanChange | None]
"""What changes, and where the plan comes from; None where it could not be made."""


async def _make(state: FlowState, active_run: ActiveRun, executors: Executors) -> Planned:
    """A plan for the newest request; the one before it is put with the earlier ones."""
    before = state.get("plan")
    earlier = {before["id"]: before} if before else {}
    state, shorter = await compact_thread(state, active_run, executors)
    begun = {**_begin(state, active_run, executors), "plans": earlier, **shorter}
    title = _title(state)
    taken = [*state.get("plans", {}), *earlier]

    def make(args: PlanningArgs, steps: list[NewStep]) -> Plan:
        return create(_free(args.plan_id or "plan", taken), args.title or title, steps)

    try:
        made = await ask_planner(state, active_run, executors, ephemeral(prompts.PLAN_NOW), make)
    except ModelUnavailableError:
        raise
    except ManusError as error:
        return {**begun, **_ended("error", str(error)), "plan": Overwrite({}), "todos": []}, None
    default = [NewStep(text=text) for text in prompts.DEFAULT_STEPS]
    chosen = made or create(_free("plan", taken), title, default)
    return {**begun, **_written(chosen)}, "made" if made else "default"


def _written(chosen: Plan) -> Update:
    return {"plan": Overwrite(chosen), "todos": todos_of(chosen)}


def _begin(state: FlowState, active_run: ActiveRun, executors: Executors) -> Update:
    """The channels of a run that begins."""
    run = FlowRun(
        id=uuid.uuid4().hex[:12],
        request_id=str(last_request(state["messages"]).id),
        workspace=str(active_run.session.workspace.root),
        executors=list(executors),
        replans_left=active_run.context.max_replans,
        revised=[],
        approval="wanted" if active_run.context.approve_plan else "not_needed",
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
    said = text_of(last_request(state["messages"])).strip()
    return shortened(said.splitlines()[0] if said else prompts.DEFAULT_TITLE, _TITLE)


def _free(plan_id: str, taken: list[str]) -> str:
    """The id, or one like it that no other plan has."""
    number = 2
    free = plan_id
    while free in taken:
        number, free = number + 1, f"{plan_id}_{number}"
    return free


def _approved(state: FlowState, active_run: ActiveRun) -> Update:
    """What a person decides about the plan."""
    run = state["run"]
    present = state["plan"]
    decision = ask_for_approval(present, active_run)
    if decision.kind == "cancel":
        return _ended("plan_incomplete", prompts.CANCELLED)
    if decision.kind == "reject":
        return {"run": {**run, "approval": "rejected", "reason": decision.reason}}
    given: Update = {"run": {**run, "approval": "given"}}
    if decision.kind == "approve":
        return given
    spent = summed(state["usage"])
    get_stream_writer()(PlanEvent(type="plan", why="edited", plan=decision.plan, spent=spent))
    return {**given, **_written(decision.plan)}


async def _revise(state: FlowState, active_run: ActiveRun, executors: Executors) -> Planned:
    """Ask for a revision of what is not completed. Without a usable one the plan stays as it is."""
    present = state["plan"]
    revised = None
    update: Update = {
        "run": _run_after(state, approve=active_run.context.approve_plan),
        "status": "thinking",
    }

    def make(args: PlanningArgs, steps: list[NewStep]) -> Plan:
        return revise(present, steps, args.title)

    try:
        if budget_used_up(active_run.budget.limits, used_so_far(state)) is None:
            question = HumanMessage(_question(state))
            revised = await ask_planner(state, active_run, executors, question, make)
    except ModelUnavailableError:
        raise
    except ManusError as error:
        said = f"The plan could not be revised: {error}\n\n{without_model(present)}"
        return {**update, **_ended("error", said)}, None
    if revised is None:
        return update, "kept"
    update["run"]["revised"] = _blocked(revised)  # of one text another may come to be blocked
    return {**update, **_written(revised)}, "revised"


def _run_after(state: FlowState, *, approve: bool) -> FlowRun:
    """The run after this revision, which a person has asked for, or a blocked step."""
    run = state["run"].copy()
    rejected = run["approval"] == "rejected"
    if not rejected:
        run["replans_left"] -= 1
        run["revised"] = _blocked(state["plan"])
    run["approval"] = "wanted" if approve or rejected else "not_needed"
    run["reason"] = ""
    return run


def _blocked(plan: Plan) -> list[str]:
    return [step["text"] for step in plan["steps"] if step["status"] == "blocked"]


def _question(state: FlowState) -> str:
    run = state["run"]
    present = state["plan"]
    steps = present["steps"]
    if run["approval"] == "rejected":
        why = prompts.rejected(run["reason"])
    else:
        places = to_revise(present, run["revised"])
        why = prompts.blocked([f"{i}. {steps[i]['text']}" for i in places])
    return prompts.revise(
        text_of(last_request(state["messages"])),
        as_text(present),
        [shown_result(index, step) for index, step in enumerate(steps) if step["result"]],
        why,
    )


def _ended(reason: StopReason, said: str) -> Update:
    """The end of a run that has no plan to carry out."""
    status = "error" if reason == "error" else "idle"
    get_stream_writer()(StatusEvent(type="status", status=status, stop_reason=reason))  # type: ignore[typeddict-item]
    return {"status": status, "stop_reason": reason, "success": False, "output": said}
