"""Making a history shorter: notes are taken, and what they replace goes into the archive."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage

from manus.models.retry import Tell
from manus.nodes.active_run import Running
from manus.nodes.context.compaction import Cut, archived, cut_of, turns_of, writes_of
from manus.nodes.context.limits import Limits, limits_of
from manus.nodes.context.space import Space
from manus.nodes.context.summarizer import NoteTaker
from manus.nodes.turn.results import results_of
from manus.prompts import compaction as prompts
from manus.state.agent import Compaction
from manus.state.errors import ToolError
from manus.state.messages import last_request, since

log = logging.getLogger("manus")

_WORD = 2
"""Tokens of a word, on average and with what is around it."""
_NOTES = 0.15
"""Part of the window that the notes have at most."""
_LEAST_NOTES = 800
"""Tokens that they may have in the smallest one."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A history made shorter: as it is then, the writes that make it so, the channels beside it."""

    history: list[AnyMessage]
    writes: list[Any]
    compaction: Compaction
    lines: list[str]
    """Result lines of the run's steps that were taken out."""


class Compactor:
    """Makes the history of one run shorter."""

    def __init__(
        self,
        running: Running,
        tell: Tell | None,
        history: Sequence[AnyMessage],
        before: Compaction | None,
        space: Space,
    ) -> None:
        self._running = running
        self._history = history
        self._before = before or _nothing_yet()
        self._space = space
        self._limits: Limits | None = None
        self._notes = NoteTaker(running, tell)

    def size(self, message: BaseMessage) -> float:
        """About how many tokens a message has, as this model's server counts them."""
        if self._limits is None:  # most steps ask for none
            self._limits = limits_of(self._history, self._space.room)
        return self._space.calibration.factor * self._limits.size(message)

    async def compact(self, request_id: str, *, done: int, tight: bool = False) -> Compacted | None:
        """The history with older turns replaced by notes; None if nothing can be taken out.

        `request_id` is that of the run's request, `done` are the run's steps that were taken out
        before; `tight` leaves only what must stay.
        """
        if self._cut(request_id, tight=tight) is None:
            return None
        instructions, examined = await self._notes.instructions(self._history, self._before)
        # what was not looked at for instructions stays
        is_examined = examined == _newest_request(self._history)
        cut = self._cut(request_id if is_examined else "", tight=tight)
        if cut is None:
            return None
        first = self._before["evicted"] + 1
        parts = _parts_with(self._before)
        await self._keep(cut, first, parts[-1] if parts else "")
        evicted = self._before["evicted"] + len(cut.evicted)
        room = self._notes_room()
        lines = await self._notes.notes(cut.notes, cut.evicted, first, room)
        writes = writes_of(cut, prompts.summary(lines, evicted))
        left = _folded(self._history, cut, writes[0])
        compaction = self._told(left, evicted, instructions, examined)
        if parts:
            compaction["parts"] = parts
        steps = results_of(_of_run(cut, self._history, request_id), done + 1)
        return Compacted(left, writes, compaction, steps)

    def _cut(self, request_id: str, *, tight: bool) -> Cut | None:
        """What is taken out; requests before the one of that id only where it cannot be helped."""
        context, window = self._running.settings.context, self._space.window
        around = self._space.fixed + self._notes_room()
        wanted = context.compact_to * window
        ids = [m.id for m in self._history]
        return cut_of(
            self._history,
            0.0 if tight else max(0.0, wanted - around),
            self.size,
            1 if tight else _kept_turns(self._history, self, wanted),
            most=max(0.0, context.compact_at * self._space.full - around),
            own=ids.index(request_id) if request_id in ids else 0,
        )

    def _notes_room(self) -> float:
        """Tokens that the notes may have."""
        most = max(_NOTES * self._space.window, _LEAST_NOTES)
        return min(_WORD * self._running.settings.context.notes_words, most)

    def _told(
        self, left: Sequence[AnyMessage], evicted: int, instructions: list[str], examined: str
    ) -> Compaction:
        """What the state says of a compaction that left this history."""
        compaction = Compaction(
            count=self._before["count"] + 1,
            evicted=evicted,
            at=str(self._history[-1].id),
            size=round(self._space.fixed + sum(map(self.size, left))),
            instructions=instructions,
            examined=examined,
        )
        if (path := self._running.session.archive.path) is not None:
            compaction["archive"] = str(path)
        return compaction

    async def _keep(self, cut: Cut, first: int, part: str) -> None:
        archive = self._running.session.archive
        try:
            await asyncio.to_thread(archive.add, archived(cut.evicted, first, part))
        except (sqlite3.Error, OSError, ToolError):
            # the run goes on with its notes; the archive takes them in as soon as it can
            log.warning("messages could not be put into the archive", exc_info=True)


def _nothing_yet() -> Compaction:
    return Compaction(count=0, evicted=0, at="", size=0, instructions=[], examined="")


def _parts_with(before: Compaction) -> list[str]:
    """The parts of the archive that are of this branch, with a new one; none of an older thread."""
    if before["evicted"] and "parts" not in before:
        return []
    return [*before.get("parts", []), uuid.uuid4().hex[:8]]


def _kept_turns(history: Sequence[AnyMessage], compactor: Compactor, wanted: float) -> int:
    """How many of the newest turns stay whole: three, fewer where these alone are too large."""
    turns = turns_of(history)[-3:]
    sizes = [sum(map(compactor.size, history[begin:end])) for begin, end in turns]
    count = len(turns)
    while count > 1 and sum(sizes[-count:]) > wanted:
        count -= 1
    return count


def _folded(history: Sequence[AnyMessage], cut: Cut, summary: AnyMessage) -> list[AnyMessage]:
    """The history with the writes of a cut in it."""
    gone = {m.id for m in cut.evicted}
    places = ((summary if m.id == cut.place else m) for m in history)
    return [m for m in places if m is summary or m.id not in gone]


def _newest_request(history: Sequence[AnyMessage]) -> str:
    request = last_request(history)
    return "" if request is None else str(request.id)


def _of_run(cut: Cut, history: Sequence[AnyMessage], request_id: str) -> list[AnyMessage]:
    """What is taken out of the run of a request."""
    own = {id(m) for m in since(history, request_id)}
    return [m for m in cut.evicted if id(m) in own]
