"""Every rule about what comes next: routers, plain functions of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

from langchain_core.runnables import Runnable
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import StateGraph
from langgraph.types import Send

from manus.nodes.exchange.calls import lacks_answer, to_tasks
from manus.nodes.planning.scheduling import task_of
from manus.state.agent import AgentState, ToolTask
from manus.state.flow import FlowState, can_revise
from manus.state.messages import has_calls, last_assistant, newest_answers
from manus.state.plan import active_steps, last_started_steps, ready_steps, waiting_steps
from manus.state.taint import facts_of
from manus.tools.planning import PlanCollection, inject_plans
from manus.tools.recall import NAME as RECALL

AfterThink = Literal["call", "no_call", "budget", "error"]
AfterStuckCheck = Literal[
    "next_step", "terminated", "answered", "max_steps", "budget", "stuck", "error"
]
AfterPlan = Literal["ready", "to_approve", "rejected", "cancelled", "error"]
AfterExecuteStep = Literal["ended", "ready_steps", "blocked", "complete"]


class Router(Runnable[Any, Any]):
    """A router as a graph takes it.

    LangGraph would call a plain function in a thread, since it might block, and make callbacks for
    it; a router is done before the thread would have begun.
    """

    def __init__(self, router: Callable[[Any], Any], name: str) -> None:
        self.name = name
        self._router = router

    def invoke(self, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002 - LangChain's name
        """Where to go from this state."""
        return self._router(input)

    async def ainvoke(self, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        """As `invoke`."""
        return self._router(input)


def route_after_think(
    state: AgentState, special: tuple[str, ...] = ("terminate",)
) -> list[Send] | AfterThink:
    """One task of `act` for each call; with none to the stuck check; with no reply to the end."""
    reason = state.get("stop_reason")
    if reason in ("budget", "error"):
        return reason
    message = last_assistant(state["messages"])
    if message is None or not has_calls(message):
        return "no_call"
    answered = {answer.tool_call_id for answer in newest_answers(state["messages"])}
    wants_answer = "run" in state and lacks_answer(state["messages"], message, state["run"])
    tasks = to_tasks(message, special, state.get("loop"), wants_answer=wants_answer)
    tasks = [task for task in tasks if task["id"] not in answered]
    if not tasks:  # a person has written into a thread whose calls were carried out
        return "no_call"
    compaction = state.get("compaction")
    facts = facts_of(state["messages"], compaction)
    if approved := state.get("approved"):
        facts["approved"] = approved
    if refused := state.get("refused"):
        facts["refused"] = [rule for refusal in refused for rule in refusal["rules"]]
    tasks = [cast(ToolTask, {**task, **facts}) for task in tasks]
    for task in tasks:
        if compaction is not None and task["name"].lower() == RECALL:
            # what it looks into: another process may be the one to make the call
            task["compaction"] = compaction
    if len(tasks) > 1:
        ids = [task["id"] for task in tasks]
        for task in tasks:
            task["calls"] = ids
    shelf = PlanCollection(state.get("plans", {}), state.get("active_plan"))
    return [Send("act", task) for task in inject_plans(tasks, shelf)]


def route_after_stuck_check(state: AgentState) -> AfterStuckCheck:
    """To the next step, unless one of the rules in `stop_conditions` has ended the run."""
    reason = state.get("stop_reason")
    if reason is None:
        return "next_step"
    if reason in ("terminated", "answered", "max_steps", "budget", "stuck"):
        return reason
    return "error"


def route_after_plan(state: FlowState) -> AfterPlan:
    """To the first steps; before them to the person who approves, or back for another plan.

    A plan that could not be made is made again in a run that goes on.
    """
    reason = state.get("stop_reason")
    if reason is not None:
        return "error" if reason == "error" else "cancelled"
    approval = state["run"]["approval"]
    if not state.get("plan") or approval == "rejected":
        return "rejected"
    return "to_approve" if approval == "wanted" else "ready"


def route_after_execute_step(state: FlowState) -> list[Send] | AfterExecuteStep:
    """Send each step that was taken; when they have ended, name what can be done then.

    A step that ends, or is set aside with its question, sees its siblings still in progress: the
    node looks again when all have ended.
    """
    run = state["run"]
    plan = state["plan"]
    working = active_steps(plan)
    if working and sorted(working) == last_started_steps(plan):
        return [Send("execute_step", task_of(state, index)) for index in working]
    if working:
        return "ended"
    if "over" in run:
        return "complete"
    if can_revise(state):
        return "blocked"
    return "ready_steps" if ready_steps(plan) or waiting_steps(plan) else "complete"


def with_all_labels(drawing: Graph, builder: StateGraph[Any, Any, Any, Any]) -> Graph:
    """The drawing with all labels of conditional edges; LangGraph draws one per pair of nodes."""
    labels: dict[tuple[str, str], list[str]] = {}
    for source, branches in builder.branches.items():
        for branch in branches.values():
            for label, target in (branch.ends or {}).items():
                labels.setdefault((source, target), []).append(str(label))
    for index, edge in enumerate(drawing.edges):
        if edge.conditional and (edge.source, edge.target) in labels:
            data = ", ".join(labels[edge.source, edge.target])
            drawing.edges[index] = edge._replace(data=data)
    return drawing
