"""A compiled graph that opens what a run needs when it begins and closes it when it ends."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Interrupt, StateSnapshot

from manus.config.context import HELD, Context
from manus.config.profile import Profile
from manus.config.trust import approved_rules
from manus.execution.decisions import QuestionSlot
from manus.execution.siblings import Siblings
from manus.graph.active_runs import ActiveRuns, StreamHandle, key_of
from manus.graph.chat_state import ChatStream, for_chat_uis
from manus.graph.inputs import (
    check_served,
    known_fields,
    outer_context,
    to_context,
    to_input,
    with_uploads,
)
from manus.graph.journal_check import MARK, asked_about, doubt_unfinished
from manus.graph.outcome import is_over, question_of
from manus.graph.pending_calls import siblings_in
from manus.graph.routing import with_all_labels
from manus.graph.state_update import checked_update
from manus.graph.sync_calls import SyncCalls
from manus.graph.waiting import meet_wait
from manus.nodes.active_run import KEY, ActiveRun, RunReference, open_run, parent_run_of
from manus.nodes.subgraph_config import CHECKPOINTER
from manus.state.agent import AgentInput
from manus.state.errors import UsageError
from manus.tools.delegate import DELEGATE

NO_THREAD = (
    "A graph with a checkpointer needs to know the thread: give "
    '{"configurable": {"thread_id": "…"}} as its configuration.'
)

_SUPERSTEPS = 1_000_000
"""At most, so that the step budget ends a run and not LangGraph's own limit."""


