"""act: carry out one call of the last assistant message; one task a call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp, ParentCommand
from langgraph.runtime import Runtime
from langgraph.types import Command

from manus.config.context import Context
from manus.execution.call import call_tool
from manus.execution.packing import is_storable
from manus.execution.process_output import listener
from manus.execution.result import ToolResult
from manus.execution.session import Session
from manus.models.budget import usage_ledger
from manus.nodes.active_run import ActiveRun, active_run_of
from manus.nodes.context.compaction import offer_recall
from manus.nodes.exchange.fingerprint import result_fingerprint
from manus.nodes.handoff import parent_command
from manus.nodes.subagent import run_delegated
from manus.nodes.subgraph_config import CHECKPOINTER
from manus.state.agent import ToolTask
from manus.state.events import CallEvent, ObservationEvent, OutputEvent
from manus.state.messages import CALL_FACTS, FROM_TOOL
from manus.state.usage import Spending
from manus.tools.delegate import agent_at_work
from manus.tools.mcp import load_mcp_tools

log = logging.getLogger("manus")

NS_SEP = "|"
"""Between the namespaces of a graph and of one inside it."""


async def act(task: ToolTask, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
    """Execute one call and append its tool message.

    Raises:
        ParentCommand: its tool goes on to another node of the graph around the agent.
        GraphBubbleUp: a person is asked.
    """
    active_run = active_run_of(config)
    tell = runtime.stream_writer
    session = active_run.session
    session.approved = active_run.approved
    session.is_in_other_graph = not active_run.is_inside and _has_parent(config)
    if active_run.catalog.find(task["name"]) is None:
        await _load_tools_again(active_run, task)
    began = time.monotonic()
    known_refusals = len(active_run.refused)

    def start() -> None:
        nonlocal began
        began = time.monotonic()
        tell(CallEvent(type="call", id=task["id"], name=task["name"], args=task["args"]))

    listener.set(lambda text: tell(OutputEvent(type="output", id=task["id"], text=text)))
    info = runtime.execution_info
    key = info.task_id if info is not None else task["id"]
    outcome, spent = await _called(task, key, active_run, config, start)
    active_run.approved += outcome.approved  # before the calls that wait for this one go on
    active_run.refused += outcome.refused
    seconds = time.monotonic() - began
    message = _finished(outcome, seconds, config)
    tell(
        ObservationEvent(
            type="observation",
            id=task["id"],
            name=task["name"],
            text=message.text,
            is_error=message.status == "error",
            seconds=seconds,
        )
    )
    if (handoff := outcome.observation.handoff) is not None:
        raise ParentCommand(await _to_parent(handoff, task, session))
    refused = active_run.refused[known_refusals:]  # also those of an agent that was given a task
    new = [rule for rule in active_run.approved if rule not in task.get("approved", ())]
    written = {"spent": spent, "approved": new, "refused": refused}
    return {**_changes(outcome), **{name: value for name, value in written.items() if value}}


def _has_parent(config: RunnableConfig) -> bool:
    """Return whether the agent is a node of another graph."""
    return NS_SEP in str(config["configurable"].get("checkpoint_ns", ""))


def _finished(outcome: ToolResult, seconds: float, config: RunnableConfig) -> ToolMessage:
    """Return the tool message of a call, with what is known of the call."""
    message = outcome.message
    fingerprint = outcome.observation.fingerprint
    facts: dict[str, Any] = {"seconds": round(seconds, 1), "executed": outcome.observation.executed}
    if fingerprint is not None:
        facts["fingerprint"] = result_fingerprint(message, fingerprint)
    message.additional_kwargs[CALL_FACTS] = facts
    saver = config["configurable"].get(CHECKPOINTER)
    if message.artifact is None or not isinstance(saver, BaseCheckpointSaver):
        return message
    if not is_storable(message.artifact, saver.serde):
        log.warning("the artifact of `%s` is dropped: no checkpoint can hold it", message.name)
        message.artifact = None
    return message


async def _to_parent(handoff: Command[Any], task: ToolTask, session: Session) -> Command[Any]:
    """Return the command with which the calls of the message leave the agent."""
    try:
        calls = await session.siblings.wait_for_all(task)
    except GraphBubbleUp:
        session.waiting = True
        raise
    return parent_command(handoff, calls, session.egress_guard)


def _changes(outcome: ToolResult) -> dict[str, Any]:
    """Return what a call changes in the state; the rules of the run are not a tool's to write."""
    observation = outcome.observation
    message = outcome.message
    update = {k: v for k, v in observation.update.items() if k not in ("approved", "refused")}
    others = (observation.preceding, observation.following)
    preceding, following = ([_as_made_by(message, m) for m in each] for each in others)
    return {**update, "messages": [*preceding, message, *following]}


def _as_made_by(message: ToolMessage, other: AnyMessage) -> AnyMessage:
    """Return a message that a tool has put into the history, marked as such."""
    kwargs = {**other.additional_kwargs, FROM_TOOL: message.name}
    return other.model_copy(update={"additional_kwargs": kwargs})


async def _called(
    task: ToolTask,
    key: str,
    active_run: ActiveRun,
    config: RunnableConfig,
    start: Callable[[], None],
) -> tuple[ToolResult, list[Spending]]:
    """What came of the call, and the model calls that its tool has made."""
    lines: list[Spending] = []
    usage_ledger.set(lines)
    agent_at_work.set(partial(run_delegated, task["id"], lines))
    try:
        outcome = await call_tool(
            task,
            session=active_run.session,
            catalog=active_run.catalog,
            key=key,
            config=config,
            start=start,
        )
    except ParentCommand:
        raise
    except GraphBubbleUp:
        active_run.session.waiting = True
        raise
    return outcome, lines


async def _load_tools_again(active_run: ActiveRun, task: ToolTask) -> None:
    """Offer the tools that a step's beginning would, where the run was resumed in its midst."""
    if active_run.uses_mcp:
        await load_mcp_tools(active_run.catalog, active_run.session)
    if "compaction" in task:
        await offer_recall(active_run, task["compaction"])
