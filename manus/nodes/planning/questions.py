"""A step whose executor asks a person: the run waits now, or first does what else can be done.

LangGraph holds a superstep open while one of its tasks waits for a person, and nothing that
depends on the other tasks can start. So a step that asks ends its task, and is set aside in the
plan. When nothing else can be done, all steps that were set aside are sent again: each resumes its
executor in the namespace in which it stopped, and then the question interrupts the run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.nodes.active_run import ActiveRun
from manus.nodes.subagent import SubagentResult
from manus.nodes.subgraph_config import (
    CHECKPOINTER,
    has_checkpointer,
    newest_checkpoint,
    resumed_in,
    was_made_here,
)
from manus.state.flow import StepTask
from manus.state.plan import Waiting


async def config_of_step(
    task: StepTask, active_run: ActiveRun, config: RunnableConfig
) -> RunnableConfig:
    """Return the configuration of a step's executor, which resumes it where it was set aside.

    If the run was forked and another branch has gone on with the executor, it starts anew.
    """
    space = task.get("space")
    waiting = task.get("waiting")
    if space is None or waiting is None:
        return config
    if await newest_checkpoint(config, str(config["configurable"]["checkpoint_ns"])):
        return config  # it has started anew already
    newest = await newest_checkpoint(config, space)
    if newest is None:
        return config
    is_untouched = _id_of(newest) == waiting["checkpoint_id"]
    if not (is_untouched or was_made_here(newest, config)):
        return config
    return resumed_in(space, config, with_answers=_task_id(config) in active_run.interrupted)


def interrupts_run(
    task: StepTask, asked: Sequence[Interrupt], active_run: ActiveRun, config: RunnableConfig
) -> bool:
    """Return whether the run waits for the answer now; else the step is to be set aside."""
    if not has_checkpointer(config) or any(_is_of_model(interrupt) for interrupt in asked):
        return True
    if task["asks"] == "once":
        return _task_id(config) not in active_run.interrupted
    return task["asks"] == "now"


async def waiting_of(
    task: StepTask,
    asked: Sequence[Interrupt],
    inner: SubagentResult,
    files: dict[str, str],
    config: RunnableConfig,
) -> Waiting:
    """Return what a step waits for, whose executor has this configuration.

    A question that was asked before keeps its time.
    """
    newest = await newest_checkpoint(config, str(config["configurable"]["checkpoint_ns"]))
    before = task.get("waiting")
    ids = [interrupt.id for interrupt in asked]
    was_asked = before is not None and not set(ids).isdisjoint(before["ids"])
    return Waiting(
        question="\n".join(_question_of(interrupt) for interrupt in asked),
        ids=ids,
        asked_at=before["asked_at"] if before is not None and was_asked else time.time_ns(),
        is_put=False,
        checkpoint_id=_id_of(newest) if newest is not None else "",
        usage=inner.usage,
        files=files,
    )


async def in_call_order(
    stop: GraphInterrupt, executor: Any, config: RunnableConfig
) -> list[Interrupt]:
    """Return the interrupts of an executor in the order of the calls that ask.

    LangGraph raises those of tasks side by side in no order.
    """
    asked: list[Interrupt] = list(stop.args[0]) if stop.args else []
    if len(asked) < 2 or not has_checkpointer(config):
        return asked
    named = ("thread_id", "checkpoint_ns", CHECKPOINTER)
    configurable = {name: config["configurable"][name] for name in named}
    snapshot = await executor.aget_state({"configurable": configurable})
    places = {interrupt.id: place for place, interrupt in enumerate(snapshot.interrupts)}
    return sorted(asked, key=lambda interrupt: places.get(interrupt.id, len(places)))


def _id_of(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"]["checkpoint_id"])


def _task_id(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_ns"]).rpartition(":")[2]


def _is_of_model(interrupt: Interrupt) -> bool:
    """Return whether the run waits for its model server rather than for a person."""
    return isinstance(interrupt.value, dict) and interrupt.value.get("kind") == "model"


def _question_of(interrupt: Interrupt) -> str:
    value = interrupt.value
    return str(value.get("question", value)) if isinstance(value, dict) else str(value)
