"""Routers: plain functions of the state that decide which node comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Literal, cast

from langchain_core.messages import AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import StateGraph
from langgraph.types import Send

from manus.nodes.active_run import get_parent_run
from manus.nodes.calls import lacks_answer, to_tasks
from manus.nodes.planning.scheduling import build_task
from manus.state.agent import AgentState, Compaction, ToolTask
from manus.state.endings import StopReason, list_reasons
from manus.state.flow import FlowState, can_revise
from manus.state.messages import has_calls, last_assistant, newest_answers
from manus.state.plan import active_steps, last_started_steps, ready_steps, waiting_steps
from manus.state.taint import collect_facts
from manus.tools.planning import PlanCollection, inject_plans
from manus.tools.recall import NAME as RECALL

AfterThink = Literal["call", "no_call"] | StopReason
AfterStuckCheck = Literal["next_step"] | StopReason
AfterPlan = Literal["ready", "to_approve", "rejected", "cancelled", "error"]
AfterExecuteStep = Literal["ended", "ready_steps", "blocked", "message", "complete"]


class Router(Runnable[Any, Any]):
    """A router in the form that a graph takes.

    LangGraph would call a plain function in a thread, because it might block, and create callbacks
    for it. A router finishes before the thread would have started.
    """

    def __init__(
        self, router: Callable[..., Any], name: str, *, takes_config: bool = False
    ) -> None:
        self.name = name
        self._router = router
        self._takes_config = takes_config

    def invoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **_: Any,
    ) -> Any:
        """Return the next node or tasks."""
        if self._takes_config:
            return self._router(input, config)
        return self._router(input)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **_: Any,
    ) -> Any:
        """Return the next node or tasks."""
        return self.invoke(input, config)


def route_after_think(
    state: AgentState,
    config: RunnableConfig | None = None,
    special: tuple[str, ...] = ("terminate",),
) -> list[Send] | AfterThink:
    """Return one task of `act` for each call, or the label of the next node.

    Within a run, `config` has what the run already knows about its history.
    """
    reason = state.get("stop_reason")
    if reason in list_reasons("think"):
        return reason
    message = last_assistant(state["messages"])
    if message is None or not has_calls(message):
        return "no_call"
    answered = {answer.tool_call_id for answer in newest_answers(state["messages"])}
    wants_answer = "run" in state and lacks_answer(state["messages"], message, state["run"])
    tasks = to_tasks(message, special, state.get("loop"), wants_answer=wants_answer)
    tasks = [task for task in tasks if task["id"] not in answered]
    if not tasks:  # a person has added a message to a thread whose calls were executed
        return "no_call"
    compaction = state.get("compaction")
    facts = _collect_facts(state["messages"], compaction, config)
    approved = state.get("approved")
    if approved:
        facts["approved"] = approved
    refused = state.get("refused")
    if refused:
        facts["refused"] = list(chain.from_iterable(refusal["rules"] for refusal in refused))
    tasks = [cast(ToolTask, {**task, **facts}) for task in tasks]
    for task in tasks:
        if compaction is not None and task["name"].lower() == RECALL:
            # the archive to search: another process may execute the call
            task["compaction"] = compaction
    if len(tasks) > 1:
        ids = [task["id"] for task in tasks]
        for task in tasks:
            task["calls"] = ids
    plans = PlanCollection(state.get("plans", {}), state.get("active_plan"))
    return [Send("act", task) for task in inject_plans(tasks, plans)]


def _collect_facts(
    messages: Sequence[AnyMessage], compaction: Compaction | None, config: RunnableConfig | None
) -> dict[str, Any]:
    """Return the facts that a call needs. A run has already read all but the newest messages."""
    active_run = get_parent_run(config or {})
    if active_run is None:
        return collect_facts(messages, compaction)
    active_run.facts.read(messages)
    return active_run.facts.collect(compaction)


def route_after_stuck_check(state: AgentState) -> AfterStuckCheck:
    """Return `next_step`, or the reason why the run has ended."""
    reason = state.get("stop_reason")
    if reason is None:
        return "next_step"
    return reason if reason in list_reasons("stuck_check") else "error"


def route_after_plan(state: FlowState) -> AfterPlan:
    """Return the label for the first steps, the approval, another plan, or the end.

    A resumed run whose planning failed creates a new plan.
    """
    reason = state.get("stop_reason")
    if reason is not None:
        return "error" if reason == "error" else "cancelled"
    approval = state["run"]["approval"]
    if not state.get("plan") or approval == "rejected":
        return "rejected"
    return "to_approve" if approval == "wanted" else "ready"


def route_after_execute_step(state: FlowState) -> list[Send] | AfterExecuteStep:
    """Return one task for each step that was started, or the label of the next node.

    A step that ends, or is set aside with its question, still sees its siblings in progress: the
    router runs again when all have ended.
    """
    run = state["run"]
    plan = state["plan"]
    started = active_steps(plan)
    if started and sorted(started) == last_started_steps(plan):
        return [Send("execute_step", build_task(state, index)) for index in started]
    if started:
        return "ended"
    if "over" in run:
        return "complete"
    if "message" in run:
        return "message"
    if can_revise(state):
        return "blocked"
    return "ready_steps" if ready_steps(plan) or waiting_steps(plan) else "complete"


def with_all_labels(drawing: Graph, builder: StateGraph[Any, Any, Any, Any]) -> Graph:
    """Return the drawing with all labels of conditional edges; LangGraph keeps one per pair."""
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
