"""stuck_check: count the step, see whether the run goes round in circles, say whether it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from manus.nodes.active_run import Running, running_of
from manus.nodes.turn.allowance import is_over_budget
from manus.nodes.turn.calls import comparable_calls
from manus.nodes.turn.loop_detection import Finding, find_circle
from manus.nodes.turn.results import output_of, results_of
from manus.nodes.turn.stop_conditions import (
    Facts,
    budget_used_up,
    ending_limits,
    ending_of,
    status_after,
)
from manus.nodes.turn.usage_recorder import by_tools
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Circle, Run, Usage
from manus.state.context import Context
from manus.state.events import CircleEvent, StatusEvent
from manus.state.messages import last_assistant, since
from manus.state.usage import by_step, with_spending

Update = dict[str, Any]
Measure = Literal["hint", "refuse", "ask"]


async def stuck_check(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> Update:
    """Look at the run so far."""
    running = running_of(config)
    run, context = state["run"], running.context
    history = since(state["messages"], run["request_id"])
    usage = counted(state["usage"], history, running.session.lap())
    usage = with_spending(usage, by_tools(state.get("spent", []), run["step"]))
    recent = since(history, run["guidance_id"]) if "guidance_id" in run else history
    finding = find_circle(recent, context.duplicate_threshold)
    circle = next_circle(state.get("circle"), finding, recent, run["step"])
    facts = facts_of(history, run, usage, circle, running)
    reason = ending_of(facts)
    if circle is not None and reason == "stuck" and may_ask(context, facts):
        return {"usage": usage, "status": "thinking", **ask_person(running, run, circle)}
    update: Update = {"usage": usage}
    if circle != state.get("circle"):
        update["circle"] = circle
        if circle is not None:
            told = CircleEvent(type="circle", measure=circle["measure"], what=circle["what"])
            runtime.stream_writer(told)
    if reason is None:
        return {**update, "status": "thinking"}
    status, earlier = status_after(reason), state.get("earlier", [])
    runtime.stream_writer(StatusEvent(type="status", status=status, stop_reason=reason))
    return {
        **update,
        "usage": {**usage, "steps": by_step(state.get("spent", []))},
        "status": status,
        "stop_reason": reason,
        "success": facts.success(reason),
        "output": output_of(history, reason, facts, earlier),
        "results": [*earlier, *results_of(history, len(earlier) + 1)],
    }


def counted(usage: Usage, history: Sequence[AnyMessage], seconds: float) -> Usage:
    """The usage with the tool calls of the newest step and the time since the last lap."""
    total = usage.copy()
    for message in reversed(history):
        if not isinstance(message, ToolMessage):
            break
        total["tool_calls"] += not is_over_budget(message)
    total["seconds"] += seconds
    return total


def next_circle(
    before: Circle | None, finding: Finding | None, history: Sequence[AnyMessage], step: int
) -> Circle | None:
    """The circle after this step: one measure further while it lasts, None once it is left."""
    if before is None:
        return _circle(finding, "hint", [], step) if finding is not None else None
    lasting = before["measure"] == "refuse" and _only_refused(before, history)
    if finding is None and not lasting:
        return None
    calls = before["calls"] or (finding is not None and finding.calls)
    # where nothing is called there is nothing to refuse
    measure: Measure = "refuse" if before["measure"] == "hint" and calls else "ask"
    if finding is None:
        return {**before, "measure": measure, "since": step}
    return _circle(finding, measure, before["calls"], step)


def _circle(finding: Finding, measure: Measure, earlier: list[dict[str, Any]], step: int) -> Circle:
    calls = [*earlier, *(call for call in finding.calls if call not in earlier)]
    return Circle(kind=finding.kind, what=finding.what, measure=measure, calls=calls, since=step)


def _only_refused(circle: Circle, history: Sequence[AnyMessage]) -> bool:
    calls = comparable_calls(last_assistant(history))
    return bool(calls) and all(call in circle["calls"] for call in calls)


def facts_of(
    history: Sequence[AnyMessage],
    run: Run,
    usage: Usage,
    circle: Circle | None,
    running: Running,
) -> Facts:
    """What the rules of ending look at."""
    context = running.context
    return Facts(
        special=_special_call(history, running.profile.special_tools),
        message=last_assistant(history),
        text_ends=context.text_reply == "finish" and "closing" not in run,
        step=run["step"],
        max_steps=run["max_steps"],
        budget=run.get("closing") or budget_used_up(ending_limits(running.budget), usage),
        stuck=circle is not None and circle["measure"] == "ask",
    )


def _special_call(history: Sequence[AnyMessage], special: tuple[str, ...]) -> dict[str, Any] | None:
    """The arguments of a special tool that was called, and carried out, in the newest step."""
    done = set()
    for message in reversed(history):
        if not isinstance(message, ToolMessage):
            break
        if message.status != "error":
            done.add(message.tool_call_id)
    newest = last_assistant(history)
    for call in newest.tool_calls if newest is not None else []:
        if call["name"].lower() in special and call["id"] in done:
            return call["args"]
    return None


def may_ask(context: Context, facts: Facts) -> bool:
    """Whether a person is there to be asked, and a step is left to act on the answer."""
    return context.interactive and facts.step < facts.max_steps and facts.budget is None


def ask_person(running: Running, run: Run, circle: Circle) -> Update:
    """Ask what to do; the answer goes into the history and the run goes on from it."""
    question = prompts.circle_question(circle["what"])
    try:
        answer = interrupt({"kind": "stuck", "question": question})
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    guidance = HumanMessage(str(answer), id=f"{run['id']}-{run['step']}-guidance")
    return {
        "messages": [guidance],
        "run": {**run, "guidance_id": guidance.id},
        "circle": None,
    }
