"""Run an agent inside a run: the executor of a plan's step, or one with a delegated task.

The keys of a nested graph's configuration are private to LangGraph.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config, get_stream_writer
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from manus.calls.call import JOURNALLED
from manus.calls.result import Observation
from manus.calls.user_tools import is_user_tool
from manus.nodes.active_run import ActiveRun, get_active_run
from manus.nodes.lost_calls import record_end, record_start
from manus.prompts.approval import AGENT_READ
from manus.prompts.sources import AGENT
from manus.state.endings import get_ending
from manus.state.errors import SettingsError, ToolError
from manus.state.events import DelegateActionEvent
from manus.state.taint import Exposure, find_exposure, request_fields
from manus.state.usage import Spending, Usage, no_usage
from manus.threads.records.select import CHECKPOINTER
from manus.tools.delegate import DELEGATE
from manus.tools.terminate import TERMINATE

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from manus.nodes.active_run import ActiveRun


log = logging.getLogger("manus")

_SUMMARY_HEADING = re.compile(
    r"""\A [#*_=\s]*                             # markup such as `## ` or `**`
    (?: (?:final|short|brief|task|step) \s+ )?
    (?: summary | 总结 | 小结 | 摘要 )
    (?: [*_`\s]* [:：] [*_`]*                   # a colon
      | [#*_=:： \t]* (?:\n|\Z) )               # or nothing else on the line
    (?: \s* ^ [=-]{3,} [ \t]* (?:\n|\Z) )?     # and an underline
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_HIDDEN = "do-not-render-"
"""Id prefix of messages that LangChain's chat UI does not show."""

_RESUMING = "__pregel_resuming"
_ANSWERS = "__pregel_resume_map"
_PARENTS = "checkpoint_map"
_REPLAY = "__pregel_replay_state"


@dataclass(slots=True)
class SubagentResult:
    """The final state of a subagent, and why it stopped."""

    values: dict[str, Any] = field(default_factory=dict)
    """State channels, as of its last superstep."""
    problem: str = ""
    """Why it failed; empty if it did not."""
    interrupt: GraphInterrupt | None = None
    """Raised if it asks a person, or waits for its model server."""
    special_tools: Sequence[str] = (TERMINATE,)
    """Tools whose call ends its run."""

    @property
    def usage(self) -> Usage:
        """Return its usage."""
        return cast(Usage, self.values.get("usage") or no_usage())

    @property
    def succeeded(self) -> bool:
        """Return whether the agent reports success."""
        is_finished = self.values.get("status") == "finished" and bool(self.values.get("success"))
        return is_finished and not self.problem

    @property
    def exposure(self) -> Exposure:
        """Return which kinds of text its output may come from."""
        return find_exposure(self.values.get("messages") or [], self.values.get("compaction"))

    @property
    def output(self) -> str:
        """Return its answer without a mere `Summary` heading; else the log of its steps."""
        text = str(self.values.get("output") or "").strip()
        if text == "\n".join(self.values.get("results") or []):
            text = self._log()
        return _SUMMARY_HEADING.sub("", text).strip()

    def _log(self) -> str:
        """Return the log of its steps, without those that only called a special tool."""
        special = tuple(f"{name} → " for name in self.special_tools)
        lines = []
        for line in self.values.get("results") or []:
            _, _, text = line.partition(": ")
            if not text.startswith(special):
                lines.append(line)
        return "\n".join(lines)

    @property
    def reason(self) -> str:
        """Return why it did not succeed."""
        if self.problem:
            return self.problem
        stop_reason = str(self.values.get("stop_reason") or "")
        details = " ".join(self.output.split())
        if stop_reason == "budget":
            details = details.replace("Terminated: Budget used up: ", "")
        reason = get_ending(stop_reason or None, success=True).failure
        return f"{reason}: {details}" if details else reason


async def run_subagent(
    active_run: ActiveRun,
    graph: Any,
    request: HumanMessage,
    emit: Callable[[dict[str, Any]], None],
    config: RunnableConfig,
) -> SubagentResult:
    """Run an agent's graph in the checkpoint namespace of the task that calls it.

    It shares the run's budget, and `emit` receives its events. If it started before a crash or a
    question, it is resumed. An interrupt is returned rather than raised, together with the state.

    Raises:
        asyncio.CancelledError: the run itself is being cancelled.
    """
    result = SubagentResult(special_tools=graph.profile.special_tools)
    stream = _stream(active_run, graph, request, config)
    try:
        async with (
            asyncio.timeout(active_run.ledger.seconds_left) as timeout,
            aclosing(stream) as parts,
        ):
            async for mode, data in parts:
                if mode == "values":
                    result.values.update(data)
                else:
                    emit(data)
    except GraphInterrupt as interrupt:
        result.interrupt = interrupt
    except GraphBubbleUp:
        raise
    except TimeoutError as error:
        is_expired = timeout.expired()
        result.problem = "the run's time is used up" if is_expired else _describe_error(error)
        result.values["stop_reason"] = "budget" if is_expired else ""
    except Exception as error:
        # a failing agent must not end the outer run; the log keeps the traceback
        log.info("the agent %s failed", graph.profile.name, exc_info=error)
        result.problem = _describe_error(error)
    return result


def _stream(
    active_run: ActiveRun, graph: Any, request: HumanMessage, config: RunnableConfig
) -> Any:
    overrides = {
        "workspace": str(active_run.session.workspace.root),
        "approve_plan": False,
        "restore_files": False,
    }
    return graph.astream(
        {"messages": [request.model_copy(update={"id": f"{_HIDDEN}{uuid.uuid4()}"})]},
        config,
        context=active_run.settings.context_source.model_copy(update=overrides),
        stream_mode=["values", "custom"],
    )


def _describe_error(error: Exception) -> str:
    return f"it failed with {type(error).__name__}: {error}".rstrip(": ")


async def run_delegated(
    call_id: str, lines: list[Spending], task: str, profile: str
) -> Observation:
    """Execute a delegated task with an agent of the profile, and return its answer.

    Raises:
        ToolError: the profile does not exist.
        GraphInterrupt: it asks a person.
    """
    active_run = get_active_run(get_config())
    emit = get_stream_writer()
    graph = await asyncio.to_thread(_load_graph, active_run, profile)
    name = graph.profile.name

    def emit_action(event: dict[str, Any]) -> None:
        emit(DelegateActionEvent(type="delegate_action", id=call_id, profile=name, event=event))

    guard = active_run.session.egress_guard
    # an agent's text must not allow hosts on the user's behalf
    taint = request_fields(guard.words, guard.exposure)
    request = HumanMessage(task, additional_kwargs=taint)
    journal = active_run.session.journal
    config = await continue_in_copy(get_config(), active_run)
    namespace = str(config["configurable"].get("checkpoint_ns", ""))
    await record_start(journal, namespace, DELEGATE, call_id)
    async with active_run.slots:
        result = await run_subagent(active_run, graph, request, emit_action, config)
    if result.interrupt is not None:
        raise result.interrupt
    messages = result.values.get("messages") or []
    if any(JOURNALLED in message.additional_kwargs for message in messages):
        await record_end(journal, namespace, DELEGATE, call_id, result.output)
    else:  # without effects, it is not missed
        await journal.arelease(namespace)
    lines += _spending(result)
    source = AGENT if result.exposure.untrusted else ""
    if result.exposure.private:
        guard.note_private(AGENT_READ)
    if result.succeeded:
        return Observation(result.output, source=source)
    return Observation(f"Not done: {result.reason}.", is_error=True, source=source)


def _load_graph(active_run: ActiveRun, profile: str) -> Any:
    # a model must not name code to import
    if active_run.load_agent is None or is_user_tool(profile):
        raise ToolError(f"Profile `{profile}` does not exist.")
    try:
        return active_run.load_agent(profile.lower())
    except SettingsError as error:
        raise ToolError(str(error)) from None


def _spending(result: SubagentResult) -> list[Spending]:
    """Return the usage of a subagent by role; the first entry has the counts of all roles."""
    lines = []
    for role, usage in result.usage.get("roles", {}).items():
        lines.append(cast(Spending, {**usage, "role": role}))
    if lines:
        lines[0]["tool_calls"] = result.usage["tool_calls"]
        lines[0]["estimated"] = result.usage.get("estimated", False)
    return lines


def has_checkpointer(config: RunnableConfig) -> bool:
    """Return whether a graph that is called from this node can be resumed."""
    return config.get("configurable", {}).get(CHECKPOINTER) is not None


def is_repeated(configurable: Mapping[str, Any]) -> bool:
    """Return whether a nested graph repeats its calls, in a run from an earlier checkpoint."""
    return configurable.get(_REPLAY) is not None


async def newest_checkpoint(config: RunnableConfig, namespace: str) -> CheckpointTuple | None:
    """Return the newest checkpoint of a graph that was called from a node of this thread."""
    configurable = config["configurable"]
    location = {"thread_id": configurable["thread_id"], "checkpoint_ns": namespace}
    checkpoint: CheckpointTuple | None
    checkpoint = await configurable[CHECKPOINTER].aget_tuple({"configurable": location})
    return checkpoint


def is_from_this_task(
    checkpoint: CheckpointTuple, config: RunnableConfig, active_run: ActiveRun
) -> bool:
    """Return whether a checkpoint is from an earlier execution of this same task."""
    parents: dict[str, Any] = config["configurable"].get(_PARENTS, {})
    stored: dict[str, Any] = checkpoint.metadata.get("parents") or {}
    return stored == parents or stored.get("") in active_run.continues


async def continue_in_copy(config: RunnableConfig, active_run: ActiveRun) -> RunnableConfig:
    """Return the configuration of a nested graph, which continues if its task is a copy.

    The undo of a rewind copies a checkpoint. What a task had started there is stored in the
    namespace of that task, and what it had done must not be repeated.
    """
    configurable = config["configurable"]
    node, _, task_id = str(configurable.get("checkpoint_ns", "")).rpartition(":")
    for original in active_run.original_tasks.get(task_id, ()):
        namespace = f"{node}:{original}"
        if await newest_checkpoint(config, namespace) is not None:
            with_answers = task_id in active_run.interrupted
            return resume_configuration(namespace, config, with_answers=with_answers)
    return config


def resume_configuration(
    namespace: str, config: RunnableConfig, *, with_answers: bool
) -> RunnableConfig:
    """Return the configuration that resumes a nested graph in its earlier namespace.

    Without it, LangGraph would start the graph again, in the namespace of the node's own task.
    `with_answers`: the run was resumed with answers for this call. Otherwise they are removed:
    LangGraph looks answers up by the asking task, and would apply them to the next question too.
    """
    configurable = {**config["configurable"], "checkpoint_ns": namespace, _RESUMING: True}
    configurable.pop(_REPLAY, None)  # in a fork, it would repeat the request
    if not with_answers:
        configurable.pop(_ANSWERS, None)
    return {**config, "configurable": configurable}
