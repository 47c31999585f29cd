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
from manus.graph.agent import build_agent, check_model
from manus.graph.profiles import profile_named
from manus.graph.routing import Router, route_after_execute_step, route_after_plan
from manus.graph.run_graph import RunGraph
from manus.nodes.execute_step import execute_step
from manus.nodes.plan import plan
from manus.nodes.summarize import summarize
from manus.state.agent import AgentStart
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
    "complete": "summarize",
}
_NODE = "execute_step"
_BROWSER = "browser"

FLOW = Profile(
    name="flow",
    description="Plans first, then has each step carried out.",
    tools=("planning",),
    system_prompt="",
    next_step_prompt="",
    role="plan",
)


class FlowGraph(RunGraph):
    """The flow graph over its executors.

    Each step is a run of an executor's graph in a checkpoint namespace of its own, which the
    step's `space` names: `aget_state({"configurable": {"thread_id": …, "checkpoint_ns": space}})`.
    """

    def __init__(self, *, executors: dict[str, RunGraph] | None = None, **parts: Any) -> None:
        super().__init__(**parts)
        self.executors = executors or {}

    @override
    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, PregelProtocol[Any, Any, Any, Any]]]:
        """The executor's graph, by the name of the node that runs it; all have one form."""
        if self.executors and namespace in (None, _NODE):
            yield _NODE, next(iter(self.executors.values()))

    @override
    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As `CompiledStateGraph.aget_state`; a step that was set aside has its executor's state.

        Its executor runs in the namespace in which it asked, and not in that of the newest task.
        """
        snapshot = await super().aget_state(config, subgraphs=subgraphs)
        tasks = list(snapshot.tasks)
        for place, task in enumerate(tasks):
            space = _space_of(task, snapshot.values)
            if space is not None:
                thread = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": space}
                state: Any = {"configurable": thread}
                if subgraphs:
                    state = await super().aget_state(state, subgraphs=True)
                tasks[place] = task._replace(state=state)
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
        place = config["configurable"]
        if self.active_runs.of_thread(str(place.get("thread_id"))):
            raise UsageError(
                "The run is at work and would not see the change: stop it (or have it stop before "
                'a step with `interrupt_before=["execute_step"]`), change the state, and go on '
                "with None as input."
            )
        ended = [task.result is not None for task in (await self.aget_state(config)).tasks]
        is_fork = "checkpoint_id" in place and all(ended)
        if any(ended) and not is_fork:
            raise UsageError(
                "Of the steps that were at work some have ended, and a change now would lose what "
                "came of them: have the run go on first (None as input, or `manus resume`; or "
                "answer what it asks), and change the state then."
            )
        return await super().aupdate_state(config, values, as_node, task_id)


def build_flow(
    executors: Sequence[str | Profile | RunGraph] = ("manus",),
    *,
    model: str | Runnable[Any, Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
) -> RunGraph:
    """The compiled flow graph: it plans, and has each step carried out by one of the executors.

    A step names its executor in brackets, `[browser] …`; without one, or with an unknown one, it is
    the first. An executor is a profile, or what `build_agent` has made of one. `model` plans, and
    works where an executor has none of its own.

    Example:
        flow = build_flow(("manus", "data_analysis"))
        result = flow.invoke({"request": "Compare the sales of both years."})

    Raises:
        SettingsError: there is no profile of that name, or `model` is no chat model.
        UsageError: there is no executor, or two have one name.
    """
    profiles = _by_name(executors)
    graphs = {name: build_agent(profile) for name, profile in profiles.items()}
    builder = _builder(profiles, graphs)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name="flow")
    check_model(model)
    flow_graph = FlowGraph.of(compiled, replace(FLOW, model=model))
    flow_graph.executors = graphs
    for graph in graphs.values():
        graph.active_runs = flow_graph.active_runs
    return flow_graph


def _space_of(task: PregelTask, values: Mapping[str, Any]) -> str | None:
    """Return the namespace of the executor of a task that asks a person, if that is not its own."""
    ids = {interrupt.id for interrupt in task.interrupts}
    steps = values.get("plan", {}).get("steps", []) if ids else []
    put = {}
    for step in steps:
        if (waiting := step.get("waiting")) and waiting["is_put"]:
            put[step["space"]] = set(waiting["ids"])
    same = [space for space, asked in put.items() if asked & ids]
    if not same and len(put) == 1:  # the only one at work has gone on to its next question
        same = [*put]
    return same[0] if same else None


def _builder(
    profiles: Mapping[str, Profile], graphs: Mapping[str, RunGraph]
) -> StateGraph[Any, Any, Any, Any]:
    """The nodes, and the edges that say what comes next."""
    builder = StateGraph(
        FlowState, context_schema=Context, input_schema=AgentStart, output_schema=FlowOutput
    )
    # of executors that work in the browser one is at work at a time
    exclusive = frozenset(name for name in profiles if name.lower() == _BROWSER)
    step = partial(execute_step, executors=graphs, exclusive=exclusive)
    # LangGraph gives a node state, runtime and configuration; its types know only two of the three
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


def _by_name(executors: Sequence[str | Profile | RunGraph]) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    for given in executors:
        given = given.profile if isinstance(given, RunGraph) else given
        profile = given if isinstance(given, Profile) else profile_named(given)
        if profile.name.lower() in map(str.lower, profiles):
            raise UsageError(f"Two executors are named `{profile.name}`; each needs its own name.")
        profiles[profile.name] = profile
    if not profiles:
        raise UsageError("A flow needs at least one executor.")
    return profiles
