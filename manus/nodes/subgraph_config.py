"""How LangGraph configures a graph inside a graph, by keys that are private to it."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

CHECKPOINTER = "__pregel_checkpointer"
"""The saver of a graph that is inside another one."""
_RESUMING = "__pregel_resuming"
_ANSWERS = "__pregel_resume_map"
_PARENTS = "checkpoint_map"
_REPLAY = "__pregel_replay_state"


def has_checkpointer(config: RunnableConfig) -> bool:
    """Return whether a graph that is called from this node can be resumed."""
    return config.get("configurable", {}).get(CHECKPOINTER) is not None


async def newest_checkpoint(config: RunnableConfig, namespace: str) -> CheckpointTuple | None:
    """Return the newest checkpoint of a graph that was called from a node of this thread."""
    configurable = config["configurable"]
    place = {"thread_id": configurable["thread_id"], "checkpoint_ns": namespace}
    found: CheckpointTuple | None
    found = await configurable[CHECKPOINTER].aget_tuple({"configurable": place})
    return found


def was_made_here(checkpoint: CheckpointTuple, config: RunnableConfig) -> bool:
    """Return whether a checkpoint was made when this same task was carried out before."""
    parents: dict[str, Any] = config["configurable"].get(_PARENTS, {})
    return checkpoint.metadata.get("parents") == parents


def resumed_in(namespace: str, config: RunnableConfig, *, with_answers: bool) -> RunnableConfig:
    """Return the configuration that resumes a graph in the namespace in which it was called before.

    Without it, LangGraph would call the graph anew, in the namespace of the node's own task.
    `with_answers`: the run was resumed with answers for this call. Otherwise they are left out:
    LangGraph finds an answer by the task that asked, and would give it to the next question too.
    """
    configurable = {**config["configurable"], "checkpoint_ns": namespace, _RESUMING: True}
    configurable.pop(_REPLAY, None)  # in a fork, it would have the request asked once more
    if not with_answers:
        configurable.pop(_ANSWERS, None)
    return {**config, "configurable": configurable}
