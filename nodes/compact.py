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
)

from nodes.compaction import Cut, archived, cut_of, turns_of, who, whole_text, writes_of
from nodes.complete import Tell, complete
from nodes.large import fitted, limits_of
from nodes.notes import Sources, bare_lines, bounded, checked_lines, quoted
from nodes.results import results_of, step_line
from nodes.running import Running
from nodes.tokens import Calibration, estimate_message
from nodes.windows import window_of
from prompts import compaction as prompts
from state.agent import Compaction
from state.errors import ManusError, ToolError
from state.messages import since, text_of
from state.model_settings import provider_of

log = logging.getLogger("manus")

ROLE = "summary"
_SHOWN = 4_000
"""Characters of each message that the summarizer sees; the archive has all of them."""
_CHUNK = 120_000
"""Characters of messages that one request to the summarizer has at most."""
_WORD = 8
"""Characters of a word, on average and with what is around it."""


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

    def __init__(self, running: Running, tell: Tell | None, history: Sequence[BaseMessage]) -> None:
        self._running = running
        self._tell = tell
        settings = running.model_settings(running.profile.role)
        self._provider = provider_of(settings.model)
        self.window = window_of(settings, running)
        known = running.calibration.get(settings.model or "")
        self._calibration = known or Calibration()
        self._limits = limits_of(history, self.window)

    def size(self, message: BaseMessage) -> float:
        """About how many tokens a message has, as this model's server counts them."""
        limit = self._limits.over(message)
        tokens = estimate_message(message, self._provider) if limit is None else limit
        return self._calibration.factor * tokens

    async def compact(
        self,
        history: Sequence[AnyMessage],
        before: Compaction | None,
        request_id: str,
        *,
        fixed: float,
        done: int,
        tight: bool = False,
    ) -> Compacted | None:
        """The history with older turns replaced by notes; None if nothing can be taken out.

        `fixed` are the tokens of what stands around the history; `done` the run's steps that were
        taken out before; `tight` leaves only what must stay.
        """
        notes_room = 2.0 * self._running.settings.context.notes_words
        wanted = self._running.settings.context.compact_to * self.window
        room = 0.0 if tight else max(0.0, wanted - fixed - notes_room)
        cut = cut_of(history, room, self.size, 1 if tight else _kept_turns(history, self, wanted))
        if cut is None:
            return None
        state = before or _nothing_yet()
        first = state["evicted"] + 1
        await self._keep(cut, first)
        instructions, examined = await self._instructions(history, state)
        evicted = state["evicted"] + len(cut.evicted)
        summary = prompts.summary(await self._notes(cut, first), evicted)
        writes = writes_of(cut, summary)
        left = _folded(history, cut, writes[0])
        size = fixed + sum(map(self.size, left))
        compaction = Compaction(
            count=state["count"] + 1,
            evicted=evicted,
            at=str(history[-1].id),
            size=round(size),
            instructions=instructions,
            examined=examined,
        )
        if (path := self._running.session.archive.path) is not None:
            compaction["archive"] = str(path)
        of_run = {id(m) for m in since(history, request_id)}
        own = [m for m in cut.evicted if id(m) in of_run]
        return Compacted(left, writes, compaction, results_of(own, done + 1))

    async def _keep(self, cut: Cut, first: int) -> None:
        archive = self._running.session.archive
        try:
            await asyncio.to_thread(archive.add, archived(cut.evicted, first))
        except (sqlite3.Error, OSError, ToolError):
            # the run goes on with its notes; only what they leave out cannot be looked up
            log.warning("messages could not be put into the archive", exc_info=True)

    async def _notes(self, cut: Cut, first: int) -> list[str]:
        most = self._running.settings.context.notes_words * _WORD
        lines, known = cut.notes, range(1, first + len(cut.evicted))
        for begin, end in _chunks(cut.evicted, min(_CHUNK, self._chunk())):
            part = cut.evicted[begin:end]
            written = await self._written(lines, part, first + begin, known)
            lines = written or [*lines, *_without_model(part, first + begin)]
        return bounded(lines, most)

    def _chunk(self) -> int:
        window = window_of(self._running.model_settings(ROLE), self._running)
        return max(_SHOWN, window)  # half of it, at some two characters a token

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

    async def _instructions(
        self, history: Sequence[AnyMessage], state: Compaction
    ) -> tuple[list[str], str]:
        """The standing instructions, with those of the user's messages that are new."""
        users = [m for m in history if isinstance(m, HumanMessage)]
        fresh = [m for m in since(users, state["examined"]) if isinstance(m, HumanMessage)]
        if not fresh:
            return state["instructions"], state["examined"]
        shown = "\n\n".join(map(text_of, await fitted(self._running, ROLE, fresh)))
        said = "\n\n".join(map(text_of, fresh))
        found = quoted(await self._ask(prompts.INSTRUCTION_FINDER, shown), said)
        known = state["instructions"]
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


def _chunks(messages: Sequence[AnyMessage], most: int) -> list[tuple[int, int]]:
    """Places of parts of the messages, each with at most so many characters or one message."""
    chunks: list[tuple[int, int]] = []
    begin = size = 0
    for place, message in enumerate(messages):
        length = min(len(whole_text(message)), _SHOWN) + 20
        if place > begin and size + length > most:
            chunks.append((begin, place))
            begin = place
            size = 0
        size += length
    return [*chunks, (begin, len(messages))]


def _without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    turns = turns_of(messages)
    return bare_lines((first + b, first + e - 1, step_line(messages[b:e])) for b, e in turns)
