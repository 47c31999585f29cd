"""Making a history shorter: older turns are replaced by notes, and go into the archive.

Whole stay: the user's messages, the newest turns, and any turn whose calls are still open. A turn
goes or stays as one, so that no tool message is ever left without its call. Only where the user's
messages are too large by themselves do those of earlier runs go. Sizes are in tokens.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.config import get_stream_writer

from manus.execution.archive import Archived
from manus.models.tokens import tokens_at
from manus.nodes.active_run import ActiveRun
from manus.nodes.context.summarizer import take_notes
from manus.nodes.context.truncation import ContextWindow
from manus.nodes.context.turns import SUMMARY, is_open, is_summary, turns_of, who, whole_text
from manus.prompts import compaction as prompts
from manus.state.agent import Compaction
from manus.state.errors import ToolError
from manus.state.events import CompactionEvent
from manus.state.messages import text_of
from manus.state.taint import is_tainted
from manus.tools.recall import NAME, Recall

log = logging.getLogger("manus")

KEPT_TURNS = 3
"""The newest turns, which are not taken out where they have room."""
_WORD = 2
"""Tokens of a word, on average and with what is around it."""
_NOTES = 0.15
"""Part of the window that the notes have at most."""
_LEAST_NOTES = 800
"""Tokens that they may have in the smallest one."""


@dataclass(slots=True)
class Past:
    """The history of a thread; making it shorter changes it."""

    history: list[AnyMessage]
    compaction: Compaction | None
    """What has been taken out of it so far."""
    request_id: str
    """That of the run's request."""
    can_recall: bool = True
    """Whether who reads the notes can look into the archive."""
    writes: list[Any] = field(default_factory=list)
    """Those that made it shorter."""


async def fit_history(
    past: Past, active_run: ActiveRun, window: ContextWindow, *, tight: bool = False
) -> list[AnyMessage]:
    """The history as a request has it.

    Messages that are too large by themselves are truncated. Where the next request would be too
    large all the same, older turns are replaced by notes; all but the newest where it is `tight`.
    """
    settings = active_run.settings.context
    shown = await active_run.shown.of(past.history, window)
    limit = min(settings.compact_at * window.size, window.full)
    if past.compaction is not None:  # where hardly less was left, notes would be taken each step
        limit = max(limit, (past.compaction["size"] + window.full) / 2)
    if not tight and _next_size(shown, past.compaction, window) < limit:
        return shown
    sizes = [window.count([message]) for message in shown]
    notes = min(_WORD * settings.notes_words, max(_NOTES * window.size, _LEAST_NOTES))
    wanted = settings.compact_to * window.size
    around = window.factor * window.around + notes
    ids = [message.id for message in past.history]
    evicted = evicted_of(
        past.history,
        sizes,
        0.0 if tight else max(0.0, wanted - around),
        1 if tight else _kept_turns(past.history, sizes, wanted),
        most=max(0.0, settings.compact_at * window.full - around),
        own=ids.index(past.request_id) if past.request_id in ids else 0,
    )
    if not evicted:
        return shown
    lines = await _noted(past, active_run, evicted, notes)
    past.compaction = made = _compact(past, active_run, window, sizes, evicted, lines)
    if past.can_recall:
        await offer_recall(active_run, made)
    return await active_run.shown.of(past.history, window)


def _next_size(
    history: Sequence[AnyMessage], compaction: Compaction | None, window: ContextWindow
) -> float:
    """Tokens of the next request: those of the last one, and of what has come since."""
    new: list[BaseMessage] = []
    for message in reversed(history):
        if compaction is not None and message.id == compaction["at"]:
            return compaction["size"] + window.count(new)
        counted = tokens_at(message)
        if counted is not None:
            return counted + window.count(new)
        new.append(message)
    return window.factor * window.around + window.count(new)


def _kept_turns(history: Sequence[AnyMessage], sizes: Sequence[float], wanted: float) -> int:
    """How many of the newest turns stay whole: three, fewer where these alone are too large."""
    newest = [sum(sizes[begin:end]) for begin, end in turns_of(history)[-KEPT_TURNS:]]
    while len(newest) > 1 and sum(newest) > wanted:
        newest.pop(0)
    return len(newest)


