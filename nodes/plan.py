"""plan: make the plan of a request, have it approved, revise it."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, interrupt

from manus.models.recording import ephemeral
from manus.nodes.active_run import Running, running_of
from manus.nodes.planning.approval import Decision, read_decision
from manus.nodes.planning.planner import (
    Executors,
    ask_planner,
    default_plan,
    new_plan,
    planner_request,
    with_executors,
)
from manus.nodes.planning.revise import failed, revise_plan
from manus.nodes.turn.usage_recorder import Meter, metered
from manus.prompts import flow as prompts
from manus.state.agent import no_usage
from manus.state.context import Context
from manus.state.errors import ManusError, PlanError
from manus.state.events import PlanChange, PlanEvent, StatusEvent
from manus.state.flow import FlowRun, FlowState, no_batch
from manus.state.messages import last_request, text_of
from manus.state.plan import Plan, as_text
from manus.state.usage import spent_so_far

MOST_REJECTIONS = 5
"""How often a person can ask for another plan before the run ends without one."""
_TITLE = 60

Update = dict[str, Any]


async def plan(
    state: FlowState, runtime: Runtime[Context], config: RunnableConfig, *, executors: Executors
) -> Update:
    """Make a plan for a new request; have it approved; revise it when a step was blocked."""
    running = running_of(config)
    tell = runtime.stream_writer
    if not is_new(state) and state["run"]["approval"] == "wanted":
        return _approved(state, running, tell)
    with metered(running, runtime) as meter:
        if is_new(state):
            return await _make(state, running, executors, meter, tell)
        return await revise_plan(state, running, executors, meter, tell)


def is_new(state: FlowState) -> bool:
    """Whether the newest request has no run yet."""
    request, run = last_request(state.get("messages", [])), state.get("run")
    if run is None or state.get("stop_reason") is not None:
        return True
    return request is not None and run["request_id"] != request.id


async def _make(
    state: FlowState, running: Running, executors: Executors, meter: Meter, tell: Any
) -> Update:
    """A plan for the newest request; the one before it is put with the earlier ones."""
    tell(StatusEvent(type="status", status="running", stop_reason=None))
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    running.takes_edits = True
    running.purse.sync(no_usage(), meter.lines)
    before = state.get("plan")
    earlier = {before["id"]: before} if before else {}
    begun = {**_begin(state, running, executors), "plans": earlier}
    title, taken = _title(state), [*state.get("plans", {}), *earlier]
    request = planner_request(state, running, executors, ephemeral(prompts.PLAN_NOW))
    build = partial(new_plan, title=title, taken=taken)
    try:
        made = await ask_planner(running, request, "create", build, tell)
    except ManusError as error:
        tell(StatusEvent(type="status", status="error", stop_reason="error"))
        spent = Overwrite(meter.usage(running.session.lap()))
        return {**begun, "plan": Overwrite({}), **failed(str(error)), "usage": spent}
    chosen = with_executors(made or default_plan(title, taken), executors)
    usage = meter.usage(running.session.lap())
    why: PlanChange = "default" if made is None else "made"
    tell(PlanEvent(type="plan", why=why, plan=chosen, spent=spent_so_far(usage)))
    return {**begun, "plan": chosen, "usage": Overwrite(usage)}


def _begin(state: FlowState, running: Running, executors: Executors) -> Update:
    """The channels of a run that begins."""
    request = last_request(state.get("messages", []))
    run = FlowRun(
        id=uuid.uuid4().hex[:12],
        request_id=str(request.id) if request is not None else "",
        workspace=str(running.session.workspace.root),
        executors=list(executors),
        replans=0,
        replans_left=running.context.max_replans,
        approval="wanted" if running.context.approve_plan else "not_needed",
        reason="",
        rejections=0,
    )
    return {
        "run": run,
        "batch": no_batch(),
        "status": "thinking",
        "stop_reason": None,
        "success": None,
        "output": "",
        "results": [],
        "usage": Overwrite(no_usage()),
    }


def _title(state: FlowState) -> str:
    request = last_request(state.get("messages", []))
    said = text_of(request).strip() if request is not None else ""
    first = said.splitlines()[0] if said else prompts.DEFAULT_TITLE
    return first if len(first) <= _TITLE else first[: _TITLE - 1] + "…"


def _approved(state: FlowState, running: Running, tell: Any) -> Update:
    """What a person decides about the plan."""
    run, present = state["run"], state["plan"]
    decision = _decision(present, running)
    if decision.kind == "cancel":
        return _cancelled(present, prompts.CANCELLED, tell)
    if decision.kind == "reject" and run["rejections"] >= MOST_REJECTIONS:
        return _cancelled(present, prompts.REJECTED_OFTEN, tell)
    if decision.kind == "reject":
        return {"run": {**run, "approval": "rejected", "reason": decision.reason}}
    given: Update = {"run": {**run, "approval": "given"}}
    if decision.kind == "approve":
        return given
    spent = spent_so_far(state["usage"])
    tell(PlanEvent(type="plan", why="edited", plan=decision.plan, spent=spent))
    return {**given, "plan": decision.plan}


def _decision(present: Plan, running: Running) -> Decision:
    """The person's decision; asked again while the answer cannot be understood."""
    question = prompts.approve(as_text(present))
    while True:
        try:
            answer = interrupt({"kind": "plan", "question": question, "plan": present})
        except GraphBubbleUp:
            running.session.waiting = True
            raise
        try:
            return read_decision(answer, present)
        except PlanError as error:
            question = f"{error}\n\n{prompts.approve(as_text(present))}"


def _cancelled(present: Plan, why: str, tell: Any) -> Update:
    tell(StatusEvent(type="status", status="idle", stop_reason="plan_incomplete"))
    return {
        "status": "idle",
        "stop_reason": "plan_incomplete",
        "success": False,
        "output": f"{why}\n\n{as_text(present)}",
    }
