"""summarize: say what came of the plan, honestly, and end the run."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.runtime import Runtime

from manus.nodes.active_run import Running, metered, running_of, used_in
from manus.nodes.context.shown import fit_question
from manus.nodes.planning.summary import details_of, lines_of, not_done, without_model
from manus.prompts import flow as prompts
from manus.state.context import Context
from manus.state.errors import BudgetError, ManusError
from manus.state.events import StatusEvent
from manus.state.flow import FlowState
from manus.state.messages import last_request, text_of
from manus.state.plan import as_text, is_completed
from manus.state.text import flat
from manus.state.usage import budget_used_up

log = logging.getLogger("manus")

ROLE = "summary"

Update = dict[str, Any]


async def summarize(state: FlowState, runtime: Runtime[Context], config: RunnableConfig) -> Update:
    """Ask for a summary; where the model is down or the budget used up, make one from the plan."""
    running = running_of(config)
    tell = get_stream_writer()
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    with metered(running, runtime) as lines:
        running.budget.sync(state["usage"], lines)
        text = await _summary(state, running)
    done, over = is_completed(state["plan"]), over_budget(state)
    output = "\n\n".join(part for part in (text, *_notes(state, text)) if part)
    usage = used_in(lines, running)
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
        "messages": [AIMessage(output, id=f"{state['run']['id']}-summary")],
    }


async def _summary(state: FlowState, running: Running) -> str:
    plan = state["plan"]
    budget, used = running.budget.limits, running.budget.used
    if budget_used_up(budget, used, for_good=True):
        return without_model(plan)
    left = None if budget.seconds is None else budget.seconds - used["seconds"]
    request = last_request(state["messages"])
    asked = prompts.summary(
        text_of(request) if request is not None else "", as_text(plan), details_of(plan)
    )
    messages = await fit_question(
        running, ROLE, SystemMessage(prompts.SUMMARIZER), HumanMessage(asked)
    )
    try:
        async with asyncio.timeout(left):
            reply = await running.client.complete(ROLE, messages, tell=get_stream_writer())
    except (BudgetError, TimeoutError):
        return without_model(plan)
    except ManusError as error:
        log.info("no summary by the model: %s", error)
        return f"{prompts.MODEL_SILENT}\n\n{without_model(plan)}"
    return text_of(reply.message).strip() or without_model(plan)


def _notes(state: FlowState, text: str) -> list[str]:
    """What is added to the model's words: it may have been kinder than the facts are."""
    notes = []
    missing = not_done(state["plan"])
    if missing and missing not in text:
        notes.append(missing)
    if missing and (over := over_budget(state)):
        notes.append(f"Terminated: Budget used up: {over}")
    return notes


def over_budget(state: FlowState) -> str | None:
    """The budget, in words, for want of which steps were not done; None if that was not why."""
    if over := state["run"].get("over"):
        return over
    for step in state["plan"]["steps"]:
        result = step["result"]
        if step["status"] == "blocked" and result and result.get("stop_reason") == "budget":
            return flat(step["notes"])
    return None
