"""Shorten a history: older turns are archived and replaced by notes.

The user's messages, the newest turns, and any turn with unanswered calls are kept. A turn is
evicted as a whole, so that no tool message is ever separated from its call. Requests of earlier
runs are evicted only if the user's messages alone are too large. Sizes are in tokens.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.config import get_stream_writer

from manus.models.tokens import tokens_at
from manus.nodes.active_run import ActiveRun
from manus.nodes.history_notes import take_notes
from manus.nodes.truncation import ContextWindow
from manus.nodes.turns import (
    SUMMARY,
    full_text,
    get_sender,
    is_open,
    is_summary,
    split_turns,
)
from manus.prompts import compaction as prompts
from manus.state.agent import Compaction
from manus.state.errors import ToolError
from manus.state.events import CompactionEvent
from manus.state.messages import get_text
from manus.state.taint import find_exposure
from manus.threads.archive import Archived
from manus.tools.recall import NAME, Recall

log = logging.getLogger("manus")

KEPT_TURNS = 3
"""Number of newest turns that are not evicted if they fit."""
_TOKENS_PER_WORD = 2
"""Average, including punctuation and markup."""
_NOTES_SHARE = 0.15
"""Maximum share of the context window for the notes."""
_MIN_NOTES = 800
"""Tokens for the notes in even the smallest context window."""


@dataclass(slots=True)
class ThreadHistory:
    """The history of a thread, and what compaction has changed in it."""

    messages: list[AnyMessage]
    compaction: Compaction | None
    """State of the compaction so far."""
    request_id: str
    """Id of the message with the run's request."""
    is_tight: bool = False
    """Whether all turns but the newest are replaced by notes."""
    can_recall: bool = True
    """Whether the reader of the notes has the `recall` tool."""
    writes: list[Any] = field(default_factory=list)
    """State writes of the compaction."""


async def fit_history(
    history: ThreadHistory, active_run: ActiveRun, window: ContextWindow, *, tight: bool = False
) -> list[AnyMessage]:
    """Return the history as messages of a request that fits into the context window.

    Messages that are too large are truncated. If the request would still be too large, older turns
    are replaced by notes; with `tight`, all turns but the newest.
    """
    rendered = await active_run.rendered_history.render(history.messages, window)
    tight = tight or history.is_tight
    limit = compaction_limit(active_run.settings.compaction.compact_at, history.compaction, window)
    if not tight and next_size(rendered, history.compaction, window) < limit:
        return rendered
    sizes = [window.count([message]) for message in rendered]
    notes_size = _notes_size(active_run, window)
    evicted = _select(history, active_run, window, sizes, notes_size, tight=tight)
    if not evicted:
        return rendered
    notes = await _take_notes(history, active_run, evicted, notes_size)
    history.compaction = _replace_evicted(history, active_run, window, sizes, evicted, notes)
    if history.can_recall:
        await offer_recall(active_run, history.compaction)
    return await active_run.rendered_history.render(history.messages, window)


def compaction_limit(
    compact_at: float, compaction: Compaction | None, window: ContextWindow
) -> float:
    """Return the size of a request at which the history is compacted."""
    limit = min(compact_at * window.size, window.full)
    if compaction is not None:
        # a compaction that freed little must not be repeated at every step
        limit = max(limit, (compaction["size"] + window.full) / 2)
    return limit


def _notes_size(active_run: ActiveRun, window: ContextWindow) -> float:
    """Return the tokens that the notes may use."""
    configured = _TOKENS_PER_WORD * active_run.settings.compaction.notes_words
    return min(configured, max(_NOTES_SHARE * window.size, _MIN_NOTES))


def _select(
    history: ThreadHistory,
    active_run: ActiveRun,
    window: ContextWindow,
    sizes: Sequence[float],
    notes_size: float,
    *,
    tight: bool,
) -> list[AnyMessage]:
    """Return the messages to evict."""
    settings = active_run.settings.compaction
    target = settings.compact_to * window.size
    overhead = window.factor * window.around + notes_size
    ids = [message.id for message in history.messages]
    request_index = 0
    if history.request_id in ids:
        request_index = ids.index(history.request_id)
    room = 0.0
    kept_turns = 1
    if not tight:
        room = max(0.0, target - overhead)
        kept_turns = _count_kept_turns(history.messages, sizes, target)
    return select_evicted(
        history.messages,
        sizes,
        room,
        kept_turns,
        max_size=max(0.0, settings.compact_at * window.full - overhead),
        request_index=request_index,
    )


def next_size(
    messages: Sequence[AnyMessage], compaction: Compaction | None, window: ContextWindow
) -> float:
    """Estimate the tokens of the next request: those of the last one, and of newer messages."""
    new: list[BaseMessage] = []
    for message in reversed(messages):
        if compaction is not None and message.id == compaction["at"]:
            return compaction["size"] + window.count(new)
        counted = tokens_at(message)
        if counted is not None:
            return counted + window.count(new)
        new.append(message)
    return window.factor * window.around + window.count(new)


def _count_kept_turns(messages: Sequence[AnyMessage], sizes: Sequence[float], target: float) -> int:
    """Return how many of the newest turns are kept: three, or as many as fit, at least one."""
    newest = [sum(sizes[start:end]) for start, end in split_turns(messages)[-KEPT_TURNS:]]
    while len(newest) > 1 and sum(newest) > target:
        newest.pop(0)
    return len(newest)


