"""think: compose the request, ask the model, append its message."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from manus.config.context import Context
from manus.execution.changed_files import next_tick
from manus.execution.siblings import Siblings
from manus.models.budget import usage_ledger
from manus.models.client import Reply
from manus.nodes.active_run import ActiveRun, active_run_of, used_in, waits_for_model
from manus.nodes.context.compaction import Past
from manus.nodes.context.turns import mend, replacing
from manus.nodes.exchange.environment_info import place_of
from manus.nodes.exchange.model_turn import ask_model, prepared
from manus.nodes.exchange.notes import notes_for
from manus.nodes.exchange.stop_conditions import end_of, last_text
from manus.prompts import render
from manus.state.agent import AgentState, Run
from manus.state.errors import BudgetError, ManusError, ModelUnavailableError
from manus.state.events import StatusEvent, StepEvent, ThoughtEvent
from manus.state.messages import calls_of, has_calls, last_request, since, text_of
from manus.state.usage import Spending, Usage, no_usage, summed
from manus.tools.mcp import load_mcp_tools
from manus.tools.python_execute import OWN_PYTHON, PYTHON
from manus.tools.skill import SKILL

Update = dict[str, Any]


async def think(state: AgentState, runtime: Runtime[Context], config: RunnableConfig) -> Update:
    """Ask the model for the next step."""
    active_run = active_run_of(config)
    tell = runtime.stream_writer
    active_run.session.siblings = Siblings(unfinished=None)
    if active_run.uses_mcp:
        await load_mcp_tools(active_run.catalog, active_run.session)
    begun = begin_step(state, active_run)
    run = begun["run"]
    stored = state.get("messages", [])
    if run["step"] == 1 and active_run.is_served:
        run["began"] = await next_tick()
    place = state.get("place", "")
    if run["step"] == 1 or not place:
        begun["place"] = place = await _place(place, active_run)
    system = render(active_run.profile.system_prompt, workspace=run["workspace"], place=place)
    lines: list[Spending] = []
    usage_ledger.set(lines)
    active_run.sync(begun["usage"])
    _tell_beginning(run, begun["usage"], tell)
    mended = mend(stored, active_run.session.journal.answer_to)
    past = Past(mended, state.get("compaction"), run["request_id"])
    notes = await notes_for(state, active_run, run, mended)
    try:
        reply = await ask_model(active_run, past, system, notes)
    except ModelUnavailableError as error:
        raise waits_for_model(error, active_run, config) from error
    except ManusError as error:
        used = used_in(lines, active_run, begun["usage"])
        update = _ended(error, state, run) | {"usage": used}
    else:
        message = prepared(reply.message, active_run.shown.ids, run, notes.choice)
        past.writes.append(message)
        used = used_in(lines, active_run, begun["usage"])
        status = "executing" if has_calls(message) else "thinking"
        update = {**notes.update, "usage": used, "status": status}
        tell(_thought(run, message, reply, used))
    if update["status"] != "thinking":
        stop_reason = update.get("stop_reason")
        tell(StatusEvent(type="status", status=update["status"], stop_reason=stop_reason))
    if past.compaction is not state.get("compaction"):
        update["compaction"] = past.compaction
    writes = past.writes if mended is stored else [*replacing(stored, mended), *past.writes]
    return {**begun, **update, "messages": writes}


async def _place(before: str, active_run: ActiveRun) -> str:
    own_python = None
    if active_run.catalog.find(PYTHON) is not None:
        own_python = bool(active_run.profile.extras.get(OWN_PYTHON))
    return await asyncio.to_thread(
        place_of,
        active_run.session.workspace,
        active_run.settings,
        before,
        skills=active_run.catalog.find(SKILL) is not None,
        own_python=own_python,
    )


def begin_step(state: AgentState, active_run: ActiveRun) -> AgentState:
    """The channels of the step that begins: of a new run if there is a new request."""
    request = last_request(state.get("messages", []))
    active_run.session.egress_guard.hear(state.get("messages", []))
    before = state.get("run")
    # what a caller may choose anew whenever a run goes on: the model is told what holds now
    chosen: Any = {
        "max_steps": active_run.max_steps,
        "workspace": str(active_run.session.workspace.root),
        "profile": active_run.profile.name,
    }
    own = (before["request_id"], before.get("guidance_id")) if before is not None else ()
    is_over = state.get("stop_reason") is not None
    if before is not None and request.id in own and not is_over:
        going_on: Run = {**before, **chosen, "step": before["step"] + 1}
        return {"run": going_on, "usage": state["usage"].copy()}
    run: Any = {"id": uuid.uuid4().hex[:12], "request_id": str(request.id), "step": 1, **chosen}
    begun: AgentState = {
        "run": run,
        "usage": no_usage(),
        "loop": None,
        "stop_reason": None,
        "success": None,
        "output": "",
    }
    for name in ("results", "spent", "trail"):
        if state.get(name):
            begun[name] = Overwrite([])  # type: ignore[typeddict-item]
    if active_run.approved or state.get("approved"):
        begun["approved"] = Overwrite(list(active_run.approved))  # type: ignore[typeddict-item]
    if active_run.refused or state.get("refused"):
        begun["refused"] = Overwrite(list(active_run.refused))  # type: ignore[typeddict-item]
    return begun


def _ended(error: ManusError, state: AgentState, run: Run) -> Update:
    """The end of a run whose model could not be asked, or whose budget has no room for it."""
    if not isinstance(error, BudgetError):
        return {"status": "error", "stop_reason": "error", "success": False, "output": str(error)}
    own = since(state.get("messages", []), run["request_id"])
    lines = state.get("results", []) if run["step"] > 1 else []
    return end_of("budget", None, last_text(own, lines), run["max_steps"], error.over)


def _tell_beginning(run: Run, usage: Usage, tell: Any) -> None:
    if run["step"] == 1:
        tell(StatusEvent(type="status", status="running", stop_reason=None))
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    step = run["step"]
    most = run["max_steps"]
    tell(StepEvent(type="step", step=step, max_steps=most, spent=summed(usage)))


def _thought(run: Run, message: AIMessage, reply: Reply, usage: Usage) -> ThoughtEvent:
    event = ThoughtEvent(
        type="thought",
        step=run["step"],
        text=text_of(message),
        calls=[{"id": c["id"], "name": c["name"], "args": c["args"]} for c in calls_of(message)],
        input_tokens=reply.used["input_tokens"],
        output_tokens=reply.used["output_tokens"],
        cached_tokens=reply.used["cached_tokens"],
        seconds=reply.seconds,
        spent=summed(usage),
    )
    if "cache_write_tokens" in reply.used:
        event["cache_write_tokens"] = reply.used["cache_write_tokens"]
    return event
