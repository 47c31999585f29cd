"""Detect from a thread's tasks that its run waits or has failed, which its channels do not show.

A node that interrupts or raises writes no state, so `status` keeps the value that the previous node
set.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Interrupt, StateSnapshot

from manus.graph.outcome import format_question
from manus.graph.saver_threads import with_usable_saver
from manus.state.endings import WAITING
from manus.state.usage import no_usage
from manus.threads.records.select import CHECKPOINTER

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

log = logging.getLogger("manus")

_ERROR = "__error__"
"""LangGraph's channel for the exception of a task."""
_CANCELLED = asyncio.CancelledError.__name__


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
