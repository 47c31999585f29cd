"""A run inside a run: the agent of a plan's step, or one that another agent has given a task."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config, get_stream_writer
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from manus.execution.result import Observation
from manus.execution.user_tools import is_own
from manus.nodes.active_run import ActiveRun, active_run_of
from manus.nodes.exchange.announcements import announces_work
from manus.prompts.sources import AGENT
from manus.state.errors import SettingsError, ToolError
from manus.state.events import DelegateActionEvent
from manus.state.messages import last_assistant, text_of
from manus.state.taint import is_tainted, passed_on
from manus.state.usage import Spending, Usage, no_usage
from manus.tools.terminate import TERMINATE

log = logging.getLogger("manus")

_REASONS = {
    "terminated": "the executor gave up",
    "max_steps": "the executor ran out of steps",
    "stuck": "the executor was stuck in a loop",
    "budget": "the run's budget is used up",
    "error": "the model could not be asked",
}
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
"""With this before its id, LangChain's chat UI does not show a message as the user's."""


@dataclass(slots=True)
class SubagentResult:
    """What came of it."""

    values: dict[str, Any] = field(default_factory=dict)
    """Its state, as far as it came."""
    problem: str = ""
    """Why it broke off, if it did."""
    stop: GraphInterrupt | None = None
    """With which it asks a person, or waits for its model."""
    special_tools: Sequence[str] = (TERMINATE,)
    """Tools whose call ends it."""

    @property
    def usage(self) -> Usage:
        """What it has used."""
        return cast(Usage, self.values.get("usage") or no_usage())

    @property
    def succeeded(self) -> bool:
        """Whether its agent says that it did what was asked."""
        done = self.values.get("status") == "finished" and bool(self.values.get("success"))
        return done and not self.problem

    @property
    def is_tainted(self) -> bool:
        """Whether what it says may come from untrusted text."""
        return is_tainted(self.values.get("messages") or [], self.values.get("compaction"))

    @property
    def output(self) -> str:
        """What it answered, without a heading that says no more than that it is a summary.

        Where it said nothing, or only announced work before it ended, it is the log of its steps.
        """
        text = str(self.values.get("output") or "").strip()
        if text == "\n".join(self.values.get("results") or []) or self._only_announced(text):
            text = self._log()
        return _SUMMARY_HEADING.sub("", text).strip()

    def _only_announced(self, text: str) -> bool:
        """Return whether its last words came before its last message, and announced work."""
        last = last_assistant(self.values.get("messages") or [])
        return last is not None and not text_of(last).strip() and announces_work(text)

    def _log(self) -> str:
        """Return the log of its steps, without those that only called a special tool.

        That a run has ended is no result.
        """
        endings = tuple(f"{name} → " for name in self.special_tools)
        lines = self.values.get("results") or []
        return "\n".join(line for line in lines if not line.partition(": ")[2].startswith(endings))

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


async def run_subagent(
    active_run: ActiveRun,
    graph: Any,
    request: HumanMessage,
    tell: Callable[[dict[str, Any]], None],
    config: RunnableConfig | None = None,
) -> SubagentResult:
    """Run an agent's graph inside a run, in the namespace of the task that calls it.

    It has the run's budget; `tell` is given its events. Where it had begun before a crash or a
    question, it goes on. `config` takes the place of the task's. An interrupt is not raised but
    noted, beside the state that it left.

    Raises:
        asyncio.CancelledError: the run itself is being cancelled.
    """
    inner = SubagentResult(special_tools=graph.profile.special_tools)
    left = active_run.budget.seconds_left
    stream = _stream(active_run, graph, request, config or get_config())
    try:
        async with asyncio.timeout(left) as clock, aclosing(stream) as parts:
            async for mode, data in parts:
                if mode == "values":
                    inner.values.update(data)
                else:
                    tell(data)
    except GraphInterrupt as stop:
        inner.stop = stop
    except GraphBubbleUp:
        raise
    except TimeoutError as error:
        inner.problem = "the run's time is used up" if clock.expired() else _said(error)
        inner.values["stop_reason"] = "budget" if clock.expired() else ""
    except Exception as error:
        # an agent that breaks must not take the run with it; the log keeps the traceback
        log.info("the agent %s broke off", graph.profile.name, exc_info=error)
        inner.problem = _said(error)
    return inner


def _stream(
    active_run: ActiveRun, graph: Any, request: HumanMessage, config: RunnableConfig
) -> Any:
    chosen = {"workspace": str(active_run.session.workspace.root), "approve_plan": False}
    return graph.astream(
        {"messages": [request.model_copy(update={"id": f"{_HIDDEN}{uuid.uuid4()}"})]},
        config,
        context=active_run.context.model_copy(update=chosen),
        stream_mode=["values", "custom"],
    )


def _said(error: Exception) -> str:
    return f"it broke off with {type(error).__name__}: {error}".rstrip(": ")


async def run_delegated(
    call_id: str, lines: list[Spending], task: str, profile: str
) -> Observation:
    """Have an agent of that profile carry out the task; its answer is the observation.

    Raises:
        ToolError: there is no such profile.
        GraphInterrupt: it asks a person.
    """
    config = get_config()
    emit = get_stream_writer()
    active_run = active_run_of(config)
    graph = await asyncio.to_thread(_graph, active_run, profile)
    name = graph.profile.name

    def tell(event: dict[str, Any]) -> None:
        emit(DelegateActionEvent(type="delegate_action", id=call_id, profile=name, event=event))

    guard = active_run.session.egress_guard
    # the words of an agent name no host for the user
    known = passed_on(guard.words, tainted=guard.is_tainted)
    request = HumanMessage(task, additional_kwargs=known)
    async with active_run.slots:
        inner = await run_subagent(active_run, graph, request, tell)
    if inner.stop is not None:
        raise inner.stop
    lines += _lines(inner)
    source = AGENT if inner.is_tainted else ""
    if inner.succeeded:
        return Observation(inner.output, source=source)
    return Observation(f"Not done: {inner.reason}.", is_error=True, source=source)


def _graph(active_run: ActiveRun, profile: str) -> Any:
    if active_run.agent_named is None or is_own(profile):  # a model names no code to be imported
        raise ToolError(f"There is no profile `{profile}`.")
    try:
        return active_run.agent_named(profile.lower())
    except SettingsError as error:
        raise ToolError(str(error)) from None


def _lines(inner: SubagentResult) -> list[Spending]:
    """What it used, by role."""
    lines = [
        cast(Spending, {**used, "role": role})
        for role, used in inner.usage.get("roles", {}).items()
    ]
    for line in lines[:1]:
        line["tool_calls"] = inner.usage["tool_calls"]
        line["estimated"] = inner.usage.get("estimated", False)
    return lines
