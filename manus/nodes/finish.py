"""finish: end a run on behalf of a middleware that jumps to its end."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from manus.config.context import Context
from manus.nodes.active_run import get_active_run
from manus.nodes.exchange.stop_conditions import final_update, last_text
from manus.nodes.think import start_if_new
from manus.state.agent import AgentState
from manus.state.closing import close_history
from manus.state.events import StatusEvent
from manus.state.history import messages_since


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
