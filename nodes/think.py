"""think: compose the request, ask the model, append its message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from manus.models.reply import Reply
from manus.nodes.active_run import Running, running_of
from manus.nodes.turn.browser_context import look
from manus.nodes.turn.final_answer import last_call, nearly_used_up
from manus.nodes.turn.history_repair import mend, replacing
from manus.nodes.turn.model_away import waits_for_model
from manus.nodes.turn.model_turn import Talk
from manus.nodes.turn.own_plan import plan_notes
from manus.nodes.turn.reply import prepared
from manus.nodes.turn.request import notes_for
from manus.nodes.turn.run_start import begin_step
from manus.nodes.turn.usage_recorder import Meter, metered
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Run, Usage
from manus.state.context import Context, ToolChoice
from manus.state.errors import BudgetError, ManusError, ModelUnavailableError
from manus.state.events import StatusEvent, StepEvent, ThoughtEvent
from manus.state.messages import calls_of, has_calls, text_of
from manus.state.usage import by_step, spent_so_far, with_spending
from manus.tools.load_mcp_tools import load_mcp_tools

Update = dict[str, Any]


async def think(state: AgentState, runtime: Runtime[Context], config: RunnableConfig) -> Update:
    """Ask the model for the next step."""
    running = running_of(config)
    await load_mcp_tools(running.catalog, running.session)
    begun = begin_step(state, running)
    with metered(running, runtime, step=begun["run"]["step"]) as meter:
        try:
            return await _think(state, begun, running, meter, runtime.stream_writer)
        except ModelUnavailableError as error:
            raise waits_for_model(error, running, config) from error


async def _think(
    state: AgentState, begun: AgentState, running: Running, meter: Meter, tell: Any
) -> Update:
    run, usage = begun["run"], begun["usage"]
    running.budget.sync(usage, meter.lines)
    _tell_beginning(run, usage, tell)
    mended = mend(state.get("messages", []), running.session.journal.answer_to)
    history = mended or state.get("messages", [])
    plan_note, begun_plan = plan_notes(state, running.profile)
    loop = begun.get("loop", state.get("loop"))
    choice, budget_note = closing_choice(running, run, running.budget.used, history)
    seen, images = await look(running, history)
    told = notes_for(run, loop, running.context.tool_choice)
    notes = [*seen, *plan_note, *budget_note, *told]
    talk = Talk(running, history, run, tell, state)
    writes = replacing(state.get("messages", []), mended)
    try:
        reply = await talk.ask(notes, choice, images)
    except ModelUnavailableError:
        raise
    except ManusError as error:
        spent = accounted(begun, running, meter)
        earlier = state.get("spent", []) if "spent" not in begun else []
        spent["usage"]["steps"] = by_step([*earlier, *meter.lines])
        end = out_of_budget(error, talk) if isinstance(error, BudgetError) else failed(error)
        tell(StatusEvent(type="status", status=end["status"], stop_reason=end["stop_reason"]))
        ended = {**begun, **spent, **end, "results": talk.results()}
        return {**ended, **talk.update, "messages": [*writes, *talk.writes]}
    spent = accounted(begun, running, meter)
    message = prepared(reply.message, talk.history, run, choice)
    tell(_thought(run, message, reply, spent["usage"]))
    if has_calls(message):
        tell(StatusEvent(type="status", status="executing", stop_reason=None))
    status = "executing" if has_calls(message) else "thinking"
    written = [*writes, *talk.writes, message]
    told_of = {"messages": written, "status": status}
    return {**begun, **spent, **begun_plan, **talk.update, **told_of}


def accounted(begun: AgentState, running: Running, meter: Meter) -> Update:
    """The step's model calls, on the account and in the sum; a new run has a new account."""
    usage = with_spending(begun["usage"], meter.lines)
    usage["seconds"] += running.session.lap()
    is_new = "spent" in begun
    return {"usage": usage, "spent": Overwrite(meter.lines) if is_new else meter.lines}


def closing_choice(
    running: Running, run: Run, usage: Usage, history: Sequence[AnyMessage]
) -> tuple[ToolChoice, list[str]]:
    """The tool choice of this step, and a note on the budget.

    The last call that a budget allows is noted in the run, and has no tools.
    """
    budget, choice = running.budget.limits, running.context.tool_choice
    if budget.tool_calls is not None:
        run["calls_left"] = max(0, budget.tool_calls - usage["tool_calls"])
    if over := last_call(budget, usage, history):
        run["closing"] = over
        return "none", [prompts.last_call(over)]
    nearly = nearly_used_up(budget, usage)
    return choice, [prompts.budget_nearly_used_up(nearly)] if nearly else []


def failed(error: ManusError) -> Update:
    """The end of a run whose model could not be asked."""
    return {
        "status": "error",
        "stop_reason": "error",
        "success": False,
        "output": str(error),
    }


def out_of_budget(error: BudgetError, talk: Talk) -> Update:
    """The end of a run whose budget has no room for the call of this step."""
    texts = (text_of(m).strip() for m in reversed(talk.own()) if isinstance(m, AIMessage))
    said = next((text for text in texts if text), "") or "\n".join(talk.results())
    return {
        "status": "idle",
        "stop_reason": "budget",
        "success": False,
        "output": f"{said}\n\nTerminated: Budget used up: {error.over}".strip(),
    }


def _tell_beginning(run: Run, usage: Usage, tell: Any) -> None:
    if run["step"] == 1:
        tell(StatusEvent(type="status", status="running", stop_reason=None))
    tell(StatusEvent(type="status", status="thinking", stop_reason=None))
    step, most = run["step"], run["max_steps"]
    tell(StepEvent(type="step", step=step, max_steps=most, spent=spent_so_far(usage)))


def _thought(run: Run, message: AIMessage, reply: Reply, usage: Usage) -> ThoughtEvent:
    event = ThoughtEvent(
        type="thought",
        step=run["step"],
        text=text_of(message),
        calls=[{"id": c["id"], "name": c["name"], "args": c["args"]} for c in calls_of(message)],
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cached_tokens=reply.cached_tokens,
        seconds=reply.seconds,
        spent=spent_so_far(usage),
    )
    if reply.cache_write_tokens:
        event["cache_write_tokens"] = reply.cache_write_tokens
    return event
