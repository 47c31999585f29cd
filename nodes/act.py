"""act: carry out one call of the last assistant message; one task a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from manus.models.budget import meter
from manus.nodes.active_run import Running, running_of
from manus.nodes.context.compaction import offer_recall
from manus.nodes.inner_run import run_delegated
from manus.nodes.turn.fingerprint import result_fingerprint
from manus.state.agent import ToolTask
from manus.state.context import Context
from manus.state.events import CallEvent, ObservationEvent, OutputEvent
from manus.state.usage import Spending
from manus.tools.call import call_tool
from manus.tools.delegate import agent_at_work
from manus.tools.mcp import load_mcp_tools
from manus.tools.result import ToolResult
from manus.tools.shell.output import listener


async def act(task: ToolTask, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
    """Execute one call and append its tool message."""
    running, tell = running_of(config), runtime.stream_writer
    running.session.approved = running.approved
    if running.catalog.find(task["name"]) is None:
        await _load_tools_again(running, task)
    began = time.monotonic()
    known_refusals = len(running.refused)

    def start() -> None:
        nonlocal began
        began = time.monotonic()
        tell(CallEvent(type="call", id=task["id"], name=task["name"], args=task["args"]))

    listener.set(lambda text: tell(OutputEvent(type="output", id=task["id"], text=text)))
    info = runtime.execution_info
    key = info.task_id if info is not None else task["id"]
    outcome, spent = await _called(task, key, running, config, start)
    message, seen, seconds = outcome.message, outcome.observation, time.monotonic() - began
    message.id = key  # the same when this task runs again, so that it replaces and never doubles
    message.artifact = {"seconds": round(seconds, 1), "executed": seen.executed}
    if seen.fingerprint is not None:
        message.artifact["fingerprint"] = result_fingerprint(message, seen.fingerprint)
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
    running.approved += outcome.approved
    running.refused += outcome.refused
    refused = running.refused[known_refusals:]  # also those of an agent that was given a task
    new = [rule for rule in running.approved if rule not in task.get("approved", ())]
    own = ("approved", "refused")
    given = {name: value for name, value in seen.update.items() if name not in own}
    written = {"spent": spent, "approved": new, "refused": refused}
    more = {name: value for name, value in written.items() if value}
    return {**given, **more, "messages": [message]}


async def _called(
    task: ToolTask,
    key: str,
    running: Running,
    config: RunnableConfig,
    start: Callable[[], None],
) -> tuple[ToolResult, list[Spending]]:
    """What came of the call, and the model calls that its tool has made."""
    lines: list[Spending] = []
    meter.set(lines)
    agent_at_work.set(partial(run_delegated, task["id"], lines))
    try:
        outcome = await call_tool(
            task,
            session=running.session,
            catalog=running.catalog,
            key=key,
            config=config,
            start=start,
        )
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    return outcome, lines


async def _load_tools_again(running: Running, task: ToolTask) -> None:
    """Offer the tools that a step's beginning would, where the run was resumed in its midst."""
    if running.uses_mcp:
        await load_mcp_tools(running.catalog, running.session)
    if "compaction" in task:
        await offer_recall(running, task["compaction"])
