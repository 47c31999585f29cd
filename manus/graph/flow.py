"""The flow graph: plan, execute_step, summarize."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.protocol import PregelProtocol
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer, PregelTask, StateSnapshot
from typing_extensions import override

from manus.config.context import Context
from manus.config.profile import Profile
from manus.graph.agent import build_agent, build_subagent, check_model
from manus.graph.profiles import find_profile
from manus.graph.routing import Router, route_after_execute_step, route_after_plan
from manus.graph.run_graph import RunGraph
from manus.nodes.execute_step import execute_step
from manus.nodes.plan import plan
from manus.nodes.summarize import summarize
from manus.state.agent import AgentStart, FlowResult
from manus.state.errors import UsageError
from manus.state.flow import FlowOutput, FlowState

_AFTER_PLAN: dict[Hashable, str] = {
    "ready": "execute_step",
    "to_approve": "plan",
    "rejected": "plan",
    "cancelled": END,
    "error": END,
}
_AFTER_EXECUTE_STEP: dict[Hashable, str] = {
    "ready_steps": "execute_step",
    "ended": "execute_step",
    "blocked": "plan",
    "message": "plan",
    "complete": "summarize",
}
_NODE = "execute_step"
_BROWSER = "browser"

FLOW = Profile(
    name="flow",
    description="Plans first, then has each step executed.",
    tools=("planning",),
    system_prompt="",
    next_step_prompt="",
    role="plan",
)


class FlowGraph(RunGraph[FlowResult]):
    """Compiled flow graph with the graphs of its executors.

    Each step is a run of an executor's graph in its own checkpoint namespace, the step's `space`:
    `aget_state({"configurable": {"thread_id": …, "checkpoint_ns": space}})`.
    """

    shares_inbox = True

    def __init__(self, *, executors: dict[str, RunGraph[Any]] | None = None, **parts: Any) -> None:
        super().__init__(**parts)
        self.executors = executors or {}

    @override
    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, PregelProtocol[Any, Any, Any, Any]]]:
        """Yield the graph of an executor under its node's name; all have the same form."""
        if self.executors and namespace in (None, _NODE):
            yield _NODE, next(iter(self.executors.values()))

    @override
    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a thread, with the executor's state for a step that was set aside.

        Its executor runs in the namespace in which it asked, not in that of the newest task.
        """
        snapshot = await super().aget_state(config, subgraphs=subgraphs)
        tasks = list(snapshot.tasks)
        for index, task in enumerate(tasks):
            space = _find_namespace(task, snapshot.values)
            if space is not None:
                thread = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": space}
                state: Any = {"configurable": thread}
                if subgraphs:
                    state = await super().aget_state(state, subgraphs=True)
                tasks[index] = task._replace(state=state)
        return snapshot._replace(tasks=tuple(tasks))

    @override
    async def aupdate_state(
        self,
        config: RunnableConfig,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        if values is None or as_node == START:
            return await super().aupdate_state(config, values, as_node, task_id)
        configurable = config["configurable"]
        if self.active_runs.get_thread_runs(str(configurable.get("thread_id"))):
            raise UsageError(
                "The run is still running and would not see the change: stop it (or have it stop "
                'before a step with `interrupt_before=["execute_step"]`), change the state, and '
                "resume with None as input."
            )
        tasks = (await self.aget_state(config)).tasks
        are_finished = [task.result is not None for task in tasks]
        is_fork = "checkpoint_id" in configurable and all(are_finished)
        if any(are_finished) and not is_fork:
            raise UsageError(
                "Some of the running steps have ended, and a change now would lose their results: "
                "resume the run first (None as input, or `manus resume`; or answer its question), "
                "then change the state."
            )
        return await super().aupdate_state(config, values, as_node, task_id)


def build_flow(
    executors: Sequence[str | Profile | RunGraph[Any]] = ("manus",),
    *,
    model: str | Runnable[Any, Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> RunGraph[FlowResult]:
    """Return the compiled flow graph, which creates a plan and has an executor run each step.

    A step names its executor in brackets, `[browser] …`; without a known name, it gets the first
    executor. An executor is a profile, its name, or a graph of `build_agent`. `model` creates the
    plan, and is the model of executors without their own.

    Example:
        flow = build_flow(("manus", "data_analysis"))
        result = flow.invoke({"request": "Compare the sales of both years."})

    Raises:
        SettingsError: the profile does not exist, or `model` is not a chat model.
        UsageError: there is no executor, or two have the same name.
    """
    profiles = _profiles_by_name(executors)
    graphs = {name: build_agent(profile) for name, profile in profiles.items()}
    builder = _build_graph(profiles, graphs)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name="flow")
    check_model(model)
    flow_graph = FlowGraph.of(compiled, replace(FLOW, model=model), build_subagent)
    flow_graph.executors = graphs
    for graph in graphs.values():
        graph.active_runs = flow_graph.active_runs
    return flow_graph


def _find_namespace(task: PregelTask, values: Mapping[str, Any]) -> str | None:
    """Return the executor's namespace of a task with a question, if it differs from the task's."""
    ids = {interrupt.id for interrupt in task.interrupts}
    if not ids:
        return None
    resumed: list[str] = []
    for step in values.get("plan", {}).get("steps", []):
        waiting = step.get("waiting")
        if waiting and waiting["is_put"]:
            resumed.append(step["space"])
            if not ids.isdisjoint(waiting["ids"]):
                return str(step["space"])
    # a single resumed executor has asked its next question
    return resumed[0] if len(resumed) == 1 else None


def _build_graph(
    profiles: Mapping[str, Profile], graphs: Mapping[str, RunGraph[Any]]
) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph with its nodes and edges."""
    builder = StateGraph(
        FlowState, context_schema=Context, input_schema=AgentStart, output_schema=FlowOutput
    )
    # only one executor uses the browser at a time
    exclusive = frozenset(name for name in profiles if name.lower() == _BROWSER)
    step = partial(execute_step, executors=graphs, exclusive=exclusive)
    # LangGraph passes state, runtime and configuration; its types allow only two of them
    nodes: dict[str, Any] = {
        "plan": partial(plan, executors=profiles),
        _NODE: step,
        "summarize": summarize,
    }
    for name, node in nodes.items():
        builder.add_node(name, node)
    builder.add_edge(START, "plan")
    after_plan = Router(route_after_plan, "route_after_plan")
    builder.add_conditional_edges("plan", after_plan, _AFTER_PLAN)
    after_step = Router(route_after_execute_step, "route_after_execute_step")
    builder.add_conditional_edges(_NODE, after_step, _AFTER_EXECUTE_STEP)
    builder.add_edge("summarize", END)
    return builder


def _profiles_by_name(
    executors: Sequence[str | Profile | RunGraph[Any]],
) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    for executor in executors:
        if isinstance(executor, RunGraph):
            profile = executor.profile
        elif isinstance(executor, Profile):
            profile = executor
        else:
            profile = find_profile(executor)
        if profile.name.lower() in map(str.lower, profiles):
            raise UsageError(f"Two executors are named `{profile.name}`; each needs its own name.")
        profiles[profile.name] = profile
    if not profiles:
        raise UsageError("A flow needs at least one executor.")
    return profiles
