"""summarize: report the results of the plan truthfully and end the run."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from manus.nodes.active_run import ActiveRun, get_active_run
from manus.nodes.truncation import fit_question
from manus.prompts import flow as prompts
from manus.prompts.sources import plain
from manus.state.endings import ENDINGS, StopReason
from manus.state.errors import BudgetError, ManusError, ToolError
from manus.state.events import StatusEvent
from manus.state.flow import FlowState, total_usage
from manus.state.messages import get_text
from manus.state.plan import (
    Plan,
    Step,
    find_hindered_steps,
    format_plan,
    format_result,
    is_completed,
    list_refusals,
    short_title,
)
from manus.state.request import full_request
from manus.state.text import flat, one_line
from manus.workspace.safe_open import open_file

log = logging.getLogger("manus")

ROLE = "summary"

_MAX_LINE = 200
_MAX_FILES = 12
"""Maximum number of files that are shown to the model."""
_MAX_HEAD = 2_000
_MAX_LINES = 3
"""How much of each file is shown: bytes that are read, and lines."""

Update = dict[str, Any]


async def summarize(state: FlowState, config: RunnableConfig) -> Update:
    """Ask the model for a summary, or build it from the plan if that fails; end the run."""
    active_run = get_active_run(config)
    emit = get_stream_writer()
    emit(StatusEvent(type="status", status="thinking", stop_reason=None))
    entries = active_run.ledger.start(total_usage(state))
    plan = state["plan"]
    summary = await _ask_for_summary(state, active_run)
    unfinished = list_unfinished(plan)
    over = exhausted_budget(state)
    parts = [summary]
    # the model's summary may omit facts
    for facts in (unfinished, list_conflicts(plan)):
        if facts not in summary:
            parts.append(facts)
    stop_reason: StopReason = "completed"
    if unfinished:
        stop_reason = "budget" if over else "plan_incomplete"
    if unfinished and over:
        parts.append(ENDINGS["budget"].note.format(over=over))
    output = "\n\n".join(parts)
    end: Update = {
        "status": ENDINGS[stop_reason].status,
        "stop_reason": stop_reason,
        "success": not unfinished,
    }
    emit(StatusEvent(type="status", status=end["status"], stop_reason=end["stop_reason"]))
    return {
        **end,
        "output": output,
        "results": result_lines(plan),
        "usage": active_run.ledger.count(entries),
        "refused": list_refusals(plan),
        # of its own: the summary of a run that is resumed later must be the last message, too
        "messages": [AIMessage(output, id=f"{state['messages'][-1].id}-summary")],
    }


async def _ask_for_summary(state: FlowState, active_run: ActiveRun) -> str:
    plan = state["plan"]
    request = full_request(state["messages"])
    root = active_run.session.workspace.root
    files = await asyncio.to_thread(_describe_files, plan, root)
    question = prompts.summary(request, format_plan(plan), step_details(plan), files)
    messages = await fit_question(
        active_run, ROLE, SystemMessage(prompts.SUMMARIZER), HumanMessage(question)
    )
    try:
        async with asyncio.timeout(active_run.ledger.seconds_left):
            reply = await active_run.client.complete(ROLE, messages)
    except (BudgetError, TimeoutError):
        return summarize_without_model(plan)
    except ManusError as error:
        log.info("the model wrote no summary: %s", error)
        return f"{prompts.MODEL_SILENT}\n\n{summarize_without_model(plan)}"
    return get_text(reply.message).strip() or summarize_without_model(plan)


def _describe_files(plan: Plan, root: Path) -> list[str]:
    """Describe the files that steps have changed or were to write. Blocking."""
    paths: dict[str, None] = {}
    for step in plan["steps"]:
        if step["status"] == "completed" and step["result"] is not None:
            paths |= dict.fromkeys([*step.get("writes", []), *step["result"]["files"]])
    return [_describe_file(path, root / path) for path in list(paths)[:_MAX_FILES]]


def _describe_file(path: str, file: Path) -> str:
    try:
        with open_file(file) as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(_MAX_HEAD)
    except (OSError, ToolError):
        return prompts.missing_file(path)
    if b"\0" in head:
        return prompts.described_file(path, size, ())
    lines = plain(head.decode("utf-8", "replace")).splitlines()[:_MAX_LINES]
    return prompts.described_file(path, size, [one_line(line, _MAX_LINE) for line in lines])


def exhausted_budget(state: FlowState) -> str | None:
    """Return which budget kept steps from being executed, or None if none did."""
    over = state["run"].get("over")
    if over:
        return over
    for step in state["plan"]["steps"]:
        result = step["result"]
        if step["status"] == "blocked" and result and result.get("stop_reason") == "budget":
            return flat(step["notes"])
    return None


def step_details(plan: Plan) -> list[str]:
    """Return the results of each step that was tried; steps dropped by a revision come first."""
    details = []
    for step in plan.get("dropped", []):
        title = f"Attempted, then replaced when the plan was revised: {flat(step['text'])}"
        details.append(f"{title}\nNotes: {flat(step['notes'])}")
    for index, step in enumerate(plan["steps"]):
        if step["result"] or step["notes"]:
            details.append(format_result(index, step))
    return details


def result_lines(plan: Plan) -> list[str]:
    """Return the results of a run, one line per step."""
    dropped = [f"Step left out: {_format_line(step)}" for step in plan.get("dropped", [])]
    steps = enumerate(plan["steps"])
    return [*dropped, *(f"Step {index}: {_format_line(step)}" for index, step in steps)]


def _format_line(step: Step) -> str:
    line = f"{flat(step['text'])} ({step['status'].replace('_', ' ')})"
    result = ""
    if step["status"] == "blocked":
        result = step["notes"]
    if step["result"] is not None and not result:
        result = step["result"]["text"]
    if result:
        line = f"{line} → {result}"
    return one_line(line, _MAX_LINE)


def list_unfinished(plan: Plan) -> str:
    """Return the steps that were not completed, each with the reason; empty if there are none."""
    if is_completed(plan):
        return ""
    hindered = find_hindered_steps(plan)
    lines = ["Not done:"]
    for index, step in enumerate(plan["steps"]):
        if step["status"] != "completed":
            reason = _reason_unfinished(step, hindered.get(index))
            lines.append(f"- {index}. {flat(step['text'])} ({reason})")
    return "\n".join(lines)


def _reason_unfinished(step: Step, blocked_index: int | None) -> str:
    """Return why a step is not completed; `blocked_index` is a blocked step that it needs."""
    if step["status"] == "blocked":
        return f"blocked: {flat(step['notes']) or 'no reason was given'}"
    waiting = step.get("waiting")
    if waiting:
        return f"waits for an answer to: {flat(waiting['question'])}"
    if blocked_index is not None:
        return f"abandoned because it needs step {blocked_index}, which is blocked"
    return "not started" if step["status"] == "not_started" else "started but not finished"


def list_conflicts(plan: Plan) -> str:
    """Return the files that several steps changed at the same time; empty if there are none."""
    titles: dict[str, set[str]] = {}
    for step in plan["steps"]:
        result = step["result"]
        conflicts = result.get("conflicts", {}) if result is not None else {}
        for path, other_titles in conflicts.items():
            titles.setdefault(path, set()).update([short_title(step), *other_titles])
    if not titles:
        return ""
    lines = [prompts.changed_side_by_side(path, sorted(titles[path])) for path in sorted(titles)]
    return "\n".join([prompts.SIDE_BY_SIDE, *lines])


def summarize_without_model(plan: Plan) -> str:
    """Return a summary built from the plan itself."""
    parts = []
    for index, step in enumerate(plan["steps"]):
        if step["status"] == "completed":
            parts.append(format_result(index, step))
    parts += [list_unfinished(plan), list_conflicts(plan)]
    return "\n\n".join(filter(None, parts))
