"""stuck_check: count the step, see whether the run is stuck in a loop, say whether it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, StreamWriter, interrupt

from manus.config.context import Context
from manus.execution.catalog import Catalog
from manus.execution.changed_files import MOST_FILES, changed_since
from manus.nodes.active_run import ActiveRun, active_run_of, used_in
from manus.nodes.exchange.announcements import is_sent_back
from manus.nodes.exchange.loop_detection import NewestStep, find_loop, newest_step, next_loop
from manus.nodes.exchange.stop_conditions import end_of, ending_of, last_text, step_line
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Loop, Run
from manus.state.events import LoopEvent, StatusEvent
from manus.state.messages import (
    call_facts,
    calls_of,
    last_assistant,
    newest_answers,
    since,
    text_of,
)
from manus.state.usage import Usage, no_usage

Update = dict[str, Any]


async def stuck_check(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> Update:
    """Look at the run so far."""
    active_run = active_run_of(config)
    tell = runtime.stream_writer
    run = state["run"]
    before = state.get("loop")
    history = since(state["messages"], run["request_id"])
    message = last_assistant(history)
    answers = newest_answers(history)
    update: Update = {"usage": counted(state, answers, active_run)}
    if state.get("spent"):
        update["spent"] = Overwrite([])
    lines = state.get("results", [])
    if message is not None:
        lines = [*lines, f"Step {len(lines) + 1}: {step_line([message, *answers])}"]
        update["results"] = lines[-1:]
    newest, loop = looked_at(state, history, active_run)
    is_last = run["step"] >= run["max_steps"]
    over = run.get("closing") or active_run.budget.over
    special = special_call(message, answers, active_run.profile.special_tools)
    direct = direct_answer(message, answers, active_run.catalog)
    sends_back = is_sent_back(state, active_run, message, is_last=is_last)
    if sends_back:
        update["run"] = {**run, "sent_back": run["step"]}
    may_end = active_run.context.text_reply == "finish" and "closing" not in run
    reason = ending_of(
        special,
        message,
        is_direct=direct is not None,
        text_ends=may_end and not sends_back,
        is_last=is_last,
        over=over,
        is_stuck=loop is not None and loop["measure"] == "ask",
    )
    is_present = active_run.context.interactive and active_run.session.approve_mode != "refuse"
    may_ask = is_present and not is_last and over is None
    if loop is not None and reason == "stuck" and may_ask:
        return {**update, "status": "thinking", **ask_person(active_run, run, loop)}
    if newest.entries:
        update["trail"] = newest.entries
    if loop != before:
        update["loop"] = loop
        _tell_of(loop, before, tell)
    if reason is None:
        return {**update, "status": "thinking"}
    if files := await changed_in(run, active_run):
        update["changed_files"] = files
    text = last_text(history, lines) if direct is None else direct
    ended = end_of(reason, special, text, run["max_steps"], over)
    tell(StatusEvent(type="status", status=ended["status"], stop_reason=reason))
    return {**update, **ended}


async def changed_in(run: Run, active_run: ActiveRun) -> list[str]:
    """Return the files that a served run has made or changed, the newest last."""
    if "began" not in run or active_run.is_inside:
        return []
    root = active_run.session.workspace.root
    files = await asyncio.to_thread(changed_since, root, run["began"])
    return files[:MOST_FILES][::-1]


def _tell_of(loop: Loop | None, before: Loop | None, tell: StreamWriter) -> None:
    if loop is not None and (before is None or loop["measure"] != before["measure"]):
        tell(LoopEvent(type="loop", measure=loop["measure"], what=loop["what"]))


def looked_at(
    state: AgentState, history: Sequence[AnyMessage], active_run: ActiveRun
) -> tuple[NewestStep, Loop | None]:
    """The newest step, and the loop that it belongs to."""
    before = state.get("loop")
    step = state["run"]["step"]
    newest = newest_step(history, before, step)
    trail = [*state.get("trail", []), *newest.entries]
    count = len(newest.entries)
    found = find_loop(trail, count, newest.outcome, active_run.context.duplicate_threshold)
    return newest, next_loop(before, found, newest, step)


def counted(state: AgentState, answers: Sequence[ToolMessage], active_run: ActiveRun) -> Usage:
    """The usage with what the newest step has carried out, and the time since the last lap."""
    usage = state["usage"]
    spent = state.get("spent", [])
    done = sum(call_facts(answer).get("executed") is not False for answer in answers)
    active_run.budget.add({**no_usage(), "tool_calls": done})
    return used_in(spent, active_run, {**usage, "tool_calls": usage["tool_calls"] + done})


def special_call(
    message: AIMessage | None, answers: Sequence[ToolMessage], special: tuple[str, ...]
) -> dict[str, Any] | None:
    """The arguments of a special tool that was called, and carried out, in the newest step."""
    done = {m.tool_call_id for m in answers if m.status != "error"}
    for call in message.tool_calls if message is not None else []:
        if call["name"].lower() in special and call["id"] in done:
            return call["args"]
    return None


def direct_answer(
    message: AIMessage | None, answers: Sequence[ToolMessage], catalog: Catalog
) -> str | None:
    """Return the results of the newest step's calls, if these are the answer of the run.

    That is so where all calls are of tools with `return_direct`, and none has failed.
    """
    calls = calls_of(message) if message is not None else []
    tools = [catalog.find(call["name"] or "") for call in calls]
    if not tools or not all(tool is not None and tool.return_direct for tool in tools):
        return None
    if len(answers) != len(calls) or any(answer.status == "error" for answer in answers):
        return None
    return "\n\n".join(filter(None, map(text_of, answers)))


def ask_person(active_run: ActiveRun, run: Run, loop: Loop) -> Update:
    """Ask what to do; the answer goes into the history and the run goes on from it."""
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
