"""Read the outcome of a run from its thread, also of one that waits or has failed.

A node that interrupts or raises writes no state, so `status` keeps the value that the previous node
set.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Interrupt, StateSnapshot

from manus.graph.sync_calls import with_usable_saver
from manus.state.agent import Refusal
from manus.state.endings import WAITING, RunStatus, StopReason, get_ending
from manus.state.plan import list_refusals
from manus.state.usage import Usage, no_usage
from manus.threads.records.select import CHECKPOINTER

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph


_USAGE = ("input_tokens", "output_tokens", "model_calls", "tool_calls", "seconds")
_OPTIONAL_USAGE = ("cached_tokens", "cache_write_tokens", "cost", "estimated", "roles")

log = logging.getLogger("manus")

_ERROR = "__error__"
"""LangGraph's channel for the exception of a task."""
_CANCELLED = asyncio.CancelledError.__name__


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run that has ended, or the questions of one that waits."""

    thread_id: str
    status: RunStatus
    stop_reason: StopReason | None
    success: bool
    output: str
    results: list[str]
    usage: Usage
    questions: tuple[Interrupt, ...] = ()
    plan: dict[str, Any] | None = None
    refused: tuple[Refusal, ...] = ()
    """Calls that were refused by a person or by the approval mode."""

    @property
    def waits_for_model(self) -> bool:
        """Return whether it waits only for the model server, not for a person."""
        return bool(self.questions) and all(map(is_for_model_server, self.questions))

    @property
    def asks_person(self) -> bool:
        """Return whether it waits for a person's answer."""
        return bool(self.questions) and not self.waits_for_model

    @property
    def can_resume(self) -> bool:
        """Return whether `resume` continues the run."""
        return get_ending(self.stop_reason, success=True).resumes

    @property
    def unasked(self) -> list[Refusal]:
        """Return the calls that were refused because no person can be asked."""
        return [refusal for refusal in self.refused if refusal["by"] == "mode"]

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as the command line prints it with `--json`."""
        usage: dict[str, Any] = {name: self.usage.get(name, 0) for name in _USAGE}
        usage["seconds"] = round(usage["seconds"], 3)
        for name in _OPTIONAL_USAGE:
            if self.usage.get(name):
                usage[name] = self.usage.get(name)
        fields: dict[str, Any] = {
            "thread_id": self.thread_id,
            "status": self.status,
            "stop_reason": self.stop_reason,
            "success": self.success,
            "output": self.output,
            "results": self.results,
            "usage": usage,
        }
        if self.unasked:
            refused = []
            for refusal in self.unasked:
                refused.append({"call": refusal["call"], "reason": refusal["reason"]})
            fields["refused"] = refused
        if self.plan is not None:
            fields["plan"] = self.plan
        return fields


def build_outcome(snapshot: StateSnapshot) -> Outcome:
    """Return the outcome of the newest run of a thread.

    A run that waits for a person has the stop reason `interrupted` and its questions as output; one
    that was aborted has no stop reason.
    """
    values: dict[str, Any] = snapshot.values or {}
    plan = values.get("plan")
    has_ended = is_over(snapshot)
    has_task_status = bool(snapshot.interrupts) or any(task.error for task in snapshot.tasks)
    if not (has_ended or has_task_status) and values.get("stop_reason"):
        # the values are of the previous run
        values = {"status": values["status"]}
    stop_reason = values.get("stop_reason") if has_ended else None
    output = values.get("output", "")
    questions = tuple(snapshot.interrupts)
    if questions:
        stop_reason = "interrupted"
        output = "\n".join(map(format_question, questions))
    return Outcome(
        thread_id=str(snapshot.config["configurable"].get("thread_id", "")),
        status=values.get("status", "idle"),
        stop_reason=stop_reason,
        success=bool(values.get("success")) and has_ended,
        output=output,
        results=values.get("results", []),
        usage=values.get("usage") or no_usage(),
        questions=questions,
        plan=plan,
        refused=tuple(list_refusals(plan) if plan else values.get("refused") or ()),
    )


def is_over(snapshot: StateSnapshot) -> bool:
    """Return whether a thread has nothing left to do.

    A task whose writes are all stored is no longer in `next`; until the next checkpoint applies
    them, it is still among the tasks, and its successors still have to run.
    """
    return not (snapshot.next or snapshot.tasks)


def is_for_model_server(interrupt: Interrupt) -> bool:
    """Return whether a run waits for its model server rather than for an answer."""
    return isinstance(interrupt.value, dict) and interrupt.value.get("kind") == "model"


def get_subject(interrupt: Interrupt) -> str:
    """Return the question without instructions for the answer, for a page with buttons."""
    value = interrupt.value
    subject = value.get("subject") if isinstance(value, dict) else None
    return str(subject or format_question(interrupt))


def format_question(interrupt: Interrupt) -> str:
    """Return the question of an interrupt as text."""
    value = interrupt.value
    if isinstance(value, dict):
        return str(value.get("question") or value.get("inquire") or value)
    return str(value)


def with_task_status(snapshot: StateSnapshot) -> StateSnapshot:
    """Return a snapshot with the status, the stop reason and the output of its unfinished tasks."""
    values = snapshot.values
    if not isinstance(values, dict) or not snapshot.tasks:
        return snapshot
    ending: dict[str, Any] = {}
    errors = [_describe(task.error) for task in snapshot.tasks if task.error is not None]
    if snapshot.interrupts:
        questions = "\n".join(map(_format, snapshot.interrupts))
        ending = as_waiting(questions)
    elif errors and all(error.startswith(_CANCELLED) for error in errors):
        ending = {"status": "idle", "stop_reason": None, "output": ""}  # someone stopped the run
    elif errors:
        ending = {"status": "error", "stop_reason": "error", "success": False}
        ending["output"] = errors[0]
    if not ending:
        return snapshot
    return snapshot._replace(values=as_ended(values, ending))


def as_waiting(questions: str) -> dict[str, Any]:
    """Return the status, the stop reason and the output of a run that asks a person."""
    return {"status": WAITING.status, "stop_reason": "interrupted", "output": questions}


def as_ended(values: Mapping[str, Any], ending: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a run with the ending that its channels do not show.

    If its first node has not ended, the channels still have the results of the previous run.
    """
    fresh: dict[str, Any] = {"success": None, "results": [], "refused": [], "usage": no_usage()}
    if values.get("stop_reason"):
        return {**values, **fresh, **ending}
    return {**fresh, **values, **ending}


