"""think: compose the request, ask the model, append its reply."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite

from manus.calls.changed_files import next_tick
from manus.calls.on_demand import described_tools
from manus.calls.siblings import Siblings
from manus.config.context import Context
from manus.models.client import Reply
from manus.nodes.active_run import ActiveRun, get_active_run, model_interrupt
from manus.nodes.compaction import ThreadHistory
from manus.nodes.environment_info import describe_environment
from manus.nodes.inbox import (
    announce_messages,
    ask_about_held_files,
    forget_loop,
    receive_messages,
)
from manus.nodes.lost_calls import report_lost_calls
from manus.nodes.model_request import ask_model, prepare_reply
from manus.nodes.notes import StepNotes, build_notes
from manus.nodes.stop_conditions import final_update, last_text
from manus.nodes.turns import replacement_writes
from manus.nodes.wrapping import ModelAnswer, ModelStep
from manus.state.agent import AgentState, Run
from manus.state.errors import BudgetError, ManusError, ModelUnavailableError
from manus.state.events import StatusEvent, StepEvent, ThoughtEvent
from manus.state.history import close_history, messages_since, without_closings
from manus.state.messages import get_text, has_calls, list_calls
from manus.state.usage import Usage, no_usage, sum_usage
from manus.tools.bash import BASH
from manus.tools.mcp import load_mcp_tools
from manus.tools.python_execute import OWN_PYTHON, PYTHON

Update = dict[str, Any]


async def think(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> Update | list[Any]:
    """Ask the model for the next step and append its message to the history."""
    active_run = get_active_run(config)
    emit = runtime.stream_writer
    await ask_about_held_files(active_run.session)
    if active_run.uses_mcp:
        await load_mcp_tools(active_run.catalog, active_run.session)
    received: list[AnyMessage] = []
    if active_run.inbox is not None and not active_run.inbox.is_known_empty():
        state, received = await receive_messages(state, active_run.inbox)
    start = {**start_step(state, active_run), **(forget_loop() if received else {})}
    run = start["run"]
    environment = state.get("place", "")
    if run["step"] == 1 or not environment:
        environment = start["place"] = await _describe_environment(environment, active_run)
    if run["step"] == 1 and active_run.is_served:
        run["began"] = await next_tick()
    entries = active_run.ledger.start(start["usage"])
    _emit_start(active_run, run, start["usage"], received, emit)
    stored = state.get("messages", [])
    messages = active_run.history_repair.repair(stored)
    repairs = [] if messages is stored else replacement_writes(stored, messages)
    await report_lost_calls(active_run.session, {**state, "messages": messages})
    visible = without_closings(messages)
    is_tight = run["step"] == 1 and active_run.settings.compact
    history = ThreadHistory(visible, state.get("compaction"), run["request_id"], is_tight)
    notes = await build_notes(state, active_run, run, visible)
    try:
        answer = await _ask(state, runtime, active_run, run, history, environment, notes)
    except ModelUnavailableError as error:
        raise model_interrupt(error, active_run, config) from error
    except ManusError as error:
        commands: list[Command[Any]] = []
        usage = active_run.ledger.count(entries, start["usage"])
        update = _end_run(error, state, run)
        history.writes += close_history(history.messages, update["output"])
    else:
        commands = answer.commands
        history.writes += answer.messages
        usage = active_run.ledger.count(entries, start["usage"])
        update = {**notes.update, **_take_answer(answer, run, usage, active_run, emit)}
    if (status := update["status"]) != "thinking":
        emit(StatusEvent(type="status", status=status, stop_reason=update.get("stop_reason")))
    if history.compaction is not state.get("compaction"):
        update["compaction"] = history.compaction
    writes = [*received, *repairs, *history.writes]
    update = {**start, **update, "usage": usage, "messages": writes}
    return [update, *commands] if commands else update


async def _ask(
    state: AgentState,
    runtime: Runtime[Context],
    active_run: ActiveRun,
    run: Run,
    history: ThreadHistory,
    environment: str,
    notes: StepNotes,
) -> ModelAnswer:
    """Return the answer of the model, or that of the middleware around it."""
    options = active_run.agent_options
    system: str | SystemMessage = options.system_message or active_run.render_system(
        workspace=run["workspace"], place=environment
    )
    if active_run.catalog.on_demand_names:
        active_run.session.described = described_tools(history.messages)
    prepare = partial(prepare_reply, active_run=active_run, run=run, tool_choice=notes.choice)
    if options.wrappers is None:
        reply = await ask_model(active_run, history, system, notes)
        return ModelAnswer(reply, [prepare(reply.message)])
    step = ModelStep(active_run, history, system, notes, state, runtime, prepare)
    return await options.wrappers.ask_model(step)


async def _describe_environment(before: str, active_run: ActiveRun) -> str:
    own_python = None
    has_python = active_run.catalog.find(PYTHON) is not None
    if has_python:
        own_python = bool(active_run.settings.profile.extras.get(OWN_PYTHON))
    return await asyncio.to_thread(
        describe_environment,
        active_run.session.workspace,
        active_run.settings,
        before,
        tools=active_run.catalog,
        own_python=own_python,
        runs_programs=has_python or active_run.catalog.find(BASH) is not None,
    )


def start_step(state: AgentState, active_run: ActiveRun) -> AgentState:
    """Return the state channels of a new step, which starts a new run if the request is new."""
    facts = active_run.facts
    facts.read(state.get("messages", []))
    request = facts.request
    active_run.session.egress_guard.words = facts.words
    before = state.get("run")
    # a caller may change these on resume: the model sees the current values
    current: Any = {
        "max_steps": active_run.settings.max_steps,
        "workspace": str(active_run.session.workspace.root),
        "profile": active_run.settings.profile.name,
    }
    if before is not None and _is_under_way(state, before, request):
        resumed: Run = {**before, **current, "step": before["step"] + 1}
        return {"run": resumed, "usage": state["usage"].copy()}
    run: Any = {"id": uuid.uuid4().hex[:12], "request_id": str(request.id), "step": 1, **current}
    # usage from before a rewind to the start of the run still counts
    carried = state.get("usage") if before is None else None
    start: AgentState = {
        "run": run,
        "usage": carried or no_usage(),
        "loop": None,
        "stop_reason": None,
        "success": None,
        "output": "",
    }
    for name in ("results", "spent", "trail"):
        if state.get(name):
            start[name] = Overwrite([])  # type: ignore[typeddict-item]
    if active_run.approved or state.get("approved"):
        start["approved"] = Overwrite(list(active_run.approved))  # type: ignore[typeddict-item]
    if active_run.refused or state.get("refused"):
        start["refused"] = Overwrite(list(active_run.refused))  # type: ignore[typeddict-item]
    return start


def start_if_new(state: AgentState, active_run: ActiveRun) -> AgentState:
    """Return the channels of a run that a hook takes past its first step, otherwise nothing."""
    run = state.get("run")
    facts = active_run.facts
    facts.read(state.get("messages", []))
    if run is not None and _is_under_way(state, run, facts.request):
        return {}
    return start_step(state, active_run)


def _is_under_way(state: AgentState, run: Run, request: HumanMessage) -> bool:
    """Return whether the newest request is that of a run that has not ended."""
    if state.get("stop_reason") is not None:
        return False
    # a middleware may have replaced the request with a summary
    return not request.id or request.id in (run["request_id"], run.get("guidance_id"))


def _end_run(error: ManusError, state: AgentState, run: Run) -> Update:
    """Return the update that ends a run whose model failed or whose budget is used up."""
    if not isinstance(error, BudgetError):
        return {"status": "error", "stop_reason": "error", "success": False, "output": str(error)}
    messages = messages_since(state.get("messages", []), run["request_id"])
    lines = state.get("results", []) if run["step"] > 1 else []
    text = last_text(messages, lines)
    return final_update("budget", None, text, run["max_steps"], error.over)


def _take_answer(
    answer: ModelAnswer, run: Run, usage: Usage, active_run: ActiveRun, emit: Any
) -> Update:
    """Return the update of an answer, after emitting its event; prepare for its calls."""
    message = answer.reply.message
    if len(message.tool_calls) + len(message.invalid_tool_calls) > 1:
        active_run.session.siblings = Siblings(unfinished=None)
    emit(_thought(run, message, answer.reply, usage))
    return {**answer.update, "status": "executing" if has_calls(message) else "thinking"}


def _emit_start(
    active_run: ActiveRun, run: Run, usage: Usage, received: list[AnyMessage], emit: Any
) -> None:
    step = run["step"]
    if step == 1:
        emit(StatusEvent(type="status", status="running", stop_reason=None))
    emit(StatusEvent(type="status", status="thinking", stop_reason=None))
    emit(StepEvent(type="step", step=step, max_steps=run["max_steps"], spent=sum_usage(usage)))
    if active_run.files_event is not None:
        active_run.announce_restored_files(emit)
    if received:
        announce_messages(received, emit)


def _thought(run: Run, message: AIMessage, reply: Reply, usage: Usage) -> ThoughtEvent:
    calls: Any = []
    for call in list_calls(message):
        calls.append({"id": call["id"], "name": call["name"], "args": call["args"]})
    event = ThoughtEvent(
        type="thought",
        step=run["step"],
        text=get_text(message),
        calls=calls,
        input_tokens=reply.used["input_tokens"],
        output_tokens=reply.used["output_tokens"],
        cached_tokens=reply.used["cached_tokens"],
        seconds=reply.seconds,
        spent=sum_usage(usage),
    )
    if "cache_write_tokens" in reply.used:
        event["cache_write_tokens"] = reply.used["cache_write_tokens"]
    return event
