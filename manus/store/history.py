"""What a store has of a thread: its supersteps in order, in each checkpoint namespace.

Read from the writes of the tasks, which stay when a history is compacted. To ask for the state at
each checkpoint would cost the square of the steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langgraph.types import Overwrite

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

INTERRUPT = "__interrupt__"
RESUME = "__resume__"
ROOT = ""


@dataclass(frozen=True, slots=True)
class Superstep:
    """A checkpoint, and what was written from it on."""

    id: str
    began: datetime
    until: datetime | None
    """When the next one began; None for the newest of its namespace."""
    metadata: dict[str, Any]
    values: dict[str, Any]
    """The plain channels as they were when it began."""
    writes: list[tuple[str, str, Any]]
    """(task, channel, value)."""

    def written(self, channel: str) -> list[Any]:
        """What was written to a channel."""
        return [plain(value) for _, name, value in self.writes if name == channel]

    def last(self, channel: str) -> Any:
        """What was written to a channel last; None if nothing was."""
        found = self.written(channel)
        return found[-1] if found else None

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages that were written."""
        lists = (w if isinstance(w, list) else [w] for w in self.written("messages"))
        return [m for messages in lists for m in messages if isinstance(m, BaseMessage)]

    @property
    def is_input(self) -> bool:
        """Whether a new input came with it."""
        return self.metadata.get("source") == "input"

    @property
    def ended(self) -> datetime:
        """When it ended, or began where it has not ended."""
        return self.until or self.began


History = dict[str, list[Superstep]]
"""The supersteps of a thread, by checkpoint namespace; the thread's own is `ROOT`."""
Children = dict[str, list[list[Superstep]]]
"""Conversations inside others, by the superstep that they were begun in."""


def find_children(history: History) -> Children:
    """The conversations that lie inside others."""
    found: Children = {}
    for namespace, supersteps in history.items():
        parents = supersteps[0].metadata.get("parents") or {}
        if namespace != ROOT:
            parent = parents.get(namespace.rpartition("|")[0])
            found.setdefault(str(parent), []).append(supersteps)
    return found


def plain(write: Any) -> Any:
    """A write without the mark that it replaces what was there."""
    return write.value if isinstance(write, Overwrite) else write


async def read_history(saver: BaseCheckpointSaver[Any], thread_id: str) -> History:
    """All supersteps that lead to the newest; none if there is no such thread."""
    by_namespace: dict[str, dict[str, CheckpointTuple]] = {}
    async for one in saver.alist({"configurable": {"thread_id": thread_id}}):
        namespace = str(one.config["configurable"].get("checkpoint_ns", ""))
        by_namespace.setdefault(namespace, {})[_id(one)] = one
    return {name: _supersteps(found) for name, found in by_namespace.items()}


async def fingerprint(saver: BaseCheckpointSaver[Any], thread_id: str) -> list[object]:
    """What differs when more was stored since the last time; empty if there is no such thread."""
    config: Any = {"configurable": {"thread_id": thread_id}}
    newest = saver.alist(config, limit=20)
    return [(_id(one), len(one.pending_writes or ())) async for one in newest]


def _id(one: CheckpointTuple) -> str:
    return str(one.config["configurable"]["checkpoint_id"])


def _supersteps(found: dict[str, CheckpointTuple]) -> list[Superstep]:
    """From the first to the newest checkpoint, each the parent of the next."""
    line: list[Superstep] = []
    until = None
    place = next(iter(found), "")  # a saver lists the newest first
    while (one := found.get(place)) is not None:
        values = one.checkpoint["channel_values"]
        writes = list(one.pending_writes or ())
        line.append(
            Superstep(place, checkpoint_time(one), until, dict(one.metadata), values, writes)
        )
        until = line[-1].began
        place = str((one.parent_config or {}).get("configurable", {}).get("checkpoint_id"))
    return line[::-1]


def is_waiting(writes: Iterable[tuple[str, str, Any]]) -> bool:
    """Whether a question among them has no answer yet."""
    channels = list(writes)
    asked = {task for task, channel, _ in channels if channel == INTERRUPT}
    return bool(asked - {task for task, channel, _ in channels if channel == RESUME})


def checkpoint_time(one: CheckpointTuple) -> datetime:
    """When a checkpoint was made."""
    time = datetime.fromisoformat(one.checkpoint["ts"])
    return time if time.tzinfo else time.replace(tzinfo=UTC)