def evicted_of(
    history: Sequence[AnyMessage],
    sizes: Sequence[float],
    room: float,
    kept_turns: int = KEPT_TURNS,
    *,
    most: float = math.inf,
    own: int = 0,
) -> list[AnyMessage]:
    """What must be taken out, the oldest first, until what stays has at most so many tokens.

    Where the turns are not enough to leave at most `most`, requests go that stand before the place
    `own`: those of earlier runs.
    """
    turns = turns_of(history)
    total = sum(sizes)
    gone = set[int]()
    for begin, end in turns[: max(0, len(turns) - kept_turns)]:
        if total > room and not is_open(history[begin:end]):
            gone.update(range(begin, end))
            total -= sum(sizes[begin:end])
    over = total - room if total > most else 0.0
    for place, message in enumerate(history[:own]):
        if over > 0 and isinstance(message, HumanMessage):
            gone.add(place)
            over -= sizes[place]
    return [history[place] for place in sorted(gone)]


async def _noted(
    past: Past, active_run: ActiveRun, evicted: Sequence[AnyMessage], room: float
) -> list[str]:
    """Notes, of at most so many tokens, on what is taken out, which goes into the archive."""
    first = 1 + (past.compaction["evicted"] if past.compaction is not None else 0)
    rows = [Archived(n, str(m.id), who(m), whole_text(m)) for n, m in enumerate(evicted, first)]
    try:
        await asyncio.to_thread(active_run.session.archive.add, rows)
    except (sqlite3.Error, OSError, ToolError):
        # the run goes on with its notes
        log.warning("messages could not be put into the archive", exc_info=True)
    request = next((text_of(m) for m in past.history if m.id == past.request_id), "")
    return await take_notes(active_run, request, notes_in(past.history), evicted, first, room)


def _compact(
    past: Past,
    active_run: ActiveRun,
    window: ContextWindow,
    sizes: Sequence[float],
    evicted: Sequence[AnyMessage],
    lines: list[str],
) -> Compaction:
    """Put notes in place of what is taken out; what has been taken out by then."""
    history = past.history
    before = past.compaction or Compaction(count=0, evicted=0, at="", size=0)
    count = before["evicted"] + len(evicted)
    text = prompts.summary(lines, count, can_recall=past.can_recall)
    past.history, writes = with_notes(history, evicted, text)
    past.writes += writes
    gone = {message.id for message in evicted}
    kept = sum(size for m, size in zip(history, sizes, strict=True) if m.id not in gone)
    around = window.factor * window.around
    made = Compaction(
        count=before["count"] + 1,
        evicted=count,
        at=str(history[-1].id),
        size=round(around + kept + window.count(writes[:1])),
    )
    if is_tainted(evicted, past.compaction):
        made["outside"] = True
    if (path := active_run.session.archive.path) is not None:
        made["archive"] = str(path)
    told = CompactionEvent(
        type="compaction",
        evicted=len(evicted),
        before=max(round(around + sum(sizes)), made["size"]),
        size=made["size"],
        window=window.size,
    )
    get_stream_writer()(told)
    return made


def notes_in(history: Sequence[AnyMessage]) -> list[str]:
    """The notes on what was taken out before: headings, and a line each."""
    summary = next(filter(is_summary, history), None)
    return [] if summary is None else text_of(summary).splitlines()[1:]


def with_notes(
    history: Sequence[AnyMessage], evicted: Sequence[AnyMessage], text: str
) -> tuple[list[AnyMessage], list[Any]]:
    """The history with a text in place of what is taken out, and the writes that make it so.

    Nothing behind is written again, so that storage grows with what is new.
    """
    place = str(next(filter(is_summary, history), evicted[0]).id)
    summary = SystemMessage(text, id=place, additional_kwargs={SUMMARY: True})
    gone = {str(message.id) for message in evicted} - {place}
    shorter = [summary if m.id == place else m for m in history if m.id not in gone]
    return shorter, [summary, *(RemoveMessage(id=str(m.id)) for m in evicted if m.id in gone)]


async def offer_recall(active_run: ActiveRun, compaction: Compaction) -> None:
    """Give the agent the tool that looks into the archive.

    A thread that was forked under a new id takes over what had been taken out before.
    """
    if active_run.catalog.find(NAME) is not None:
        return
    active_run.catalog.add(Recall(session=active_run.session))
    if "archive" in compaction:
        source = Path(compaction["archive"])
        try:
            await asyncio.to_thread(active_run.session.archive.begin_with, source)
        except (sqlite3.Error, OSError, ToolError):
            log.warning("the archive %s could not be taken over", source, exc_info=True)
