"""A run inside a run: the agent of a plan's step, or one that another agent has given a task."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from manus.nodes.active_run import SHARE, Running
from manus.state.outside import has_read_outside
from manus.state.usage import Budget, Usage, calls_of_models, limits_of, no_usage

log = logging.getLogger("manus")

_REASONS = {
    "terminated": "the executor gave up",
    "max_steps": "the executor ran out of steps",
    "stuck": "the executor was stuck in a loop",
    "budget": "the run's budget is used up",
    "error": "the model could not be asked",
}
_HIDDEN = "do-not-render-"
"""With this before its id, LangChain's chat UI does not show a message as the user's."""
_LEAST = {"tokens": 1, "model_calls": 1, "cost": 1e-9, "tool_calls": 0, "seconds": 0.001}


@dataclass(slots=True)
class InnerRun:
    """What came of it."""

    values: dict[str, Any] = field(default_factory=dict)
    """Its state, as far as it came."""
    problem: str = ""
    """Why it broke off, if it did."""
    usage: Usage = field(default_factory=no_usage)

    @property
    def succeeded(self) -> bool:
        """Whether its agent says that it did what was asked."""
        done = self.values.get("status") == "finished" and bool(self.values.get("success"))
        return done and not self.problem

    @property
    def has_read_outside(self) -> bool:
        """Whether what it says may come from outside."""
        return has_read_outside(self.values.get("messages") or [], self.values.get("compaction"))

    @property
    def output(self) -> str:
        """What it answered."""
        return str(self.values.get("output") or "").strip()

    @property
    def reason(self) -> str:
        """Why it did not succeed."""
        if self.problem:
            return self.problem
        stopped = str(self.values.get("stop_reason") or "")
        said = " ".join(self.output.split())
        if stopped == "budget":
            said = said.replace("Terminated: Budget used up: ", "")
        why = _REASONS.get(stopped, "the executor did not come to an end")
        return f"{why}: {said}" if said else why


async def run_inside(
    running: Running,
    graph: Any,
    request: HumanMessage,
    config: RunnableConfig,
    name: str,
    tell: Callable[[dict[str, Any]], None],
) -> InnerRun:
    """Run an agent's graph inside a run, in the namespace of the task that `config` belongs to.

    It draws on the run's budget as its share `name`; `tell` is given its events. Where it had
    begun before a crash or a question, it goes on.

    Raises:
        GraphBubbleUp: it asks a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    inner = InnerRun()
    left = budget_left(running.budget.limits, running.budget.used)
    try:
        async with asyncio.timeout(left.seconds) as clock:
            await _stream(running, graph, request, config, name, left, inner.values, tell)
    except GraphBubbleUp:
        running.session.waiting = True
        raise
    except TimeoutError as error:
        inner.problem = "the run's time is used up" if clock.expired() else _said(error)
        inner.values["stop_reason"] = "budget" if clock.expired() else ""
    except Exception as error:
        # an agent that breaks must not take the run with it; the log keeps the traceback
        log.info("the inner run %s broke off", name, exc_info=error)
        inner.problem = _said(error)
    inner.usage = cast(Usage, inner.values.get("usage") or no_usage())
    if inner.problem and (known := running.budget.used_by(name)) is not None:
        inner.usage = calls_of_models(known, inner.usage)  # with the calls that were under way
    return inner


async def _stream(
    running: Running,
    graph: Any,
    request: HumanMessage,
    config: RunnableConfig,
    name: str,
    budget: Budget,
    values: dict[str, Any],
    tell: Callable[[dict[str, Any]], None],
) -> None:
    """Run the graph; `values` holds its state as far as it came."""
    chosen = {
        "workspace": str(running.session.workspace.root),
        "budget": budget,
        "approve_plan": False,
    }
    stream = graph.astream(
        {"messages": [request.model_copy(update={"id": f"{_HIDDEN}{uuid.uuid4()}"})]},
        {**config, "configurable": {**config.get("configurable", {}), SHARE: name}},
        context=running.context.model_copy(update=chosen),
        stream_mode=["values", "custom"],
    )
    async with aclosing(stream) as parts:
        async for mode, data in parts:
            if mode == "values":
                values.update(data)
            else:
                tell(data)


def budget_left(budget: Budget, usage: Usage) -> Budget:
    """What is left of a budget, as the budget of an inner run."""
    left = {}
    for name, used, limit in limits_of(budget, usage):
        kind = name.replace(" ", "_")
        if limit is not None:
            left[kind] = max(limit - used, _LEAST[kind])
    return Budget(**cast(Any, left))


def _said(error: Exception) -> str:
    return f"it broke off with {type(error).__name__}: {error}".rstrip(": ")
