"""A compiled graph that opens the resources of a run at its start and closes them at its end."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Self, overload

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import All, Durability, Interrupt, StateSnapshot

from manus.calls.decisions import QuestionSlot
from manus.calls.hooks import run_end_hooks
from manus.config.context import Context
from manus.config.profile import Profile
from manus.graph.active_runs import ActiveRuns, StreamHandle, identify_run, lock_thread
from manus.graph.attachments import with_uploads
from manus.graph.chat_state import ChatStream, adapt_for_chat_uis
from manus.graph.descriptions import Descriptions
from manus.graph.inbox import next_input, open_inbox
from manus.graph.inputs import (
    build_run_config,
    check_served,
    find_served_records,
    is_served,
    program_context,
    resolve_context,
    to_input,
)
from manus.graph.outcome import as_ended, as_waiting, format_question, is_over, record_failures
from manus.graph.resume import at_newest, restore_files, restore_run, resume_repeated
from manus.graph.state_update import check_update
from manus.graph.sync_calls import ResultT, SyncCalls, with_usable_saver
from manus.graph.waiting import handle_waiting
from manus.nodes.active_run import ActiveRun, get_parent_run, open_run
from manus.nodes.wrapping import AgentOptions
from manus.state.errors import UsageError
from manus.threads.records.select import CHECKPOINTER, fence_saver, select_records

NO_THREAD = (
    "A graph with a checkpointer needs a thread id: pass "
    '{"configurable": {"thread_id": "…"}} as its configuration.'
)


# the results of `invoke` and `ainvoke` are typed more narrowly than LangGraph's
class RunGraph(SyncCalls[ResultT], Descriptions, CompiledStateGraph[Any, Context, Any, Any]):  # type: ignore[misc]
    """Compiled graph of a profile whose runs have live resources.

    It differs from a plain compiled graph in two ways: a `request` becomes a user message before
    the first checkpoint, so that it is never lost; and the live resources of a run (shell, browser,
    …) are closed when the run ends, fails or is cancelled. While the run waits for a person, or at
    a breakpoint, they stay open. `ResultT` is the type that `invoke` returns.
    """

    shares_inbox = False
    """Whether the user's messages to a run are also read by the graphs nested in it."""

    def __init__(
        self,
        *,
        profile: Profile,
        build_subagent: Callable[[str], RunGraph[Any]],
        active_runs: ActiveRuns | None = None,
        subagents: dict[str, RunGraph[Any]] | None = None,
        agent_options: AgentOptions | None = None,
        is_named_in_file: bool = False,
        **parts: Any,
    ) -> None:
        super().__init__(**parts)
        self.profile = profile
        self.build_subagent = build_subagent
        """Builds the graph of a profile for tasks that are delegated to it."""
        self.agent_options = agent_options or AgentOptions()
        self.active_runs = active_runs or ActiveRuns()
        self.is_named_in_file = is_named_in_file
        """Whether programs load it by its name in `langgraph.json` (see `program_context`)."""
        self.subagents = subagents if subagents is not None else {}
        """Graphs of the profiles that a task was delegated to, by name."""

    @classmethod
    def of(
        cls,
        compiled: CompiledStateGraph[Any, Any, Any, Any],
        profile: Profile,
        build_subagent: Callable[[str], RunGraph[Any]],
    ) -> Self:
        """Return a compiled graph as a graph of a profile; copies its fields as `Pregel.copy`."""
        fields = dict(vars(compiled))
        fields.pop("__orig_class__", None)
        return cls(profile=profile, build_subagent=build_subagent, **fields)

    @overload  # type: ignore[override]
    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        durability: Durability | None = None,
    ) -> ResultT: ...

    @overload
    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Any: ...

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name is LangGraph's
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Any:
        """Run the graph and return its output, or the questions of a run that waits for a person.

        Takes the arguments of `CompiledStateGraph.ainvoke`. Without `stream_mode` and the like the
        result is typed.

        Raises:
            UsageError: as `astream`.
        """
        result = await super().ainvoke(input, config, **options)
        if not isinstance(result, dict) or not result.get("__interrupt__"):
            return result
        interrupts = await self._sort_interrupts(result["__interrupt__"], config)
        questions = "\n".join(map(format_question, interrupts))
        return {**as_ended(result, as_waiting(questions)), "__interrupt__": interrupts}

    async def _sort_interrupts(
        self, interrupts: list[Interrupt], config: RunnableConfig | None
    ) -> list[Interrupt]:
        """Return the questions in the order in which they were asked.

        A stream has those of parallel tasks in arbitrary order.
        """
        if len(interrupts) < 2:
            return interrupts
        snapshot = await self.stored_state((config or {}).get("configurable", {}))
        if snapshot is None:
            return interrupts
        positions = {item.id: position for position, item in enumerate(snapshot.interrupts)}
        return sorted(interrupts, key=lambda item: positions.get(item.id, len(positions)))

    def astream(
        self,
        input: Any,  # noqa: A002 - the name is LangGraph's
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncGenerator[Any]:
        """Run the graph and stream its parts, as `CompiledStateGraph.astream`.

        As a node of another graph, it takes the fields of that graph's context that both share.

        Raises:
            UsageError: there is no request, the thread is busy, or a setting is invalid.
        """
        handle = StreamHandle()
        stream = self._stream(handle, input, config, context, options)
        handle.stream = weakref.ref(stream)
        return stream

    async def _stream(
        self,
        handle: StreamHandle,
        graph_input: Any,
        config: RunnableConfig | None,
        context: Any,
        options: dict[str, Any],
    ) -> AsyncGenerator[Any]:
        is_request = isinstance(graph_input, dict) and graph_input.get("request") is not None
        graph_input = to_input(graph_input, needs_request=self.agent_options.wrappers is None)
        recursion_limit = (config or {}).get("recursion_limit")
        config = with_usable_saver(ensure_config(config), self.checkpointer)
        configurable = config.get("configurable", {})
        run_context, tool_context = resolve_context(
            context, self.builder.context_schema, configurable
        )
        if is_served(config):
            await asyncio.to_thread(check_served, run_context)
        elif self.is_named_in_file:
            run_context = await asyncio.to_thread(program_context, run_context, configurable)
        async with self._open(handle, config, run_context) as active_run:
            session = active_run.session
            graph_input, config = await resume_repeated(self, graph_input, config)
            if session.settings.restore_files:
                await restore_files(self, active_run, config.get("configurable", {}))
            graph_input = await asyncio.to_thread(with_uploads, graph_input, session.workspace)
            options, chat = self._stream_options(active_run, options)
            while True:
                run = self._run_once(
                    active_run,
                    graph_input,
                    {**config, "recursion_limit": recursion_limit},
                    tool_context,
                    options,
                    is_request=is_request,
                )
                async with aclosing(run) as parts:
                    async for part in parts:
                        if chat is not None:
                            part = await chat.translate(part)
                        handle.is_idle = True
                        yield part
                        handle.is_idle = False
                        handle.task = asyncio.current_task()
                graph_input = await next_input(self, active_run, config.get("configurable", {}))
                if graph_input is None:
                    await run_end_hooks(session, config, is_inside=active_run.is_inside)
                    return
                is_request = True
                config = at_newest(config)

    async def _run_once(
        self,
        active_run: ActiveRun,
        graph_input: Any,
        config: Any,
        tool_context: Any,
        options: dict[str, Any],
        *,
        is_request: bool,
    ) -> AsyncGenerator[Any]:
        """Yield the parts of the stream of one run, from its input to its end or a question."""
        session = active_run.session
        graph_input, configurable = await handle_waiting(
            self,
            graph_input,
            config.get("configurable", {}),
            session.journal,
            is_request=is_request,
        )
        if not configurable.get("checkpoint_ns") and CHECKPOINTER not in configurable:
            configurable = {**configurable, **self._fenced_checkpointer()}
        run_config = build_run_config(config, configurable, active_run, config["recursion_limit"])
        # a nested run resumes whenever its task starts
        is_new = isinstance(graph_input, dict) and not active_run.is_inside
        await restore_run(self, active_run, run_config["configurable"], is_new=is_new)
        stream = super().astream(graph_input, run_config, context=tool_context, **options)
        async with aclosing(record_failures(self, stream, run_config)) as parts:
            async for part in parts:
                yield part
        if self._has_breakpoints(options):
            snapshot = await self.stored_state(configurable)
            # a run that stopped at a breakpoint has more to do
            session.waiting |= snapshot is not None and not is_over(snapshot)

    def _has_breakpoints(self, options: Mapping[str, Any]) -> bool:
        """Return whether a run may stop before or after a node."""
        own = self.interrupt_before_nodes or self.interrupt_after_nodes
        return bool(own or options.get("interrupt_before") or options.get("interrupt_after"))

    def _fenced_checkpointer(self) -> dict[str, Any]:
        """Return the part of a configuration that replaces the saver, if it must be fenced."""
        saver = fence_saver(self.checkpointer)
        return {} if saver is self.checkpointer else {CHECKPOINTER: saver}

    def _stream_options(
        self, active_run: ActiveRun, options: dict[str, Any]
    ) -> tuple[dict[str, Any], ChatStream | None]:
        """Return the options for LangGraph, and the translator of the stream for chat UIs."""
        options = {**options}
        if self.checkpointer and options.get("durability") is None:
            # unless the caller wants otherwise, a step is on disk before the next one starts
            options["durability"] = "sync"
        if not active_run.is_served or not isinstance(options.get("output_keys"), list):
            return options, None
        chat = ChatStream(options["output_keys"], self.channels)
        options["output_keys"] = chat.output_keys
        return options, chat

    @asynccontextmanager
    async def _open(
        self, handle: StreamHandle, config: RunnableConfig, context: Context
    ) -> AsyncGenerator[ActiveRun]:
        """Hold the thread of a run and its live resources until its stream has ended."""
        key, is_durable = identify_run(config)
        if not is_durable and isinstance(self.checkpointer, BaseCheckpointSaver):
            raise UsageError(NO_THREAD)
        waited = await self.active_runs.begin(key, handle)
        lock = AsyncExitStack()
        parent = get_parent_run(config)
        try:
            configurable = config.get("configurable", {})
            records = select_records(configurable.get(CHECKPOINTER) or self.checkpointer)
            if records is None and is_served(config):
                records = await asyncio.to_thread(find_served_records)
            await lock_thread(lock, self.checkpointer, configurable, None if parent else records)
            lines = None
            if records is not None and is_durable:
                thread_id = str(configurable["thread_id"])
                lines = records.log(thread_id, str(configurable.get("checkpoint_ns", "")))
            active_run = await open_run(
                key,
                self.profile,
                context,
                durable=is_durable,
                is_served=is_served(config),
                lines=lines,
                parent=parent,
                waited=waited,
            )
            handle.active_run = active_run
            active_run.inbox = await open_inbox(self, parent, configurable, records)
            active_run.shares_inbox = self.shares_inbox
            active_run.load_agent = self.load_agent
            active_run.agent_options = self.agent_options
            slot = parent.session.question_slot if parent else QuestionSlot()
            active_run.session.question_slot = slot if active_run.is_served else None
            yield active_run
        finally:
            # the next run on the thread waits until everything is closed
            if handle.active_run is None and waited is not None:
                await asyncio.shield(waited.session.close())
            await asyncio.shield(self._close(key, handle, lock, may_wait=is_durable))

    async def _close(
        self, key: str, handle: StreamHandle, lock: AsyncExitStack, *, may_wait: bool
    ) -> None:
        try:
            await self.active_runs.end(key, handle, may_wait=may_wait)
        finally:
            await lock.aclose()

    def load_agent(self, name: str) -> RunGraph[Any]:
        """Return the graph of a profile that a task is delegated to, without `delegate`. Blocking.

        Raises:
            SettingsError: the profile does not exist.
        """
        if name not in self.subagents:
            self.subagents[name] = self.build_subagent(name)
        self.subagents[name].active_runs = self.active_runs
        return self.subagents[name]

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a thread, with `todos` and `files` for chat UIs."""
        config = with_usable_saver(config, self.checkpointer)
        return await adapt_for_chat_uis(await super().aget_state(config, subgraphs=subgraphs))

    async def aget_state_history(
        self, config: RunnableConfig, **options: Any
    ) -> AsyncGenerator[StateSnapshot]:
        """Yield the states of a thread, newest first; see `aget_state`."""
        config = with_usable_saver(config, self.checkpointer)
        async for snapshot in super().aget_state_history(config, **options):
            yield await adapt_for_chat_uis(snapshot)

    async def aupdate_state(
        self,
        config: RunnableConfig,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Change the state of a thread, as `CompiledStateGraph.aupdate_state`.

        Raises:
            PlanError: the plan is invalid.
            UsageError: another value is invalid, or a flow is running.
        """
        if values is not None and as_node != START:
            current = (await self.aget_state(config)).values
            values = check_update(values, current, self.builder.state_schema)
        config = with_usable_saver(config, self.checkpointer)
        return await super().aupdate_state(config, values, as_node, task_id)

    async def write_state(self, configurable: dict[str, Any], values: Any, as_node: str) -> None:
        """Write to a thread as one of its nodes, without the checks of `aupdate_state`."""
        config = with_usable_saver({"configurable": configurable}, self.checkpointer)
        await CompiledStateGraph.aupdate_state(self, config, values, as_node)

    async def close_waiting(self) -> None:
        """Close the live resources of runs that wait for a person.

        A later answer resumes such a run from its stored state, as after a crash.
        """
        await self.active_runs.close_waiting()

    async def stored_state(self, configurable: dict[str, Any]) -> StateSnapshot | None:
        """Return the newest state of a thread, or None without a checkpointer."""
        newest = dict(configurable)
        newest.pop("checkpoint_id", None)
        try:
            config = with_usable_saver({"configurable": newest}, self.checkpointer)
            return await super().aget_state(config)
        except ValueError:  # raised by LangGraph if there is no checkpointer
            return None
