"""summarize: say what came of the plan, honestly, and end the run."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from manus.models.budget import usage_ledger
from manus.nodes.active_run import ActiveRun, active_run_of, used_in
from manus.nodes.context.truncation import fit_question
from manus.prompts import flow as prompts
from manus.state.errors import BudgetError, ManusError
from manus.state.events import StatusEvent
from manus.state.flow import FlowState, used_so_far
from manus.state.messages import last_request, text_of
from manus.state.plan import (
    Plan,
    Step,
    as_text,
    hindered_by,
    is_completed,
    refusals_of,
    shown_result,
    title_of,
)
from manus.state.text import flat, one_line
from manus.state.usage import Spending

log = logging.getLogger("manus")

ROLE = "summary"

Update = dict[str, Any]


async def summarize(state: FlowState, config: RunnableConfig) -> Update:
    """Ask for a summary; where the model is down or the budget used up, make one from the plan."""
    active_run = active_run_of(config)
    tell = get_stream_writer()
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    lines: list[Spending] = []
    usage_ledger.set(lines)
    active_run.sync(used_so_far(state))
    text = await _summary(state, active_run)
    missing = not_done(state["plan"])
    over = over_budget(state)
    done = not missing
    parts = [text]
    # the model may have been kinder than the facts are
    parts += [facts for facts in (missing, side_by_side(state["plan"])) if facts not in text]
    if missing and over:
        parts.append(f"Terminated: Budget used up: {over}")
    output = "\n\n".join(parts)
    usage = used_in(lines, active_run)
    ended: Update = {
        "status": "finished" if done else "idle",
        "stop_reason": "completed" if done else "budget" if over else "plan_incomplete",
        "success": done,
    }
    tell(StatusEvent(type="status", status=ended["status"], stop_reason=ended["stop_reason"]))
    return {
        **ended,
        "output": output,
        "results": lines_of(state["plan"]),
        "usage": usage,
        "refused": refusals_of(state["plan"]),
        "messages": [AIMessage(output, id=f"{state['run']['id']}-summary")],
    }


async def _summary(state: FlowState, active_run: ActiveRun) -> str:
    plan = state["plan"]
    said = text_of(last_request(state["messages"]))
    asked = prompts.summary(said, as_text(plan), details_of(plan))
    messages = await fit_question(
        active_run, ROLE, SystemMessage(prompts.SUMMARIZER), HumanMessage(asked)
    )
    try:
        async with asyncio.timeout(active_run.budget.seconds_left):
            reply = await active_run.client.complete(ROLE, messages)
    except (BudgetError, TimeoutError):
        return without_model(plan)
    except ManusError as error:
        log.info("no summary by the model: %s", error)
        return f"{prompts.MODEL_SILENT}\n\n{without_model(plan)}"
    return text_of(reply.message).strip() or without_model(plan)


def over_budget(state: FlowState) -> str | None:
    """The budget, in words, for want of which steps were not done; None if that was not why."""
    if over := state["run"].get("over"):
        return over
    for step in state["plan"]["steps"]:
        result = step["result"]
        if step["status"] == "blocked" and result and result.get("stop_reason") == "budget":
            return flat(step["notes"])
    return None


_LINE = 200


def details_of(plan: Plan) -> list[str]:
    """Each step that was tried, with what came of it; those that a revision left out first."""
    dropped = [
        f"Tried and left out by a revision: {flat(step['text'])}\nNotes: {flat(step['notes'])}"
        for step in plan.get("dropped", [])
    ]
    tried = [
        shown_result(index, step)
        for index, step in enumerate(plan["steps"])
        if step["result"] or step["notes"]
    ]
    return [*dropped, *tried]


def lines_of(plan: Plan) -> list[str]:
    """The results of a run: one line a step."""
    steps = enumerate(plan["steps"])
    return [
        *(f"Step left out: {_line(step)}" for step in plan.get("dropped", [])),
        *(f"Step {index}: {_line(step)}" for index, step in steps),
    ]


def _line(step: Step) -> str:
    said = step["notes"] if step["status"] == "blocked" else ""
    if step["result"] is not None and not said:
        said = step["result"]["text"]
    line = f"{flat(step['text'])} ({step['status'].replace('_', ' ')})"
    return one_line(f"{line} → {said}" if said else line, _LINE)


def not_done(plan: Plan) -> str:
    """What was not done and why; empty if all was."""
    if is_completed(plan):
        return ""
    hindered = hindered_by(plan)
    lines = []
    for index, step in enumerate(plan["steps"]):
        if step["status"] == "completed":
            continue
        if step["status"] == "blocked":
            why = f"blocked: {flat(step['notes']) or 'no reason was given'}"
        elif waiting := step.get("waiting"):
            why = f"waits for an answer to: {flat(waiting['question'])}"
        elif index in hindered:
            why = f"given up, because it needs step {hindered[index]}, which is blocked"
        else:
            why = "not begun" if step["status"] == "not_started" else "begun and not ended"
        lines.append(f"- {index}. {flat(step['text'])} ({why})")
    return "Not done:\n" + "\n".join(lines)


def side_by_side(plan: Plan) -> str:
    """Return the files that several steps changed at the same time; empty if there are none."""
    titles: dict[str, set[str]] = {}
    for step in plan["steps"]:
        result = step["result"]
        conflicts = result.get("conflicts", {}) if result is not None else {}
        for path, others in conflicts.items():
            titles.setdefault(path, set()).update([title_of(step), *others])
    if not titles:
        return ""
    lines = [prompts.changed_side_by_side(path, sorted(titles[path])) for path in sorted(titles)]
    return "\n".join([prompts.SIDE_BY_SIDE, *lines])


def without_model(plan: Plan) -> str:
    """A summary made from the plan itself."""
    steps = enumerate(plan["steps"])
    done = [shown_result(index, step) for index, step in steps if step["status"] == "completed"]
    parts = (*done, not_done(plan), side_by_side(plan))
    return "\n\n".join(part for part in parts if part)
