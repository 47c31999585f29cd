"""A compiled graph that opens what a run needs when it begins and closes it when it ends."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_DURABILITY
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph, StateGraph

from manus.graph.given import to_context, to_input
from manus.graph.journal_check import doubt_unfinished
from manus.graph.outcome import is_over, question_of
from manus.nodes import active_run as running
from manus.nodes.turn.final_answer import kept_for_last_word
from manus.nodes.turn.side_calls import offer_model
from manus.state.agent import AgentInput
from manus.state.context import Context
from manus.state.errors import UsageError
from manus.state.profile import Profile
from manus.tools.journal import Journal

NO_THREAD = (
    "A graph with a checkpointer needs to know the thread: give "
    '{"configurable": {"thread_id": "…"}} as its configuration.'
)


class RunGraph(CompiledStateGraph[Any, Context, Any, Any]):
    """The agent graph of one profile.

    It differs from a plain compiled graph in two ways: a request in words becomes a message of the
    user before the first checkpoint, so that it is kept whatever happens next; and the live things
    of the run (shell, browser, …) are closed when the run ends, fails or is cancelled. While it
    waits for a person, or at a breakpoint, they stay open.
    """

    def __init__(self, *, profile: Profile, **parts: Any) -> None:
        super().__init__(**parts)
        self.profile = profile

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any], profile: Profile) -> Self:
        """The compiled graph as a graph of a profile; as `Pregel.copy` makes its copies."""
        parts = {k: v for k, v in vars(compiled).items() if k != "__orig_class__"}
        return cls(profile=profile, **parts)

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The drawing, with every rule that leads from one node to another on its edge."""
        return with_all_labels(super().get_graph(config, xray=xray), self.builder)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """As `get_graph`."""
        return with_all_labels(await super().aget_graph(config, xray=xray), self.builder)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """The form of a run's input: without the status, which `astream` adds."""
        schema = super().get_input_jsonschema(config)
        schema.get("properties", {}).pop("status", None)
        return {**schema, "title": "Input", "description": str(AgentInput.__doc__)}

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name is LangGraph's
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Any:
        """As `CompiledStateGraph.ainvoke`; a run that waits for a person gives back its question.

        Raises:
            UsageError: as `astream`.
        """
        found = await super().ainvoke(input, config, **options)
        if isinstance(found, dict) and (waiting := found.get("__interrupt__")):
            questions = "\n".join(map(question_of, waiting))
            return {**found, "stop_reason": "interrupted", "output": questions}
        return found

    async def astream(
        self,
        input: Any,  # noqa: A002 - the name is LangGraph's
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """As `CompiledStateGraph.astream`, for `ainvoke` too.

        Raises:
            UsageError: there is no request, the thread is busy, or a setting does not fit.
        """
        given = to_input(input)
        chosen = to_context(context)
        config = ensure_config(config)
        key, durable = _key_of(config)
        if not durable and isinstance(self.checkpointer, BaseCheckpointSaver):
            raise UsageError(NO_THREAD)
        parent = running.at_work(config.get("configurable", {}).get(running.KEY))
        share = config.get("configurable", {}).get(running.SHARE)
        running_now = await running.start(
            key, self.profile, chosen, durable=durable, parent=parent, share_of=share
        )
        offer_model(running_now)
        inner = self._inner(config, key, running_now)
        is_new = share is None and isinstance(given, dict)
        try:
            await self._remember(running_now, inner, is_new=is_new)
            await self._doubt(running_now.session.journal, inner["configurable"], is_new=is_new)
            stream = cast(Any, super().astream(given, inner, context=chosen, **options))
            async with aclosing(stream) as parts:
                async for part in parts:
                    yield part
                    running.goes_on(key)
            if options.get("interrupt_before") or options.get("interrupt_after"):
                running_now.session.waiting |= await self._is_under_way(inner["configurable"])
        finally:
            await asyncio.shield(running.stop(key, keep=durable))

    async def _remember(
        self, running_now: running.Running, config: RunnableConfig, *, is_new: bool
    ) -> None:
        """Tell a purse of a run that goes on what was spent: tools may be the first to ask it."""
        if is_new or not running_now.purse.is_limited:
            return
        values = await self.stored_values(config)
        if (usage := values.get("usage")) is not None:
            purse, history = running_now.purse, values.get("messages", [])
            purse.sync(usage)
            purse.keep(kept_for_last_word(purse.budget, usage, history))

    def _inner(
        self, config: RunnableConfig, key: str, running_now: running.Running
    ) -> RunnableConfig:
        """The configuration that the nodes see."""
        given = config.get("configurable", {})
        # a step is on disk before the next one begins, unless the caller wants it otherwise
        default = {CONFIG_KEY_DURABILITY: "sync"} if self._is_stored(given) else {}
        limit = max(config.get("recursion_limit", 0), self.supersteps(running_now.max_steps))
        configurable = {**default, **given, running.KEY: key}
        return {**config, "configurable": configurable, "recursion_limit": limit}

    def supersteps(self, max_steps: int) -> int:
        """How many supersteps a run of so many steps may take."""
        return 3 * max_steps + 10

    async def _doubt(self, journal: Journal, given: dict[str, Any], *, is_new: bool) -> None:
        """See whether a run that goes on has the journal that belongs to its state."""
        if given.get("checkpoint_id"):
            journal.fork()  # a fork repeats effects on purpose
        if is_new or not self._is_stored(given) or given.get("checkpoint_id"):
            journal.is_whole = True
            return
        doubt_unfinished(journal, await self.aget_state(_newest(given)))

    async def _is_under_way(self, configurable: dict[str, Any]) -> bool:
        """Whether the thread has more to do: the run has stopped at a breakpoint."""
        if not self._is_stored(configurable):
            return False
        return not is_over(await self.aget_state(_newest(configurable)))

    async def stored_values(self, config: RunnableConfig) -> dict[str, Any]:
        """The newest state of a run's thread; empty where nothing is stored."""
        configurable = config.get("configurable", {})
        if not self._is_stored(configurable):
            return {}
        values: dict[str, Any] = (await self.aget_state(_newest(configurable))).values
        return values

    def _is_stored(self, configurable: dict[str, Any]) -> bool:
        """Whether there is a checkpointer: of its own, or of the graph that it runs in."""
        return bool(self.checkpointer) or configurable.get(CONFIG_KEY_CHECKPOINTER) is not None


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


def _newest(configurable: dict[str, Any]) -> RunnableConfig:
    return {"configurable": {k: v for k, v in configurable.items() if k != "checkpoint_id"}}


def _key_of(config: RunnableConfig) -> tuple[str, bool]:
    """The key of a run, and whether it has a thread under which it can be resumed.

    A subgraph runs in a checkpoint namespace of its own and is a run of its own.
    """
    configurable = config.get("configurable", {})
    thread = configurable.get("thread_id")
    space = configurable.get("checkpoint_ns", "")
    return f"{thread or uuid.uuid4().hex}:{space}", thread is not None