class RunGraph(SyncCalls, CompiledStateGraph[Any, Context, Any, Any]):
    """The agent graph of one profile.

    It differs from a plain compiled graph in two ways: a request in words becomes a message of the
    user before the first checkpoint, so that it is kept whatever happens next; and the live things
    of the run (shell, browser, …) are closed when the run ends, fails or is cancelled. While it
    waits for a person, or at a breakpoint, they stay open.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        active_runs: ActiveRuns | None = None,
        inner: dict[str, RunGraph] | None = None,
        **parts: Any,
    ) -> None:
        super().__init__(**parts)
        self.profile = profile
        self.active_runs = active_runs or ActiveRuns()
        self.inner = inner if inner is not None else {}
        """Graphs of agents that one of this graph has given a task."""

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
            asked = await self._in_order(waiting, config)
            questions = "\n".join(map(question_of, asked))
            interrupted = {"stop_reason": "interrupted", "output": questions}
            return {**found, **interrupted, "__interrupt__": asked}
        return found

    async def _in_order(
        self, asked: list[Interrupt], config: RunnableConfig | None
    ) -> list[Interrupt]:
        """Return the questions in the order in which they were asked.

        A stream has those of tasks side by side as they come.
        """
        configurable = (config or {}).get("configurable", {})
        stored = await self.stored_state(configurable) if len(asked) > 1 else None
        order = [interrupt.id for interrupt in stored.interrupts] if stored is not None else []
        places = {interrupt_id: place for place, interrupt_id in enumerate(order)}
        return sorted(asked, key=lambda interrupt: places.get(interrupt.id, len(places)))

    def astream(
        self,
        input: Any,  # noqa: A002 - the name is LangGraph's
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncGenerator[Any]:
        """As `CompiledStateGraph.astream`, for `ainvoke` too.

        As a node of another graph it takes over that one's context as far as it knows its fields.

        Raises:
            UsageError: there is no request, the thread is busy, or a setting does not fit.
        """
        handle = StreamHandle()
        stream = self._stream(handle, input, config, context, options)
        handle.stream = weakref.ref(stream)
        return stream

    async def _stream(
        self,
        handle: StreamHandle,
        given: Any,
        config: RunnableConfig | None,
        context: Any,
        options: Any,
    ) -> AsyncGenerator[Any]:
        is_request = isinstance(given, dict) and given.get("request") is not None
        given = to_input(given)
        found = outer_context() if context is None else context
        is_ours = context is not None and self.builder.context_schema is Context
        chosen = to_context(found if is_ours else known_fields(found))
        if is_ours or found is None:
            context = chosen  # else the tools are given the caller's own
        limit = (config or {}).get("recursion_limit")
        config = ensure_config(config)
        if "assistant_id" in config.get("configurable", {}):  # it comes from LangGraph's server
            await asyncio.to_thread(check_served, chosen)
        async with self._opened(handle, config, chosen) as active_run:
            given = await asyncio.to_thread(with_uploads, given, active_run.session.workspace)
            given, configurable = await meet_wait(
                self,
                given,
                config.get("configurable", {}),
                active_run.session.journal,
                is_request=is_request,
            )
            configurable = {**configurable, KEY: RunReference(active_run)}
            inner: RunnableConfig = {
                **config,
                "configurable": configurable,
                "metadata": {**config.get("metadata", {}), MARK: active_run.session.journal.id},
                "recursion_limit": _SUPERSTEPS if limit is None else limit,
            }
            # a step of a plan may go on each time that it begins
            is_new = isinstance(given, dict) and not active_run.is_inside
            await self._recall(active_run, configurable, is_new=is_new)
            if self.checkpointer and options.get("durability") is None:
                # a step is on disk before the next one begins, unless the caller wants it otherwise
                options = {**options, "durability": "sync"}
            chat = None
            if active_run.is_served and isinstance(options.get("output_keys"), list):
                chat = ChatStream(options["output_keys"], self.channels)
                options = {**options, "output_keys": chat.output_keys}
            stream = cast(Any, super().astream(given, inner, context=context, **options))
            async with aclosing(stream) as parts:
                async for part in parts:
                    part = await chat.translate(part) if chat else part
                    handle.is_idle = True
                    yield part
                    handle.is_idle = False
                    handle.task = asyncio.current_task()
            if options.get("interrupt_before") or options.get("interrupt_after"):
                found = await self.stored_state(configurable)
                # one that has stopped at a breakpoint has more to do
                active_run.session.waiting |= found is not None and not is_over(found)

    @asynccontextmanager
    async def _opened(
        self, handle: StreamHandle, config: RunnableConfig, context: Context
    ) -> AsyncGenerator[ActiveRun]:
        """Hold the thread of a run, and what it needs, until its stream has ended."""
        key, durable = key_of(config)
        if not durable and isinstance(self.checkpointer, BaseCheckpointSaver):
            raise UsageError(NO_THREAD)
        waited = await self.active_runs.begin(key, handle)
        held = AsyncExitStack()
        configurable = config.get("configurable", {})
        # the store of the command line keeps other processes, and other graphs of this one, from
        # the thread; whoever holds it already says so
        hold = getattr(self.checkpointer, "hold", None)
        is_held = bool(configurable.get(HELD) or configurable.get("checkpoint_ns"))
        try:
            if hold is not None and not is_held:
                await held.enter_async_context(hold(str(configurable["thread_id"])))
            handle.active_run = await open_run(
                key,
                self.profile,
                context,
                durable=durable,
                parent=parent_run_of(config),
                waited=waited,
            )
            handle.active_run.load_agent = self.load_agent
            served = "assistant_id" in configurable  # it may have many users
            parent = parent_run_of(config)
            slot = parent.session.question_slot if parent else QuestionSlot()
            handle.active_run.session.question_slot = slot if served else None
            handle.active_run.is_served = served
            if served or not handle.active_run.settings.memory:
                handle.active_run.disable_memory()
            yield handle.active_run
        finally:
            # until all is closed, the next run on the thread has to wait
            await asyncio.shield(self._end(key, handle, held, may_wait=durable))

    def load_agent(self, name: str) -> RunGraph:
        """The graph of an agent that is given a task, and cannot pass it on. Blocking.

        Raises:
            SettingsError: there is no such profile.
        """
        from manus.graph.agent import build_agent
        from manus.graph.profiles import profile_named

        if name not in self.inner:
            profile = profile_named(name)
            tools = tuple(tool for tool in profile.tools if str(tool).lower() != DELEGATE)
            self.inner[name] = build_agent(replace(profile, tools=tools))
        self.inner[name].active_runs = self.active_runs
        return self.inner[name]

    async def _end(
        self, key: str, handle: StreamHandle, held: AsyncExitStack, *, may_wait: bool
    ) -> None:
        try:
            await self.active_runs.end(key, handle, may_wait=may_wait)
        finally:
            await held.aclose()

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As `CompiledStateGraph.aget_state`, with `todos` and `files` for chat UIs."""
        return await for_chat_uis(await super().aget_state(config, subgraphs=subgraphs))

    async def aget_state_history(
        self, config: RunnableConfig, **options: Any
    ) -> AsyncGenerator[StateSnapshot]:
        """As `CompiledStateGraph.aget_state_history`; see `aget_state`."""
        async for snapshot in super().aget_state_history(config, **options):
            yield await for_chat_uis(snapshot)

    async def aupdate_state(
        self,
        config: RunnableConfig,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """As `CompiledStateGraph.aupdate_state`.

        Raises:
            PlanError: the plan does not fit.
            UsageError: another value does not; or a flow is at work.
        """
        if values is not None and as_node != START:
            present = (await self.aget_state(config)).values
            values = checked_update(values, present, self.builder.state_schema)
        return await super().aupdate_state(config, values, as_node, task_id)

    async def write_state(self, configurable: dict[str, Any], values: Any, as_node: str) -> None:
        """Write to a thread as one of its nodes does, without the checks of a person's change."""
        await CompiledStateGraph.aupdate_state(
            self, {"configurable": configurable}, values, as_node
        )

    async def close_waiting(self) -> None:
        """Close what runs keep open that wait for a person: this process will not go on with them.

        An answer that comes later finds the run as after a crash: built again from what is stored.
        """
        await self.active_runs.close_waiting()

    async def _recall(
        self, active_run: ActiveRun, configurable: dict[str, Any], *, is_new: bool
    ) -> None:
        """Tell a run that goes on what it has used; see whether its journal fits its state."""
        journal = active_run.session.journal
        is_fork = bool(configurable.get("checkpoint_id"))
        if is_fork:
            journal.fork()  # a fork repeats effects on purpose
        if is_new:  # what was approved for the run before does not hold for this one
            root = active_run.session.workspace.root
            active_run.approved = await asyncio.to_thread(approved_rules, root)
            active_run.refused = []
        found = None if is_new else await self.stored_state(configurable)
        if found is not None and (usage := found.values.get("usage")) is not None:
            known = active_run.budget.add if active_run.is_inside else active_run.budget.sync
            known(usage)  # tools may be the first to ask its model
        if found is not None:
            active_run.session.egress_guard.hear(found.values.get("messages") or [])
        active_run.session.asked = asked_about(found)
        tasks = found.tasks if found is not None else ()
        active_run.interrupted = {task.id for task in tasks if task.interrupts}
        active_run.session.siblings = Siblings()
        if found is not None:
            newest = found.config["configurable"].get("checkpoint_id")
            is_replay = is_fork and configurable["checkpoint_id"] != newest  # each call is repeated
            siblings = siblings_in(found, active_run.catalog)
            active_run.session.siblings = Siblings(unfinished=None) if is_replay else siblings
        if found is None or is_fork:
            journal.is_whole = True
        else:
            saver = configurable.get(CHECKPOINTER, self.checkpointer)
            await doubt_unfinished(saver, journal, found, active_run.catalog)

    async def stored_state(self, configurable: dict[str, Any]) -> StateSnapshot | None:
        """The newest state of a run's thread; None without a checkpointer, here or above."""
        named = {k: v for k, v in configurable.items() if k != "checkpoint_id"}
        try:
            return await super().aget_state({"configurable": named})
        except ValueError:  # LangGraph's, where there is no checkpointer
            return None
