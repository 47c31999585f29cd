"""summarize: say what came of the plan, honestly, and end the run."""

from __future__ import annotations

import logging
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from nodes.complete import complete
from nodes.meter import metered
from nodes.running import Running, running_of
from nodes.summary import details_of, lines_of, not_done, without_model
from prompts import flow as prompts
from state.context import Context
from state.errors import ManusError
from state.events import StatusEvent
from state.flow import FlowState
from state.messages import last_request, text_of
from state.plan import as_text, is_completed
from state.usage import add_usage, detailed

log = logging.getLogger("manus")

ROLE = "summary"

Update = dict[str, Any]


async def summarize(state: FlowState, runtime: Runtime[Context], config: RunnableConfig) -> Update:
    """Ask for a summary; where the model is down or the budget used up, make one from the plan."""
    running = running_of(config)
    tell = runtime.stream_writer
    running.takes_edits = False
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    with metered(running, runtime) as meter:
        text = await _summary(state, running, tell)
    done = is_completed(state["plan"])
    output = "\n\n".join(part for part in (text, *_notes(state, text)) if part)
    usage = add_usage(meter.usage(running.session.lap()), detailed(state["plan"]))
    ended: Update = {
        "status": "finished" if done else "idle",
        "stop_reason": "completed" if done else "plan_incomplete",
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


async def _summary(state: FlowState, running: Running, tell: Any) -> str:
    plan = state["plan"]
    if "over" in state["batch"]:
        return without_model(plan)
    request = last_request(state["messages"])
    asked = prompts.summary(
        text_of(request) if request is not None else "", as_text(plan), details_of(plan)
    )
    messages = [SystemMessage(prompts.SUMMARIZER), HumanMessage(asked)]
    try:
        reply = await complete(running, ROLE, messages, tell=tell)
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
    if over := state["batch"].get("over"):
        notes.append(f"Terminated: Budget used up: {over}")
    return notes
