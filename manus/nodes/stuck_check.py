"""stuck_check: count the step, detect loops, and decide whether the run ends; finish: end it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, StreamWriter, interrupt
from pydantic import TypeAdapter

from manus.calls.catalog import Catalog
from manus.calls.changed_files import MAX_FILES, changed_since
from manus.config.context import Context
from manus.nodes.active_run import ActiveRun, get_active_run
from manus.nodes.inbox import has_unread
from manus.nodes.loop_detection import NewestStep, find_loop, newest_step, next_loop
from manus.nodes.stop_conditions import (
    final_update,
    find_stop_reason,
    format_step,
    is_sent_back,
    last_text,
)
from manus.nodes.think import start_if_new
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Loop, Run
from manus.state.endings import ENDINGS, StopReason
from manus.state.events import LoopEvent, StatusEvent
from manus.state.history import close_history, messages_since
from manus.state.messages import (
    call_facts,
    get_text,
    last_assistant,
    list_calls,
    newest_answers,
)
from manus.state.usage import Usage, no_usage

Update = dict[str, Any]


async def stuck_check(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> Update:
    """Count the newest step, and end the run or warn the model if it is stuck in a loop."""
    active_run = get_active_run(config)
    if active_run.agent_options.wrappers is None:
        return await _check(state, runtime, active_run)
    started: Update = {**start_if_new(state, active_run)}
    cleared = {name for name, value in started.items() if isinstance(value, Overwrite)}
    state = cast(AgentState, {**state, **started, **{name: [] for name in cleared}})
    update = await _check(state, runtime, active_run)
    for name in cleared & update.keys():
        update[name] = Overwrite(update[name])
    return {**started, **update}


async def _check(state: AgentState, runtime: Runtime[Context], active_run: ActiveRun) -> Update:
    """Count the newest step of a run that has started."""
    run = state["run"]
    before = state.get("loop")
    history = messages_since(state["messages"], run["request_id"])
    message = last_assistant(history)
    answers = newest_answers(history)
    lines = state.get("results", [])
    if message is not None:
        lines = [*lines, f"Step {len(lines) + 1}: {format_step([message, *answers])}"]
    update = _count_step(state, message, answers, lines, active_run)
    newest, loop = _update_loop(state, history, active_run)
    is_last = run["step"] >= run["max_steps"]
    over = run.get("closing") or active_run.ledger.over
    special = special_call(message, answers, active_run.settings.profile.special_tools)
    direct = direct_answer(message, answers, active_run.catalog)
    if direct is None:
        direct = _structured_answer(state, message)
    sends_back = is_sent_back(state, active_run, message, is_last=is_last)
    if sends_back:
        update["run"] = {**run, "sent_back": run["step"]}
    may_end = active_run.settings.text_reply == "finish" and "closing" not in run
    reason = find_stop_reason(
        special,
        message,
        is_direct=direct is not None,
        text_ends=may_end and not sends_back,
        is_last=is_last,
        over=over,
        is_stuck=loop is not None and loop["measure"] == "ask",
    )
    if await _is_answered_early(reason, state, active_run, is_last=is_last, over=over):
        reason = None
    may_ask = _has_person(active_run) and not is_last and over is None
    if loop is not None and reason == "stuck" and may_ask:
        return {**update, "status": "thinking", **ask_about_loop(active_run, run, loop)}
    if newest.entries:
        update["trail"] = newest.entries
    if loop != before:
        update["loop"] = loop
        _emit_loop(loop, before, runtime.stream_writer)
    if reason is None:
        return {**update, "status": "thinking"}
    text = last_text(history, lines) if direct is None else direct
    end = final_update(reason, special, text, run["max_steps"], over)
    end["messages"] = close_history(
        state["messages"], end["output"], is_answer=reason == "answered"
    )
    runtime.stream_writer(StatusEvent(type="status", status=end["status"], stop_reason=reason))
    return {**update, **await _changed_files(run, active_run), **end}


async def _is_answered_early(
    reason: StopReason | None,
    state: AgentState,
    active_run: ActiveRun,
    *,
    is_last: bool,
    over: str | None,
) -> bool:
    """Return whether the agent has finished while a message from the user is unread.

    The run then continues with the message if its limits allow another step.
    """
    if reason is None or ENDINGS[reason].status != "finished" or is_last or over is not None:
        return False
    if cast(Update, state).get("structured_response") is not None:
        return False
    return await has_unread(state, active_run)


def _count_step(
    state: AgentState,
    message: AIMessage | None,
    answers: Sequence[ToolMessage],
    lines: Sequence[str],
    active_run: ActiveRun,
) -> Update:
    """Return the usage of the step and its line in the log."""
    update: Update = {"usage": _count_usage(state, answers, active_run)}
    if state.get("spent"):
        update["spent"] = Overwrite([])
    files = active_run.session.files
    # the snapshots' head is read only after a call that may change files, and is empty otherwise
    if files is not None and files.head not in ("", state.get("snapshot", "")):
        update["snapshot"] = files.head
    if message is not None:
        update["results"] = lines[-1:]
    return update


def _has_person(active_run: ActiveRun) -> bool:
    """Return whether a person is present to answer."""
    return active_run.settings.interactive


async def _changed_files(run: Run, active_run: ActiveRun) -> Update:
    """Return the update with the files that a served run has changed, the newest last."""
    if "began" not in run or active_run.is_inside:
        return {}
    root = active_run.session.workspace.root
    files = await asyncio.to_thread(changed_since, root, run["began"])
    if not files:
        return {}
    return {"changed_files": files[:MAX_FILES][::-1]}


def _emit_loop(loop: Loop | None, before: Loop | None, emit: StreamWriter) -> None:
    if loop is not None and (before is None or loop["measure"] != before["measure"]):
        emit(LoopEvent(type="loop", measure=loop["measure"], what=loop["what"]))


def _update_loop(
    state: AgentState, history: Sequence[AnyMessage], active_run: ActiveRun
) -> tuple[NewestStep, Loop | None]:
    """Return the newest step, and the loop that it belongs to."""
    before = state.get("loop")
    step = state["run"]["step"]
    newest = newest_step(history, before, step)
    trail = [*state.get("trail", []), *newest.entries]
    threshold = active_run.settings.duplicate_threshold
    detected = find_loop(trail, len(newest.entries), newest.result, threshold)
    return newest, next_loop(before, detected, newest, step)


def _count_usage(state: AgentState, answers: Sequence[ToolMessage], active_run: ActiveRun) -> Usage:
    """Return the usage including the newest step's calls and the time since the last count."""
    usage = state["usage"].copy()
    executed = sum(call_facts(answer).get("executed") is not False for answer in answers)
    active_run.ledger.add({**no_usage(), "tool_calls": executed})
    usage["tool_calls"] += executed
    return active_run.ledger.count(state.get("spent", []), usage)


