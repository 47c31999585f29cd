"""Carrying out one step: the executor's agent graph, as a run of its own inside the flow's."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp

from manus.nodes.active_run import SHARE, Running
from manus.nodes.planning.changed_files import MOST_FILES, changed_since, mentioned
from manus.state.agent import Usage, no_usage
from manus.state.budget import Budget, limits_of
from manus.state.events import PlanActionEvent, PlanStepEvent
from manus.state.flow import StepTask
from manus.state.plan import StepResult, shortened
from manus.state.plan_changes import StepChange
from manus.state.usage import calls_of_models, spent_so_far, summed, tokens_of

log = logging.getLogger("manus")

MOST_TEXT = 2_000
"""Characters of a step's result; its conversation holds all of it."""
MOST_REASON = 400
"""Characters of the reason why a step was blocked."""

_REASONS = {
    "terminated": "the executor gave up",
    "max_steps": "the executor ran out of steps",
    "stuck": "the executor was stuck in a loop",
    "budget": "the run's budget is used up",
    "error": "the model could not be asked",
}
_LEAST = {"tokens": 1, "model_calls": 1, "cost": 1e-9, "tool_calls": 0, "seconds": 0.001}

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
    values: dict[str, Any] = {}
    problem, who = "", str(task["step"])
    left = budget_left(running.budget.limits, running.budget.used)
    try:
        async with asyncio.timeout(left.seconds) as clock:
            await _stream(task, running, executor, config, left, values)
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    except TimeoutError as error:
        problem = "the run's time is used up" if clock.expired() else _said(error)
        values["stop_reason"] = "budget" if clock.expired() else ""
    except Exception as error:
        # a step that breaks must not take the plan with it; the log keeps the traceback
        log.info("step %s of the plan broke off", who, exc_info=error)
        problem = _said(error)
    usage = cast(Usage, values.get("usage") or no_usage())
    if problem and (known := running.budget.used_by(who)) is not None:
        usage = calls_of_models(known, usage)  # with the calls that were under way
    files = await asyncio.to_thread(_files, task, running, values)
    return _ended(task, values, problem, usage, files, config)


def _ended(
    task: StepTask,
    values: dict[str, Any],
    problem: str,
    usage: Usage,
    files: list[str],
    config: RunnableConfig,
) -> Update:
    """What a step that has ended writes: `completed` only if its executor says it succeeded."""
    done = not problem and values.get("status") == "finished" and bool(values.get("success"))
    spent = summed([task["spent"], spent_so_far(usage)])
    notes = "" if done else shortened(problem or _reason(values), MOST_REASON)
    change = StepChange(
        step=task["step"],
        status="completed" if done else "blocked",
        notes=notes,
        result=StepResult(
            text=shortened(str(values.get("output") or "").strip(), MOST_TEXT),
            files=files,
            tokens=tokens_of(usage),
            usage=spent,
            stop_reason=str(values.get("stop_reason") or ""),
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
    return {"plan": change, "usage": {**counted, "seconds": 0.0}}


def _reason(values: dict[str, Any]) -> str:
    """Why a step is blocked."""
    reason = str(values.get("stop_reason") or "")
    said = " ".join(str(values.get("output") or "").split())
    if reason == "budget":
        said = said.replace("Terminated: Budget used up: ", "")
    why = _REASONS.get(reason, "the executor did not come to an end")
    return f"{why}: {said}" if said else why


async def _stream(
    task: StepTask,
    running: Running,
    executor: Any,
    config: RunnableConfig,
    budget: Budget,
    values: dict[str, Any],
) -> None:
    """Run the executor's graph; `values` holds its state as far as it came."""
    tell = get_stream_writer()
    chosen = {
        "workspace": str(running.session.workspace.root),
        "budget": budget,
        "approve_plan": False,
    }
    stream = executor.astream(
        {"messages": [_request(task)]},
        {**config, "configurable": {**config.get("configurable", {}), SHARE: str(task["step"])}},
        context=running.context.model_copy(update=chosen),
        stream_mode=["values", "custom"],
    )
    async with aclosing(stream) as parts:
        async for mode, data in parts:
            if mode == "values":
                values.update(data)
            else:
                tell(PlanActionEvent(type="plan_action", step=task["step"], event=data))


def _request(task: StepTask) -> HumanMessage:
    text: Any = task["request"]
    content = [{"type": "text", "text": text}, *task["images"]] if task["images"] else text
    return HumanMessage(content)


def budget_left(budget: Budget, usage: Usage) -> Budget:
    """What is left of a budget, as the budget of a step."""
    left = {}
    for name, used, limit in limits_of(budget, usage):
        kind = name.replace(" ", "_")
        if limit is not None:
            left[kind] = max(limit - used, _LEAST[kind])
    return Budget(**cast(Any, left))


def _files(task: StepTask, running: Running, values: dict[str, Any]) -> list[str]:
    files = changed_since(running.session.workspace.root, task["began"])
    if not task["alone"]:
        files = mentioned(files, values.get("messages") or [])
    return sorted(files[:MOST_FILES])


def _said(error: Exception) -> str:
    return f"it broke off with {type(error).__name__}: {error}".rstrip(": ")
