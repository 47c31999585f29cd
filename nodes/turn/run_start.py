"""The beginning of a step: it goes on with the run, or is the first of a new one."""

from __future__ import annotations

import uuid

from langchain_core.messages import HumanMessage
from langgraph.types import Overwrite

from manus.nodes.active_run import Running
from manus.state.agent import AgentState, Run, StopReason, no_usage
from manus.state.messages import last_request


def begin_step(state: AgentState, running: Running) -> AgentState:
    """The channels of the step that begins: of a new run if there is a new request."""
    request = last_request(state.get("messages", []))
    run = state.get("run")
    if run is not None and goes_on(run, request, state.get("stop_reason")):
        # what a caller may choose anew whenever a run goes on: the model is told what holds now
        going_on: Run = {
            **run,
            "step": run["step"] + 1,
            "max_steps": running.max_steps,
            "workspace": _place(running),
            "profile": running.profile.name,
        }
        return {"run": going_on, "usage": state["usage"].copy()}
    begun = begin_run(request, running)
    for name in ("earlier", "spent", "trail"):
        if state.get(name):
            begun[name] = Overwrite([])  # type: ignore[typeddict-item]
    return begun


def begin_run(request: HumanMessage | None, running: Running) -> AgentState:
    """The channels of a new run, with nothing left in them of the one before."""
    new = Run(
        id=uuid.uuid4().hex[:12],
        request_id=str(request.id) if request is not None else "",
        step=1,
        max_steps=running.max_steps,
        workspace=_place(running),
        profile=running.profile.name,
    )
    return {
        "run": new,
        "usage": no_usage(),
        "loop": None,
        "stop_reason": None,
        "success": None,
        "output": "",
        "results": [],
    }


def _place(running: Running) -> str:
    return str(running.session.workspace.root)


def goes_on(run: Run, request: HumanMessage | None, stop_reason: StopReason | None) -> bool:
    """Whether the run is still the one of the newest request, and has not ended."""
    own = (run["request_id"], run.get("guidance_id"))
    return stop_reason is None and request is not None and request.id in own