def special_call(
    message: AIMessage | None, answers: Sequence[ToolMessage], special: tuple[str, ...]
) -> dict[str, Any] | None:
    """Return the arguments of a special tool that the newest step executed, or None."""
    if message is None:
        return None
    successful = {answer.tool_call_id for answer in answers if answer.status != "error"}
    for call in message.tool_calls:
        if call["name"].lower() in special and call["id"] in successful:
            return call["args"]
    return None


def direct_answer(
    message: AIMessage | None, answers: Sequence[ToolMessage], catalog: Catalog
) -> str | None:
    """Return the results of the newest step's calls if they are the answer of the run.

    They are if all calls are of tools with `return_direct`, and none has failed.
    """
    calls = list_calls(message) if message is not None else []
    if not calls or len(answers) != len(calls):
        return None
    for answer in answers:
        # not the name in the call: a middleware may have executed another tool
        tool = catalog.find(answer.name or "")
        if tool is None or not tool.return_direct:
            return None
    if any(answer.status == "error" for answer in answers):
        return None
    return "\n\n".join(filter(None, map(get_text, answers)))


def _structured_answer(state: AgentState, message: AIMessage | None) -> str | None:
    """Return the structured response of the step as JSON, or None."""
    response = cast(Update, state).get("structured_response")
    if response is None:
        return None
    text = get_text(message).strip() if message is not None else ""
    if text.startswith(("{", "[")):
        return text  # the model has written it, rather than called a tool
    return TypeAdapter(Any).dump_json(response, fallback=str).decode()


def ask_about_loop(active_run: ActiveRun, run: Run, loop: Loop) -> Update:
    """Ask a person how to continue, and return the update that adds the answer to the history."""
    question = prompts.loop_question(loop["what"])
    try:
        answer = interrupt({"kind": "stuck", "question": question})
    except GraphBubbleUp:
        active_run.session.waiting = True
        raise
    guidance = HumanMessage(str(answer), id=f"{run['id']}-{run['step']}-guidance")
    return {
        "messages": [guidance],
        "run": {**run, "guidance_id": guidance.id},
        "loop": None,
        "trail": Overwrite([]),
    }


async def finish(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> dict[str, Any]:
    """End the run with the last text as its answer; start it first if it has had no step."""
    active_run = get_active_run(config)
    update: dict[str, Any] = {**start_if_new(state, active_run)}
    run = update.get("run") or state["run"]
    history = messages_since(state.get("messages", []), run["request_id"])
    lines = [] if update else state.get("results", [])
    text = last_text(history, lines)
    end = final_update("answered", None, text, run["max_steps"], None)
    end["messages"] = close_history(state.get("messages", []), text, is_answer=True)
    runtime.stream_writer(StatusEvent(type="status", status=end["status"], stop_reason="answered"))
    return {**update, **end}
