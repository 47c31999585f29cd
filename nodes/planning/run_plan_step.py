"""Carrying out one step: the executor's agent graph, as a run of its own inside the flow's."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from manus.nodes.active_run import Running
from manus.nodes.inner_run import InnerRun, run_inside
from manus.nodes.planning.changed_files import MOST_FILES, changed_since, mentioned
from manus.state.events import PlanActionEvent, PlanStepEvent
from manus.state.flow import StepTask
from manus.state.outside import passed_on
from manus.state.plan import StepResult
from manus.state.plan_changes import StepChange
from manus.state.text import shortened
from manus.state.usage import summed, tokens_of

MOST_TEXT = 2_000
"""Characters of a step's result; its conversation holds all of it."""
MOST_REASON = 400
"""Characters of the reason why a step was blocked."""

Update = dict[str, Any]


async def run_plan_step(
    task: StepTask,
    running: Running,
    executor: Any,
    config: RunnableConfig,
) -> Update:
    """Carry out one step. Whatever happens to it, it ends as completed or as blocked.

    Raises:
        GraphBubbleUp: its executor asks a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    emit = get_stream_writer()

    def tell(event: dict[str, Any]) -> None:
        emit(PlanActionEvent(type="plan_action", step=task["step"], event=event))

    known = running.approved  # another process may have been told of an approval
    known += [rule for rule in dict.fromkeys(task.get("approved", ())) if rule not in known]
    name = str(task["step"])
    inner = await run_inside(running, executor, _request(task), config, name, tell)
    files = await asyncio.to_thread(_files, task, running, inner.values)
    return _ended(task, inner, files, config)


def _ended(task: StepTask, inner: InnerRun, files: list[str], config: RunnableConfig) -> Update:
    """What a step that has ended writes: `completed` only if its executor says it succeeded."""
    usage = inner.usage
    spent = summed(task["spent"], usage)
    notes = "" if inner.succeeded else shortened(inner.reason, MOST_REASON)
    change = StepChange(
        step=task["step"],
        status="completed" if inner.succeeded else "blocked",
        notes=notes,
        result=StepResult(
            text=shortened(inner.output, MOST_TEXT),
            files=files,
            tokens=tokens_of(usage),
            usage=spent,
            stop_reason=str(inner.values.get("stop_reason") or ""),
            outside=inner.has_read_outside,
            approved=list(inner.values.get("approved") or []),
        ),
        space=str(config.get("configurable", {}).get("checkpoint_ns", "")),
    )
    get_stream_writer()(
        PlanStepEvent(
            type="plan_step",
            step=task["step"],
            status=change["status"],
            notes=notes,
            executor=task["executor"],
            spent=spent,
        )
    )
    # seconds are the flow's own: steps side by side would count the same time more than once
    # and what each step of the executor used is in its own state, by its own numbers
    counted = {name: value for name, value in usage.items() if name != "steps"}
    todo = {task["step"]: "completed" if inner.succeeded else "pending"}
    return {"plan": change, "todos": todo, "usage": {**counted, "seconds": 0.0}}


def _request(task: StepTask) -> HumanMessage:
    text: Any = task["request"]
    content = [{"type": "text", "text": text}, *task["images"]] if task["images"] else text
    known = passed_on(task.get("asked", ""), task.get("outside", False))
    return HumanMessage(content, additional_kwargs=known)


def _files(task: StepTask, running: Running, values: dict[str, Any]) -> list[str]:
    files = changed_since(running.session.workspace.root, task["began"])
    if not task["alone"]:
        files = mentioned(files, values.get("messages") or [])
    return sorted(files[:MOST_FILES])