def _format(interrupt: Any) -> str:
    """Return the question of an interrupt, which the server's checkpointer stores as a dict."""
    if isinstance(interrupt, dict):
        interrupt = Interrupt(interrupt.get("value"))
    return format_question(interrupt)


def _describe(error: Any) -> str:
    """Return an error as text; a checkpointer may have stored its representation."""
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return str(error)


async def record_failures(
    graph: RunGraph[Any], stream: Any, config: RunnableConfig
) -> AsyncGenerator[Any]:
    """Yield the parts of a stream; store the exception that ends it."""
    try:
        async with aclosing(stream) as parts:
            async for part in parts:
                yield part
    except GraphBubbleUp:
        raise
    except Exception as error:
        await record_failure(graph, config, error)
        raise


async def record_failure(graph: RunGraph[Any], config: RunnableConfig, error: Exception) -> None:
    """Store the exception that ended a run with its unfinished tasks, as LangGraph does for a node.

    LangGraph stores only what a node raises, not what its checkpointer does.
    """
    configurable = with_usable_saver(config, graph.checkpointer)["configurable"]
    saver = configurable.get(CHECKPOINTER, graph.checkpointer)
    is_nested = bool(configurable.get("checkpoint_ns"))
    if is_nested or isinstance(error, GraphRecursionError):
        return
    if not isinstance(saver, BaseCheckpointSaver):
        return
    try:
        snapshot = await graph.stored_state(configurable)
        if snapshot is None or any(task.error or task.interrupts for task in snapshot.tasks):
            return
        for task in snapshot.tasks:
            await saver.aput_writes(snapshot.config, [(_ERROR, _describe(error))], task.id)
    except Exception as failure:  # noqa: BLE001 - the first error is the one to report
        log.warning("the failure of the run could not be stored: %s", failure)
