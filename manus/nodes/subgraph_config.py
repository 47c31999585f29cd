"""Read and change the configuration of nested graphs, whose keys are private to LangGraph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from manus.threads.records.select import CHECKPOINTER

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from manus.nodes.active_run import ActiveRun

_RESUMING = "__pregel_resuming"
_ANSWERS = "__pregel_resume_map"
_PARENTS = "checkpoint_map"
_REPLAY = "__pregel_replay_state"


def has_checkpointer(config: RunnableConfig) -> bool:
    """Return whether a graph that is called from this node can be resumed."""
    return config.get("configurable", {}).get(CHECKPOINTER) is not None


def is_repeated(configurable: Mapping[str, Any]) -> bool:
    """Return whether a nested graph repeats its calls, in a run from an earlier checkpoint."""
    return configurable.get(_REPLAY) is not None


async def newest_checkpoint(config: RunnableConfig, namespace: str) -> CheckpointTuple | None:
    """Return the newest checkpoint of a graph that was called from a node of this thread."""
    configurable = config["configurable"]
    location = {"thread_id": configurable["thread_id"], "checkpoint_ns": namespace}
    checkpoint: CheckpointTuple | None
    checkpoint = await configurable[CHECKPOINTER].aget_tuple({"configurable": location})
    return checkpoint


def is_from_this_task(
    checkpoint: CheckpointTuple, config: RunnableConfig, active_run: ActiveRun
) -> bool:
    """Return whether a checkpoint is from an earlier execution of this same task."""
    parents: dict[str, Any] = config["configurable"].get(_PARENTS, {})
    stored: dict[str, Any] = checkpoint.metadata.get("parents") or {}
    return stored == parents or stored.get("") in active_run.continues


async def continue_in_copy(config: RunnableConfig, active_run: ActiveRun) -> RunnableConfig:
    """Return the configuration of a nested graph, which continues if its task is a copy.

    The undo of a rewind copies a checkpoint. What a task had started there is stored in the
    namespace of that task, and what it had done must not be repeated.
    """
    configurable = config["configurable"]
    node, _, task_id = str(configurable.get("checkpoint_ns", "")).rpartition(":")
    for original in active_run.original_tasks.get(task_id, ()):
        namespace = f"{node}:{original}"
        if await newest_checkpoint(config, namespace) is not None:
            with_answers = task_id in active_run.interrupted
            return resume_configuration(namespace, config, with_answers=with_answers)
    return config


def resume_configuration(
    namespace: str, config: RunnableConfig, *, with_answers: bool
) -> RunnableConfig:
    """Return the configuration that resumes a nested graph in its earlier namespace.

    Without it, LangGraph would start the graph again, in the namespace of the node's own task.
    `with_answers`: the run was resumed with answers for this call. Otherwise they are removed:
    LangGraph looks answers up by the asking task, and would apply them to the next question too.
    """
    configurable = {**config["configurable"], "checkpoint_ns": namespace, _RESUMING: True}
    configurable.pop(_REPLAY, None)  # in a fork, it would repeat the request
    if not with_answers:
        configurable.pop(_ANSWERS, None)
    return {**config, "configurable": configurable}
