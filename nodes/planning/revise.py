"""Another plan in place of one that met an obstacle, or that a person did not approve."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.messages import HumanMessage

from manus.nodes.active_run import Running
from manus.nodes.planning.planner import (
    Executors,
    ask_planner,
    planner_request,
    revised_plan,
    with_executors,
)
from manus.nodes.planning.shares import ledger_of
from manus.nodes.planning.summary import without_model
from manus.nodes.turn.usage_recorder import Meter
from manus.prompts import flow as prompts
from manus.state.errors import ManusError
from manus.state.events import PlanChange, PlanEvent, StatusEvent
from manus.state.flow import FlowRun, FlowState, no_batch
from manus.state.messages import last_request, text_of
from manus.state.plan import as_text, shown_result
from manus.state.usage import add_usage, detailed, spent_so_far

Update = dict[str, Any]


async def revise_plan(
    state: FlowState, running: Running, executors: Executors, meter: Meter, tell: Any
) -> Update:
    """Ask for a revision of what is not completed. Without a usable one the plan stays as it is."""
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    present = state["plan"]
    running.purse.sync(state["usage"], meter.lines)
    running.purse.use(ledger_of(running, present, running.purse.used))
    update: Update = {
        "run": run_after(state["run"], approve=running.context.approve_plan),
        "batch": no_batch(),
        "status": "thinking",
    }
    request = planner_request(state, running, executors, HumanMessage(_question(state)))
    try:
        revised = await ask_planner(
            running, request, "update", partial(revised_plan, plan=present), tell
        )
    except ManusError as error:
        tell(StatusEvent(type="status", status="error", stop_reason="error"))
        said = f"The plan could not be revised: {error}\n\n{without_model(present)}"
        spent = add_usage(meter.usage(running.session.lap()), detailed(present))
        return {**update, **failed(said), "usage": spent}
    chosen = with_executors(revised or present, executors)
    usage = meter.usage(running.session.lap())
    spent_now = spent_so_far(add_usage(state["usage"], usage))
    why: PlanChange = "kept" if revised is None else "revised"
    tell(PlanEvent(type="plan", why=why, plan=chosen, spent=spent_now))
    return {**update, "plan": chosen, "usage": usage}


def run_after(run: FlowRun, *, approve: bool) -> FlowRun:
    """The run with this revision counted: as asked for by a person, or by a blocked step."""
    after = run.copy()
    if run["approval"] == "rejected":
        after["rejections"] += 1
    else:
        after["replans"] += 1
        after["replans_left"] -= 1
    wanted = approve or run["approval"] == "rejected"
    after["approval"] = "wanted" if wanted else "not_needed"
    after["reason"] = ""
    return after


def _question(state: FlowState) -> str:
    run, present = state["run"], state["plan"]
    request = last_request(state["messages"])
    steps = present["steps"]
    if run["approval"] == "rejected":
        why = prompts.rejected(run["reason"])
    else:
        failures = [
            f"{i}. {steps[i]['text']}: {steps[i]['notes']}" for i in state["batch"]["failed"]
        ]
        why = prompts.blocked(failures)
    return prompts.revise(
        text_of(request) if request is not None else "",
        as_text(present),
        [shown_result(index, step) for index, step in enumerate(steps) if step["result"]],
        why,
    )


def failed(said: str) -> Update:
    """The end of a run whose model could not be asked."""
    return {"status": "error", "stop_reason": "error", "success": False, "output": said}
