"""Read the history of a thread: its supersteps in order, by checkpoint namespace.

It is read from the writes of the tasks, which remain when a history is compacted. Reading the state
at each checkpoint would take time quadratic in the number of steps.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite

from manus.threads.serializer import DecodedValues

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

INTERRUPT = "__interrupt__"
RESUME = "__resume__"
ROOT = ""
CONTINUES = "continues"
"""Metadata key of a checkpoint written by the undo of a rewind: ids of the checkpoints of which it
is a copy, newest last. Whatever their tasks have started continues."""
ANSWERS = "answers"
"""Key of a question: how many answers its task had before."""
COMPACTED = "compacted"
"""Metadata key of the checkpoint kept by `manus threads --compact`, which has all values."""


@dataclass(frozen=True, slots=True)
class Superstep:
    """A checkpoint and the writes that follow it."""

    id: str
    started_at: datetime
    next_started_at: datetime | None
    """Start of the next superstep; None for the newest of its namespace."""
    metadata: dict[str, Any]
    values: dict[str, Any]
    """Channel values at its start, without channels stored as deltas."""
    writes: list[tuple[str, str, Any]]
    """(task id, channel, value)."""

    def writes_to(self, channel: str) -> list[Any]:
        """Return the values written to a channel."""
        return [unwrap_overwrite(value) for _, name, value in self.writes if name == channel]

    def last_write(self, channel: str) -> Any:
        """Return the last value written to a channel; None without a write."""
        values = self.writes_to(channel)
        return values[-1] if values else None

    @property
    def messages(self) -> list[BaseMessage]:
        """Return the messages written in this superstep."""
        messages: list[BaseMessage] = []
        for write in self.writes_to("messages"):
            items = write if isinstance(write, list) else [write]
            messages += [item for item in items if isinstance(item, BaseMessage)]
        return messages

    @property
    def is_input(self) -> bool:
        """Return whether it received new input."""
        return self.metadata.get("source") == "input"

    @property
    def ended_at(self) -> datetime:
        """End time, or start time if it has not ended."""
        return self.next_started_at or self.started_at


History = dict[str, list[Superstep]]
"""Supersteps of a thread by checkpoint namespace; `ROOT` is the main graph."""
Children = dict[str, list[list[Superstep]]]
"""Supersteps of subgraph runs, by the id of the superstep that started them."""


def find_children(history: History) -> Children:
    """Return the subgraph runs of a history by the superstep that started them."""
    children: Children = {}
    copies: dict[str, str] = {}  # by the checkpoints that they are copies of
    for superstep in history.get(ROOT, []):
        copies.update(dict.fromkeys(superstep.metadata.get(CONTINUES, ()), superstep.id))
    for namespace, supersteps in history.items():
        parents = supersteps[0].metadata.get("parents") or {}
        if namespace != ROOT:
            parent = str(parents.get(namespace.rpartition("|")[0]))
            children.setdefault(copies.get(parent, parent), []).append(supersteps)
    return children


def unwrap_overwrite(write: Any) -> Any:
    """Return the value of a write, without the marker that it replaces the channel."""
    return write.value if isinstance(write, Overwrite) else write


async def read_history(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    decoded: DecodedValues | None = None,
    newest: str = "",
) -> History:
    """Return all supersteps that lead to the newest one; empty if the thread does not exist.

    `decoded`: the values of the previous reading of the thread, which need no deserialization.
    `newest`: the last checkpoint to return, for an abandoned branch.
    """
    with (decoded or DecodedValues()).reading(), _paused_collection():
        return await _read_history(saver, thread_id, newest)


@contextmanager
def _paused_collection() -> Iterator[None]:
    """Pause the garbage collector in the block, which only creates objects that it keeps.

    Its passes over them would take half of the time for a long history.
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


async def _read_history(saver: BaseCheckpointSaver[Any], thread_id: str, newest: str) -> History:
    by_namespace: dict[str, dict[str, CheckpointTuple]] = {}
    async for checkpoint in saver.alist({"configurable": {"thread_id": thread_id}}):
        namespace = str(checkpoint.config["configurable"].get("checkpoint_ns", ""))
        by_namespace.setdefault(namespace, {})[_get_id(checkpoint)] = checkpoint
    return {name: _order_supersteps(by_id, newest) for name, by_id in by_namespace.items()}


async def read_fingerprint(saver: BaseCheckpointSaver[Any], thread_id: str) -> list[object]:
    """Return a value that changes when the thread changes; empty if the thread does not exist."""
    config: Any = {"configurable": {"thread_id": thread_id}}
    newest = saver.alist(config, limit=20)
    return [(_get_id(item), len(item.pending_writes or ())) async for item in newest]


def _get_id(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"]["checkpoint_id"])


def to_superstep(checkpoint: CheckpointTuple, next_started_at: datetime | None = None) -> Superstep:
    """Return a stored checkpoint as a superstep."""
    return Superstep(
        id=_get_id(checkpoint),
        started_at=checkpoint_time(checkpoint),
        next_started_at=next_started_at,
        metadata=dict(checkpoint.metadata),
        values=checkpoint.checkpoint["channel_values"],
        writes=list(checkpoint.pending_writes or ()),
    )


def _order_supersteps(by_id: dict[str, CheckpointTuple], newest: str) -> list[Superstep]:
    """Follow the parents from the newest checkpoint to the first; return them oldest first."""
    supersteps: list[Superstep] = []
    next_started_at = None
    # a saver lists the newest first
    checkpoint_id = newest if newest in by_id else next(iter(by_id), "")
    while (checkpoint := by_id.get(checkpoint_id)) is not None:
        superstep = to_superstep(checkpoint, next_started_at)
        supersteps.append(superstep)
        next_started_at = superstep.started_at
        parent = checkpoint.parent_config or {}
        checkpoint_id = str(parent.get("configurable", {}).get("checkpoint_id"))
    return supersteps[::-1]


def is_waiting(writes: Iterable[tuple[str, str, Any]]) -> bool:
    """Return whether one of the writes is a question without an answer."""
    interrupts: dict[str, Any] = {}
    answers: dict[str, int] = {}
    for task, channel, value in writes:
        if channel == INTERRUPT:
            interrupts[task] = value
        elif channel == RESUME:
            answers[task] = len(value) if isinstance(value, list) else 1
    return any(
        _earlier_answers(value) >= answers.get(task, 0) for task, value in interrupts.items()
    )


def _earlier_answers(interrupts: Any) -> int:
    """Return how many answers a task had when it asked its newest question."""
    question = getattr(interrupts[-1], "value", None) if interrupts else None
    return int(question.get(ANSWERS, 0)) if isinstance(question, Mapping) else 0


def checkpoint_time(checkpoint: CheckpointTuple) -> datetime:
    """Return the creation time of a checkpoint, with a time zone."""
    time = datetime.fromisoformat(checkpoint.checkpoint["ts"])
    return time if time.tzinfo else time.replace(tzinfo=UTC)
