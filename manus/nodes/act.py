"""act: execute one call of the last assistant message, or hand over to another node."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp, ParentCommand
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from manus.calls.call import call_tool
from manus.calls.egress_guard import EgressGuard
from manus.calls.on_demand import mark_description
from manus.calls.result import ToolResult, is_storable, with_sibling_answers
from manus.calls.session import Session
from manus.calls.siblings import Sibling
from manus.config.context import Context
from manus.nodes.active_run import ActiveRun, get_active_run
from manus.nodes.compaction import offer_recall
from manus.nodes.loop_detection import result_fingerprint
from manus.nodes.subagent import run_delegated
from manus.sandbox.process_output import listener
from manus.state.agent import ToolTask
from manus.state.events import CallEvent, ObservationEvent, OutputEvent
from manus.state.history import as_messages
from manus.state.messages import CALL_FACTS, FROM_TOOL
from manus.state.taint import request_fields
from manus.threads.records.select import CHECKPOINTER
from manus.tools.delegate import agent_at_work
from manus.tools.mcp import load_mcp_tools

log = logging.getLogger("manus")

NS_SEP = "|"
"""Separates the checkpoint namespaces of a graph and of a graph nested in it."""


async def act(task: ToolTask, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
    """Execute one call and append its tool message.

    Raises:
        ParentCommand: the tool continues with another node of the outer graph.
        GraphBubbleUp: the call interrupts the run with a question.
    """
    active_run = get_active_run(config)
    catalog = active_run.catalog
    session = active_run.session
    session.approved = active_run.approved
    session.refused = active_run.refused
    session.is_in_other_graph = not active_run.is_inside and NS_SEP in str(
        config["configurable"].get("checkpoint_ns", "")
    )
    if catalog.find(task["name"]) is None:
        await _reload_tools(active_run, task)
    refusals_before = len(active_run.refused)
    spending = active_run.ledger.start()
    agent_at_work.set(partial(run_delegated, task["id"], spending))
    try:
        result, seconds = await _call(task, active_run, runtime, config)
    except ParentCommand:
        raise
    except GraphBubbleUp:
        session.waiting = True
        raise
    active_run.approved += result.approved  # before the calls that wait for this one continue
    active_run.refused += result.refused
    message = _complete_message(result, seconds, config)
    is_declined = "refusal" not in task and not result.observation.executed
    if catalog.on_demand_names and not is_declined:  # else its arguments were not the problem
        mark_description(message, task["args"], catalog, session.described)
    event = ObservationEvent(
        type="observation",
        id=task["id"],
        name=task["name"],
        text=message.text,
        is_error=message.status == "error",
        seconds=seconds,
    )
    runtime.stream_writer(event)
    if result.observation.handoff is not None:
        raise ParentCommand(await _to_parent(result.observation.handoff, task, session))
    update = _update(result)
    approved = [rule for rule in active_run.approved if rule not in task.get("approved", ())]
    refused = active_run.refused[refusals_before:]  # includes those of a delegated task
    for name, values in (("spent", spending), ("approved", approved), ("refused", refused)):
        if values:
            update[name] = values
    return update


async def _call(
    task: ToolTask, active_run: ActiveRun, runtime: Runtime[Context], config: RunnableConfig
) -> tuple[ToolResult, float]:
    """Return the result of the call and its duration in seconds; report its start and output."""
    emit = runtime.stream_writer
    info = runtime.execution_info
    wrappers = active_run.agent_options.wrappers
    start_time = time.monotonic()

    def start() -> None:
        nonlocal start_time
        start_time = time.monotonic()
        emit(CallEvent(type="call", id=task["id"], name=task["name"], args=task["args"]))

    listener.set(lambda text: emit(OutputEvent(type="output", id=task["id"], text=text)))
    result = await call_tool(
        task,
        session=active_run.session,
        catalog=active_run.catalog,
        key=info.task_id if info is not None else task["id"],
        config=config,
        start=start,
        wrapper=wrappers.tool_calls if wrappers is not None else None,
    )
    return result, time.monotonic() - start_time


def _complete_message(result: ToolResult, seconds: float, config: RunnableConfig) -> ToolMessage:
    """Return the tool message with the facts of its call, without an unstorable artifact."""
    message = result.message
    observation = result.observation
    facts: dict[str, Any] = {"seconds": round(seconds, 1), "executed": observation.executed}
    if observation.fingerprint is not None:
        facts["fingerprint"] = result_fingerprint(message, observation.fingerprint)
    message.additional_kwargs[CALL_FACTS] = facts
    if observation.picture.get("name"):
        facts["picture"] = dict(observation.picture)
    saver = config["configurable"].get(CHECKPOINTER)
    if message.artifact is None or not isinstance(saver, BaseCheckpointSaver):
        return message
    if not is_storable(message.artifact, saver.serde):
        log.warning("dropping the artifact of `%s`: a checkpoint cannot store it", message.name)
        message.artifact = None
    return message


async def _to_parent(handoff: Command[Any], task: ToolTask, session: Session) -> Command[Any]:
    """Return the command with which all calls of the message leave the agent."""
    try:
        calls = await session.siblings.wait_for_all(task)
    except GraphBubbleUp:
        session.waiting = True
        raise
    return parent_command(handoff, calls, session.egress_guard)


def _update(result: ToolResult) -> dict[str, Any]:
    """Return the state update of a call; a tool cannot change the run's approvals and refusals."""
    observation = result.observation
    update = dict(observation.update)
    update.pop("approved", None)
    update.pop("refused", None)
    message = result.message
    preceding = [_mark_author(message, other) for other in observation.preceding]
    following = [_mark_author(message, other) for other in observation.following]
    update["messages"] = [*preceding, message, *following]
    return update


