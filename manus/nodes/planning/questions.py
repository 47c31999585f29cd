"""Decide when the question of a step's executor interrupts the run.

LangGraph keeps a superstep open while one of its tasks waits for a person, and nothing that depends
on the other tasks can start. A step with a question therefore ends its task, and is set aside in
the plan. When no other step can start, all steps set aside are sent again: each resumes its
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
from manus.nodes.subagent import (
    SubagentResult,
    continue_in_copy,
    has_checkpointer,
    is_from_this_task,
    newest_checkpoint,
    resume_configuration,
)
from manus.state.flow import StepTask
from manus.state.plan import Waiting
from manus.threads.records.select import CHECKPOINTER


async def step_configuration(
    task: StepTask, active_run: ActiveRun, config: RunnableConfig
) -> RunnableConfig:
    """Return the configuration with which a step's executor starts, or resumes if set aside.

    If the run was forked and another branch has continued the executor, it starts over.
    """
    own = str(config["configurable"].get("checkpoint_ns", ""))
    space = task.get("space")
    waiting = task.get("waiting")
    continued = await continue_in_copy(config, active_run)
    if continued is not config or space is None or waiting is None:
        return continued
    if await newest_checkpoint(config, own):
        return config  # it was restarted before
    newest = await newest_checkpoint(config, space)
    if newest is None:
        return config
    is_untouched = _get_id(newest) == waiting["checkpoint_id"]
    if not (is_untouched or is_from_this_task(newest, config, active_run)):
        return config
    return resume_configuration(
        space, config, with_answers=_task_id(config) in active_run.interrupted
    )


def interrupts_run(
    task: StepTask, questions: Sequence[Interrupt], active_run: ActiveRun, config: RunnableConfig
) -> bool:
    """Return whether the run waits for the answer now, rather than setting the step aside."""
    if not has_checkpointer(config) or any(
        _is_for_model_server(interrupt) for interrupt in questions
    ):
        return True
    if task["asks"] == "once":
        return _task_id(config) not in active_run.interrupted
    return task["asks"] == "now"


async def waiting_record(
    task: StepTask,
    questions: Sequence[Interrupt],
    subagent: SubagentResult,
    files: dict[str, str],
    config: RunnableConfig,
) -> Waiting:
    """Return the record of a step set aside, whose executor has this configuration.

    A question that was asked before keeps its time.
    """
    newest = await newest_checkpoint(config, str(config["configurable"]["checkpoint_ns"]))
    before = task.get("waiting")
    ids = [interrupt.id for interrupt in questions]
    asked_at = time.time_ns()
    if before is not None and not set(ids).isdisjoint(before["ids"]):
        asked_at = before["asked_at"]
    return Waiting(
        question="\n".join(map(_format_question, questions)),
        ids=ids,
        asked_at=asked_at,
        is_put=False,
        checkpoint_id=_get_id(newest) if newest is not None else "",
        usage=subagent.usage,
        files=files,
    )


async def sort_by_call(
    interrupt: GraphInterrupt, executor: Any, config: RunnableConfig
) -> list[Interrupt]:
    """Return the interrupts of an executor in the order of the calls that ask.

    LangGraph raises those of parallel tasks in any order.
    """
    questions: list[Interrupt] = list(interrupt.args[0]) if interrupt.args else []
    if len(questions) < 2 or not has_checkpointer(config):
        return questions
    keys = ("thread_id", "checkpoint_ns", CHECKPOINTER)
    configurable = {key: config["configurable"][key] for key in keys}
    snapshot = await executor.aget_state({"configurable": configurable})
    order = [question.id for question in snapshot.interrupts]
    return sorted(questions, key=lambda item: _position(order, item.id))


def _position(order: list[str], interrupt_id: str) -> int:
    return order.index(interrupt_id) if interrupt_id in order else len(order)


def _get_id(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"]["checkpoint_id"])


def _task_id(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_ns"]).rpartition(":")[2]


def _is_for_model_server(interrupt: Interrupt) -> bool:
    """Return whether the run waits for its model server rather than for a person."""
    return isinstance(interrupt.value, dict) and interrupt.value.get("kind") == "model"


def _format_question(interrupt: Interrupt) -> str:
    value = interrupt.value
    if isinstance(value, dict):
        return str(value.get("question", value))
    return str(value)