def select_evicted(
    messages: Sequence[AnyMessage],
    sizes: Sequence[float],
    room: float,
    kept_turns: int = KEPT_TURNS,
    *,
    max_size: float = math.inf,
    request_index: int = 0,
) -> list[AnyMessage]:
    """Return the messages to evict, the oldest first, until the rest has at most `room` tokens.

    If evicting turns leaves more than `max_size`, requests of earlier runs are evicted too: those
    before `request_index`.
    """
    turns = split_turns(messages)
    total = sum(sizes)
    evicted = set[int]()
    for start, end in turns[: max(0, len(turns) - kept_turns)]:
        if total > room and not is_open(messages[start:end]):
            evicted.update(range(start, end))
            total -= sum(sizes[start:end])
    excess = total - room
    if total <= max_size:
        excess = 0.0
    for index, message in enumerate(messages[:request_index]):
        if excess > 0 and isinstance(message, HumanMessage):
            evicted.add(index)
            excess -= sizes[index]
    return [messages[index] for index in sorted(evicted)]


async def _take_notes(
    history: ThreadHistory, active_run: ActiveRun, evicted: Sequence[AnyMessage], room: float
) -> list[str]:
    """Archive the evicted messages and return the notes on them, at most `room` tokens."""
    first = 1
    if history.compaction is not None:
        first += history.compaction["evicted"]
    rows = []
    for number, message in enumerate(evicted, first):
        rows.append(Archived(number, str(message.id), get_sender(message), full_text(message)))
    try:
        await asyncio.to_thread(active_run.session.archive.add, rows)
    except (sqlite3.Error, OSError, ToolError):
        # the run continues with its notes
        log.warning("evicted messages could not be archived", exc_info=True)
    request = ""
    for message in history.messages:
        if message.id == history.request_id:
            request = get_text(message)
    existing = existing_notes(history.messages)
    return await take_notes(active_run, request, existing, evicted, first, room)


def _replace_evicted(
    history: ThreadHistory,
    active_run: ActiveRun,
    window: ContextWindow,
    sizes: Sequence[float],
    evicted: Sequence[AnyMessage],
    notes: list[str],
) -> Compaction:
    """Replace the evicted messages with the notes and return the updated compaction."""
    messages = history.messages
    before = history.compaction or Compaction(count=0, evicted=0, at="", size=0)
    count = before["evicted"] + len(evicted)
    text = prompts.summary(notes, count, can_recall=history.can_recall)
    history.messages, writes = replace_with_notes(messages, evicted, text)
    history.writes += writes
    evicted_ids = {message.id for message in evicted}
    overhead = window.factor * window.around
    size = overhead + window.count(writes[:1])
    for message, message_size in zip(messages, sizes, strict=True):
        if message.id not in evicted_ids:
            size += message_size
    compaction = Compaction(
        count=before["count"] + 1, evicted=count, at=str(messages[-1].id), size=round(size)
    )
    exposure = find_exposure(evicted, history.compaction)
    compaction.update(cast(Compaction, exposure.marks()))
    path = active_run.session.archive.path
    if path is not None:
        compaction["archive"] = str(path)
    event = CompactionEvent(
        type="compaction",
        evicted=len(evicted),
        before=max(round(overhead + sum(sizes)), compaction["size"]),
        size=compaction["size"],
        window=window.size,
    )
    get_stream_writer()(event)
    return compaction


def existing_notes(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the lines of the notes in a history: headings and bullets."""
    summary = next(filter(is_summary, messages), None)
    if summary is None:
        return []
    return get_text(summary).splitlines()[1:]


def replace_with_notes(
    messages: Sequence[AnyMessage], evicted: Sequence[AnyMessage], text: str
) -> tuple[list[AnyMessage], list[Any]]:
    """Return the history with a text in place of the evicted messages, and the state writes.

    Messages after the notes are not rewritten, so that storage grows linearly.
    """
    summary_id = str(next(filter(is_summary, messages), evicted[0]).id)
    summary = SystemMessage(text, id=summary_id, additional_kwargs={SUMMARY: True})
    evicted_ids = {str(message.id) for message in evicted} - {summary_id}
    shorter: list[AnyMessage] = []
    for message in messages:
        if message.id == summary_id:
            shorter.append(summary)
        elif message.id not in evicted_ids:
            shorter.append(message)
    removals = [RemoveMessage(id=str(m.id)) for m in evicted if m.id in evicted_ids]
    return shorter, [summary, *removals]


async def offer_recall(active_run: ActiveRun, compaction: Compaction) -> None:
    """Give the agent the tool that searches the archive.

    A thread that was forked under a new id copies the archive of the original thread.
    """
    if active_run.catalog.find(NAME) is None:
        active_run.catalog.add(Recall(session=active_run.session))
    if "archive" not in compaction:
        return
    source = Path(compaction["archive"])
    try:
        await asyncio.to_thread(active_run.session.archive.begin_with, source)
    except (sqlite3.Error, OSError, ToolError):
        log.warning("the archive %s could not be copied", source, exc_info=True)
