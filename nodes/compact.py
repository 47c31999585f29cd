"""Making a history shorter: notes are taken, and what they replace goes into the archive."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from nodes.compaction import Cut, archived, cut_of, turns_of, who, whole_text, writes_of
from nodes.complete import Tell, complete
from nodes.large import fitted
from nodes.limits import limits_of
from nodes.notes import Sources, bare_lines, bounded, checked_lines, quoted
from nodes.results import results_of, step_line
from nodes.running import Running
from nodes.space import Space
from nodes.tokens import estimate_text
from nodes.windows import window_for
from prompts import compaction as prompts
from state.agent import Compaction
from state.errors import ManusError, ToolError
from state.messages import last_request, since, text_of

log = logging.getLogger("manus")

ROLE = "summary"
_AROUND = 10
"""Tokens around each of them: its number and who said it."""
_SHOWN = 4_000
"""Characters of each message that the summarizer sees; the archive has all of them."""
_CHUNK = 30_000
"""Tokens of messages that one request to the summarizer has at most."""
_LEAST_CHUNK = 1_000
_PART = 0.5
"""Part of the summarizer's window that they have at most."""
_WORD = 2
"""Tokens of a word, on average and with what is around it."""
_NOTES = 0.15
"""Part of the window that the notes have at most."""
_LEAST_NOTES = 800
"""Tokens that they may have in the smallest one."""
_BEGIN = 160
"""Characters of a request of an earlier run that the notes quote."""


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
        self._tell = tell
        self._history = history
        self._before = before or _nothing_yet()
        self._space = space
        self._limits = limits_of(history, space.room)

    def size(self, message: BaseMessage) -> float:
        """About how many tokens a message has, as this model's server counts them."""
        return self._space.calibration.factor * self._limits.size(message, self._space.provider)

    async def compact(self, request_id: str, *, done: int, tight: bool = False) -> Compacted | None:
        """The history with older turns replaced by notes; None if nothing can be taken out.

        `request_id` is that of the run's request, `done` are the run's steps that were taken out
        before; `tight` leaves only what must stay.
        """
        if self._cut(request_id, tight=tight) is None:
            return None
        instructions, examined = await self._instructions()
        # what was not looked at for instructions stays
        is_examined = examined == _newest_request(self._history)
        cut = self._cut(request_id if is_examined else "", tight=tight)
        if cut is None:
            return None
        first = self._before["evicted"] + 1
        await self._keep(cut, first)
        evicted = self._before["evicted"] + len(cut.evicted)
        writes = writes_of(cut, prompts.summary(await self._notes(cut, first), evicted))
        left = _folded(self._history, cut, writes[0])
        compaction = self._told(left, evicted, instructions, examined)
        lines = results_of(_of_run(cut, self._history, request_id), done + 1)
        return Compacted(left, writes, compaction, lines)

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

    async def _keep(self, cut: Cut, first: int) -> None:
        archive = self._running.session.archive
        try:
            await asyncio.to_thread(archive.add, archived(cut.evicted, first))
        except (sqlite3.Error, OSError, ToolError):
            # the run goes on with its notes; the archive takes them in as soon as it can
            log.warning("messages could not be put into the archive", exc_info=True)

    async def _notes(self, cut: Cut, first: int) -> list[str]:
        lines, known = cut.notes, range(1, first + len(cut.evicted))
        for begin, end in _chunks(cut.evicted, self._chunk()):
            part = cut.evicted[begin:end]
            written = await self._written(lines, part, first + begin, known)
            lines = written or [*lines, *_without_model(part, first + begin)]
        asked = [(n, m) for n, m in enumerate(cut.evicted, first) if isinstance(m, HumanMessage)]
        lines += bare_lines((n, n, f"The user said: {_begin(text_of(m))}") for n, m in asked)
        return bounded(lines, self._notes_room(), estimate_text)

    def _chunk(self) -> float:
        """Tokens of messages that one request to the summarizer has at most."""
        return min(_CHUNK, max(_LEAST_CHUNK, _PART * window_for(self._running, ROLE)))

    async def _written(
        self, lines: list[str], part: Sequence[AnyMessage], first: int, known: Sequence[int]
    ) -> list[str]:
        """The notes as the model writes them anew; none if it fails or nothing of it holds."""
        words = str(self._running.settings.context.notes_words)
        system = prompts.SUMMARIZER.replace("$words", words)
        shown = "\n\n".join(
            f"[#{first + i}] {who(m)}: {_shortened(whole_text(m))}" for i, m in enumerate(part)
        )
        reply = await self._ask(system, prompts.notes_request(lines, shown))
        sources = Sources(lines)
        for i, message in enumerate(part):
            sources.add(first + i, whole_text(message))
        return checked_lines(reply, sources, known) if reply else []

    async def _instructions(self) -> tuple[list[str], str]:
        """The standing instructions, with those of the user's messages that are new.

        And the newest message that was looked at; where the model fails, that is as before.
        """
        known, examined = self._before["instructions"], self._before["examined"]
        users = [m for m in self._history if isinstance(m, HumanMessage)]
        fresh = [m for m in since(users, examined) if isinstance(m, HumanMessage)]
        if not fresh:
            return known, examined
        said = "\n\n".join(map(text_of, fresh))
        room = _PART * window_for(self._running, ROLE)
        shown = "\n\n".join(map(text_of, await fitted(self._running, fresh, room, user=1.0)))
        reply = await self._ask(prompts.INSTRUCTION_FINDER, shown)
        if not reply:
            return known, examined
        found = quoted(reply, said)
        return [*known, *(one for one in found if one not in known)], str(fresh[-1].id)

    async def _ask(self, system: str, question: str) -> str:
        request = [SystemMessage(system), HumanMessage(question)]
        try:
            reply = await complete(self._running, ROLE, request, tell=self._tell, quiet=True)
        except ManusError as error:
            log.info("no notes by the model: %s", error)
            return ""
        return text_of(reply.message)


def _nothing_yet() -> Compaction:
    return Compaction(count=0, evicted=0, at="", size=0, instructions=[], examined="")


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


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - _SHOWN:,} characters …]\n{text[-half:]}"


def _chunks(messages: Sequence[AnyMessage], most: float) -> list[tuple[int, int]]:
    """Places of parts of the messages, each with at most so many tokens or one turn."""
    chunks: list[tuple[int, int]] = []
    begin, size = 0, 0.0
    for place, message in enumerate(messages):
        tokens = estimate_text(_shortened(whole_text(message))) + _AROUND
        of_turn = isinstance(message, ToolMessage)
        if place > begin and size + tokens > most and not of_turn:
            chunks.append((begin, place))
            begin, size = place, 0.0
        size += tokens
    return [*chunks, (begin, len(messages))]


def _newest_request(history: Sequence[AnyMessage]) -> str:
    request = last_request(history)
    return "" if request is None else str(request.id)


def _of_run(cut: Cut, history: Sequence[AnyMessage], request_id: str) -> list[AnyMessage]:
    """What is taken out of the run of a request."""
    own = {id(m) for m in since(history, request_id)}
    return [m for m in cut.evicted if id(m) in own]


def _begin(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGIN else f"{flat[:_BEGIN]}…"


def _without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    turns = turns_of(messages)
    return bare_lines((first + b, first + e - 1, step_line(messages[b:e])) for b, e in turns)
