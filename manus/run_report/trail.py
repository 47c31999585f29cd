"""What a store has of a thread: its supersteps in order, in each checkpoint namespace.

Read from the writes of the tasks, which stay when a history is made shorter, and not by asking for
the state at each checkpoint, which would cost the square of the steps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid5

from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

INTERRUPT = "__interrupt__"
RESUME = "__resume__"
SENDS = "__pregel_tasks"
ROOT = ""
_EDITS = 10
"""Updates in one edit that are told from those of the run."""
_ENOUGH = 50
"""So many known ones in a row: graphs side by side do not store in the order of their ids."""


@dataclass(frozen=True, slots=True)
class Superstep:
    """A checkpoint, and what was written from it on."""

    id: str
    space: str
    at: datetime
    """When it began."""
    until: datetime | None
    """When it ended; None for the newest of its namespace."""
    metadata: dict[str, Any]
    values: dict[str, Any]
    """The plain channels as they were when it began."""
    writes: list[tuple[str, str, Any]]
    """(task, channel, value)."""
    is_edit: bool = False
    """Whether somebody edited the state, and no node ran."""

    def written(self, channel: str) -> list[Any]:
        """What was written to a channel."""
        return [value for _, name, value in self.writes if name == channel]

    def last(self, channel: str) -> Any:
        """What was written to a channel last; None if nothing was."""
        found = self.written(channel)
        return found[-1] if found else None

    @property
    def is_input(self) -> bool:
        """Whether a new input came with it."""
        return self.metadata.get("source") == "input"

    @property
    def end(self) -> datetime:
        """When it ended, or began where it has not ended."""
        return self.until or self.at


@dataclass(slots=True)
class Trail:
    """All supersteps of a thread, by namespace; the thread's own is `ROOT`."""

    thread_id: str
    spaces: dict[str, list[Superstep]] = field(default_factory=dict)
    branches: int = 0
    """Checkpoints that lie on another line than the newest: the thread was forked."""

    @property
    def root(self) -> list[Superstep]:
        """The supersteps of the thread's own graph."""
        return self.spaces.get(ROOT, [])


class TrailReader:
    """Reads the trail of one thread, and later only what is new in it."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread_id: str) -> None:
        self._saver = saver
        self._thread_id = thread_id
        self._known: dict[tuple[str, str], CheckpointTuple] = {}

    async def read(self) -> tuple[Trail, bool]:
        """The trail, and whether anything in it is other than at the last time."""
        open_before = self._open()
        new = await self._new()
        self._known.update((_key(one), one) for one in new)
        # what was written to a checkpoint after it was read, before and while others followed
        again = [await self._read_again(one) for one in open_before]
        return self._trail(), bool(new) or any(again)

    async def _new(self) -> list[CheckpointTuple]:
        config: Any = {"configurable": {"thread_id": self._thread_id}}
        new: list[CheckpointTuple] = []
        known_in_a_row = 0
        listed = cast(AsyncGenerator[Any], self._saver.alist(config))
        async with aclosing(listed) as tuples:
            async for one in tuples:
                known_in_a_row = known_in_a_row + 1 if _key(one) in self._known else 0
                if known_in_a_row == _ENOUGH:
                    break
                if not known_in_a_row:
                    new.append(one)
        return new

    async def _read_again(self, one: CheckpointTuple) -> bool:
        again = await self._saver.aget_tuple(one.config)
        if again is None or len(again.pending_writes or []) == len(one.pending_writes or []):
            return False
        self._known[_key(again)] = again
        return True

    def _open(self) -> list[CheckpointTuple]:
        """Checkpoints that tasks may still write to: no other has followed, and no end come."""
        parents = {_parent(one) for one in self._known.values()}
        ends = [one for key, one in self._known.items() if key not in parents]
        return [one for one in ends if not _is_over(one)]

    def _trail(self) -> Trail:
        by_space: dict[str, dict[str, CheckpointTuple]] = {}
        for (space, identity), one in self._known.items():
            by_space.setdefault(space, {})[identity] = one
        trail = Trail(self._thread_id)
        for space, found in by_space.items():
            line = _line(found)
            trail.branches += len(found) - len(line) if space == ROOT else 0
            trail.spaces[space] = _supersteps(space, line)
        return trail


async def read_trail(saver: BaseCheckpointSaver[Any], thread_id: str) -> Trail:
    """The trail of a thread; without supersteps if there is no such thread."""
    trail, _ = await TrailReader(saver, thread_id).read()
    return trail


def _key(one: CheckpointTuple) -> tuple[str, str]:
    known = one.config["configurable"]
    return str(known.get("checkpoint_ns", "")), str(known["checkpoint_id"])


def _parent(one: CheckpointTuple) -> tuple[str, str]:
    known = (one.parent_config or {}).get("configurable", {})
    return str(known.get("checkpoint_ns", "")), str(known.get("checkpoint_id", ""))


def _is_over(one: CheckpointTuple) -> bool:
    """Whether nothing more can be written from a checkpoint: its run has ended."""
    values = one.checkpoint["channel_values"]
    return values.get("stop_reason") is not None and one.metadata.get("source") != "input"


def _line(found: dict[str, CheckpointTuple]) -> list[CheckpointTuple]:
    """The checkpoints from the first to the newest one, each the parent of the next."""
    line: list[CheckpointTuple] = []
    place = max(found)  # ids are in order of time
    while place in found:
        line.append(found[place])
        place = _parent(found[place])[1]
    return line[::-1]


def _supersteps(space: str, line: list[CheckpointTuple]) -> list[Superstep]:
    steps = []
    for one, after in zip(line, [*line[1:], None], strict=True):
        steps.append(
            Superstep(
                id=_key(one)[1],
                space=space,
                at=_time(one),
                until=_time(after) if after is not None else None,
                metadata=dict(one.metadata),
                values=one.checkpoint["channel_values"],
                writes=_own_writes(one, after),
                is_edit=_is_edit(after),
            )
        )
    return steps


def _own_writes(one: CheckpointTuple, after: CheckpointTuple | None) -> list[tuple[str, str, Any]]:
    """The writes that led to the next checkpoint: an edit of the state writes beside the run's."""
    writes = list(one.pending_writes or [])
    identity = UUID(one.checkpoint["id"])
    names = (INTERRUPT, *(f"{INTERRUPT}:{place}" for place in range(1, _EDITS)))
    by_person = {str(uuid5(identity, name)) for name in names}
    edits = [w for w in writes if w[0] in by_person]
    if after is not None and _is_edit(after):
        # an edit in the name of the node that was next has that task's id
        return edits or _snapshots(after) or writes
    return [w for w in writes if w[0] not in by_person]


def _is_edit(after: CheckpointTuple | None) -> bool:
    return after is not None and after.metadata.get("source") == "update"


def _snapshots(one: CheckpointTuple) -> list[tuple[str, str, Any]]:
    """The channels that an edit stored whole: it was made where a run had gone on already."""
    values = one.checkpoint["channel_values"].items()
    return [
        ("", name, Overwrite(value.value))
        for name, value in values
        if isinstance(value, _DeltaSnapshot)
    ]


def _time(one: CheckpointTuple) -> datetime:
    time = datetime.fromisoformat(one.checkpoint["ts"])
    return time if time.tzinfo else time.replace(tzinfo=UTC)
