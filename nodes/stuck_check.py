"""stuck_check: count the step, see whether the run is stuck in a loop, say whether it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, interrupt

from manus.nodes.active_run import Running, running_of
from manus.nodes.turn.loop_detection import find_loop, newest_step, next_loop
from manus.nodes.turn.stop_conditions import (
    Facts,
    ending_of,
    output_of,
    results_of,
    status_after,
)
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Loop, Run
from manus.state.context import Context
from manus.state.events import LoopEvent, StatusEvent
from manus.state.messages import last_assistant, since
from manus.state.usage import Usage, budget_used_up, no_usage, with_spending

Update = dict[str, Any]


async def stuck_check(
    state: AgentState, runtime: Runtime[Context], config: RunnableConfig
) -> Update:
    """Look at the run so far."""
    running = running_of(config)
    run, context, before = state["run"], running.context, state.get("loop")
    history = since(state["messages"], run["request_id"])
    done = carried_out(history)
    running.budget.add({**no_usage(), "tool_calls": done})
    usage = counted(state, done, running.lap())
    newest = newest_step(history, before, run["step"])
    trail = [*state.get("trail", []), *newest.entries]
    found = find_loop(trail, len(newest.entries), newest.outcome, context.duplicate_threshold)
    loop = next_loop(before, found, newest, run["step"])
    facts = facts_of(history, run, loop, running)
    reason = ending_of(facts)
    if loop is not None and reason == "stuck" and may_ask(context, facts):
        return {"usage": usage, "status": "thinking", **ask_person(running, run, loop)}
    update: Update = {"usage": usage}
    if newest.entries:
        update["trail"] = newest.entries
    if loop != before:
        update["loop"] = loop
        if loop is not None and (before is None or loop["measure"] != before["measure"]):
            told = LoopEvent(type="loop", measure=loop["measure"], what=loop["what"])
            runtime.stream_writer(told)
    if reason is None:
        return {**update, "status": "thinking"}
    status, earlier = status_after(reason), state.get("earlier", [])
    runtime.stream_writer(StatusEvent(type="status", status=status, stop_reason=reason))
    return {
        **update,
        "status": status,
        "stop_reason": reason,
        "success": facts.success(reason),
        "output": output_of(history, reason, facts, earlier),
        "results": [*earlier, *results_of(history, len(earlier) + 1)],
    }


def carried_out(history: Sequence[AnyMessage]) -> int:
    """How many calls of the newest step were carried out."""
    kept = (m.artifact for m in newest_answers(history))
    return sum(not isinstance(one, dict) or one.get("executed") is not False for one in kept)


def counted(state: AgentState, done: int, seconds: float) -> Usage:
    """The usage with what the newest step has carried out, and the time since the last lap."""
    usage, step = state["usage"], state["run"]["step"]
    usage = {
        **usage,
        "tool_calls": usage["tool_calls"] + done,
        "seconds": usage["seconds"] + seconds,
    }
    return with_spending(usage, [one for one in state.get("spent", []) if one["step"] == step])


def newest_answers(history: Sequence[AnyMessage]) -> Iterator[ToolMessage]:
    """The tool messages of the newest step, the last one first."""
    for message in reversed(history):
        if not isinstance(message, ToolMessage):
            return
        yield message


def facts_of(
    history: Sequence[AnyMessage],
    run: Run,
    loop: Loop | None,
    running: Running,
) -> Facts:
    """What the rules of ending look at."""
    context, budget = running.context, running.budget
    return Facts(
        special=_special_call(history, running.profile.special_tools),
        message=last_assistant(history),
        text_ends=context.text_reply == "finish" and "closing" not in run,
        step=run["step"],
        max_steps=run["max_steps"],
        budget=run.get("closing") or budget_used_up(budget.limits, budget.used, for_good=True),
        stuck=loop is not None and loop["measure"] == "ask",
    )


def _special_call(history: Sequence[AnyMessage], special: tuple[str, ...]) -> dict[str, Any] | None:
    """The arguments of a special tool that was called, and carried out, in the newest step."""
    done = {m.tool_call_id for m in newest_answers(history) if m.status != "error"}
    newest = last_assistant(history)
    for call in newest.tool_calls if newest is not None else []:
        if call["name"].lower() in special and call["id"] in done:
            return call["args"]
    return None


def may_ask(context: Context, facts: Facts) -> bool:
    """Whether a person is there to be asked, and a step is left to act on the answer."""
    return context.interactive and facts.step < facts.max_steps and facts.budget is None


def ask_person(running: Running, run: Run, loop: Loop) -> Update:
    """Ask what to do; the answer goes into the history and the run goes on from it."""
    question = prompts.loop_question(loop["what"])
    try:
        answer = interrupt({"kind": "stuck", "question": question})
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    guidance = HumanMessage(str(answer), id=f"{run['id']}-{run['step']}-guidance")
    return {
        "messages": [guidance],
        "run": {**run, "guidance_id": guidance.id},
        "loop": None,
        "trail": Overwrite([]),
    }