def _mark_author(message: ToolMessage, other: AnyMessage) -> AnyMessage:
    """Return a message that a tool has added to the history, marked with the tool's name."""
    kwargs = {**other.additional_kwargs, FROM_TOOL: message.name}
    return other.model_copy(update={"additional_kwargs": kwargs})


async def _reload_tools(active_run: ActiveRun, task: ToolTask) -> None:
    """Load the tools that are added at the start of a step, for a run resumed mid-step."""
    if active_run.uses_mcp:
        await load_mcp_tools(active_run.catalog, active_run.session)
    if "compaction" in task:
        await offer_recall(active_run, task["compaction"])


def parent_command(
    own: Command[Any], calls: Mapping[str, Sibling], guard: EgressGuard
) -> Command[Any]:
    """Return the one command with which the calls of a message leave the agent.

    It is the first handoff of the `calls`, or `own` if there is none. If all of them send tasks to
    nodes, it sends all tasks. The history that it hands over has an answer to each call of the
    message.
    """
    commands = [call.handoff for call in calls.values() if call.handoff is not None] or [own]
    first = commands[0]
    tasks = [_sends(command) for command in commands]
    if len(commands) > 1 and all(tasks):
        first = replace(first, goto=list(chain.from_iterable(tasks)))
    answers = {name: call.message for name, call in calls.items() if call.message is not None}
    update = dict(first._update_as_tuples())
    if "messages" in update:
        update["messages"] = _messages(update["messages"], answers, guard)
    sends = _sends(first)
    if sends:
        first = replace(first, goto=[_complete_send(send, answers, guard) for send in sends])
    return replace(first, update=update or None)


def _sends(command: Command[Any]) -> list[Send]:
    """Return the tasks that a command sends; none if it names a node."""
    goto: Any = command.goto
    targets = list(goto) if isinstance(goto, list | tuple) else [goto]
    return targets if all(isinstance(target, Send) for target in targets) else []


def _complete_send(send: Send, answers: Mapping[str, ToolMessage], guard: EgressGuard) -> Send:
    if not isinstance(send.arg, dict) or "messages" not in send.arg:
        return send
    messages = _messages(send.arg["messages"], answers, guard)
    return Send(send.node, {**send.arg, "messages": messages}, timeout=send.timeout)


def _messages(
    messages: Any, answers: Mapping[str, ToolMessage], guard: EgressGuard
) -> list[BaseMessage]:
    """Return the messages to hand over, with all answers, and marked if an agent wrote them."""
    return list(_mark_tainted(with_sibling_answers(as_messages(messages), answers), guard))


def _mark_tainted(messages: Iterable[BaseMessage], guard: EgressGuard) -> Iterable[BaseMessage]:
    for message in messages:
        if isinstance(message, HumanMessage) and message.id is None:
            # written by a tool: an agent's text must not allow hosts on the user's behalf
            taint = request_fields(guard.words, guard.exposure)
            kwargs = {**message.additional_kwargs, **taint}
            yield message.model_copy(update={"additional_kwargs": kwargs})
        else:
            yield message
