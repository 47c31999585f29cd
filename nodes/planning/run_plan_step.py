"""Carrying out one step: the executor's agent graph, as a run of its own inside the flow's."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from manus.nodes.active_run import SHARE, Running
from manus.nodes.planning.changed_files import MOST_FILES, changed_since, mentioned
from manus.nodes.turn.stop_conditions import most_used
from manus.state.agent import Usage, no_usage
from manus.state.budget import Budget
from manus.state.context import Context
from manus.state.events import PlanActionEvent, PlanStepEvent
from manus.state.flow import StepTask
from manus.state.plan import StepResult, StepStatus, shortened
from manus.state.plan_changes import StepChange
from manus.state.spending import RoleUsage
from manus.state.usage import calls_of_models, nothing_used, spent_so_far, summed, tokens_of

log = logging.getLogger("manus")

MOST_TEXT = 2_000
"""Characters of a step's result; its conversation holds all of it."""
MOST_REASON = 400
"""Characters of the reason why a step was blocked."""

_REASONS = {
    "max_steps": "the executor ran out of steps",
    "stuck": "the executor was stuck in a loop",
    "error": "the model could not be asked",
}

Update = dict[str, Any]


@dataclass(slots=True)
class Ended:
    """How an executor's run ended, as far as it came."""

    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """What broke it off from outside."""
    share: Budget = field(default_factory=lambda: Budget())
    """What it might use."""
    out_of_time: bool = False
    known: Usage | None = None
    """Of a step that was broken off: what it used, by the calls that were under way too."""

    @property
    def usage(self) -> Usage:
        """What it used."""
        told = cast(Usage, self.values.get("usage") or no_usage())
        return told if self.known is None else calls_of_models(self.known, told)

    @property
    def stop_reason(self) -> str:
        """Why it ended, in the words of an agent's run; empty if it did not end by itself."""
        return "budget" if self.out_of_time else str(self.values.get("stop_reason") or "")

    @property
    def status(self) -> StepStatus:
        """`completed` only if the executor says that it succeeded."""
        done = self.values.get("status") == "finished" and self.values.get("success")
        return "completed" if done and not self.problem else "blocked"

    @property
    def notes(self) -> str:
        """Why the step is blocked; empty if it is completed."""
        if self.status == "completed":
            return ""
        reason = self.stop_reason
        said = " ".join(str(self.values.get("output") or "").split())
        if self.problem:
            return shortened(self.problem, MOST_REASON)
        if reason == "budget":
            over = most_used(self.share, self.usage) or "the run's"
            said = said.rpartition("Terminated: ")[0].strip() or "nothing was said"
            return shortened(f"its share of the budget is used up, {over}: {said}", MOST_REASON)
        if reason == "terminated":
            return shortened(f"the executor gave up: {said or 'it did not say why'}", MOST_REASON)
        why = _REASONS.get(reason, "the executor did not come to an end")
        return shortened(f"{why}: {said}" if said else why, MOST_REASON)


async def carry_out(
    task: StepTask,
    running: Running,
    executor: Any,
    runtime: Runtime[Context],
    config: RunnableConfig,
) -> Update:
    """Carry out one step. Whatever happens to it, it ends as completed or as blocked.

    Raises:
        GraphBubbleUp: its executor asks a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    ended = await _run(task, running, executor, runtime, config)
    usage = ended.usage
    spent = summed([task.get("spent", nothing_used()), spent_so_far(usage)])
    files = await asyncio.to_thread(_files, task, running, ended)
    result = _result(ended, files, spent)
    running.purse.close(str(task["step"]), usage)
    change = StepChange(
        step=task["step"],
        status=ended.status,
        notes=ended.notes,
        result=result,
        space=str(config.get("configurable", {}).get("checkpoint_ns", "")),
    )
    told = PlanStepEvent(
        type="plan_step",
        step=task["step"],
        status=ended.status,
        notes=ended.notes,
        executor=task["executor"],
        spent=spent,
    )
    runtime.stream_writer(told)
    # seconds are the flow's own: steps side by side would count the same time more than once
    # and what each step of the executor used is in its own state, by its own numbers
    counted = {name: value for name, value in usage.items() if name != "steps"}
    return {"plan": change, "usage": {**counted, "seconds": 0.0}}


def _result(ended: Ended, files: list[str], spent: RoleUsage) -> StepResult:
    return StepResult(
        text=shortened(str(ended.values.get("output") or "").strip(), MOST_TEXT),
        files=files,
        tokens=tokens_of(ended.usage),
        usage=spent,
        stop_reason=ended.stop_reason,
    )


async def _run(
    task: StepTask,
    running: Running,
    executor: Any,
    runtime: Runtime[Context],
    config: RunnableConfig,
) -> Ended:
    if "account" in task:
        running.purse.open(task["account"], task["began"])
    ended = Ended(share=Budget(**task["budget"]))
    clock = asyncio.timeout(task["budget"].get("seconds"))
    try:
        async with clock:
            await _stream(task, running, executor, runtime, config, ended)
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    except TimeoutError as error:
        ended.out_of_time = clock.expired()
        ended.problem = "the run's time is used up" if clock.expired() else _said(error)
    except Exception as error:
        # a step that breaks must not take the plan with it; the log keeps the traceback
        log.info("step %d of the plan broke off", task["step"], exc_info=error)
        ended.problem = _said(error)
    if ended.problem:
        ended.known = running.purse.used_by(str(task["step"]))
    return ended


async def _stream(
    task: StepTask,
    running: Running,
    executor: Any,
    runtime: Runtime[Context],
    config: RunnableConfig,
    ended: Ended,
) -> None:
    configurable = {**config.get("configurable", {}), SHARE: str(task["step"])}
    stream = executor.astream(
        {"messages": [_request(task)]},
        {**config, "configurable": configurable},
        context=context_for(task, running),
        stream_mode=["values", "custom"],
    )
    async with aclosing(stream) as parts:
        async for mode, data in parts:
            if mode == "values":
                ended.values = data
            else:
                runtime.stream_writer(
                    PlanActionEvent(type="plan_action", step=task["step"], event=data)
                )


def _request(task: StepTask) -> HumanMessage:
    text: Any = task["request"]
    content = [{"type": "text", "text": text}, *task["images"]] if task["images"] else text
    return HumanMessage(content)


def context_for(task: StepTask, running: Running) -> Context:
    """The context of a step's run: the flow's, with its own share of the budget."""
    return running.context.model_copy(
        update={
            "workspace": str(running.session.workspace.root),
            "budget": Budget(**task["budget"]),
            "approve_plan": False,
        }
    )


def _files(task: StepTask, running: Running, ended: Ended) -> list[str]:
    files = changed_since(running.session.workspace.root, task["began"])
    if not task["alone"]:
        files = mentioned(files, ended.values.get("messages") or [])
    return sorted(files[:MOST_FILES])


def _said(error: Exception) -> str:
    return f"it broke off with {type(error).__name__}: {error}".rstrip(": ")
