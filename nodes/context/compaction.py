"""Making a history shorter: older turns are replaced by notes, and go into the archive.

Whole stay: the user's messages, the newest turns, and any turn whose calls are still open. A turn
is an assistant message with the tool messages that answer it; it goes or stays as one, so that no
tool message is ever left without its call. Only where the user's messages are too large by
themselves do those of earlier runs go, the oldest first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from manus.nodes.active_run import Running
from manus.prompts import compaction as prompts
from manus.state.agent import Compaction
from manus.state.errors import ToolError
from manus.state.events import CompactionEvent
from manus.state.messages import call_ids, calls_of, text_of
from manus.tools.archive import Archived
from manus.tools.recall import NAME, Recall

if TYPE_CHECKING:
    from manus.nodes.context.context_window import ContextWindow

log = logging.getLogger("manus")

KEPT_TURNS = 3
"""The newest turns, which are never taken out."""
SUMMARY = "summary"
"""In a system message's `additional_kwargs`: it holds the notes of what was taken out."""
_WORD = 2
"""Tokens of a word, on average and with what is around it."""
_NOTES = 0.15
"""Part of the window that the notes have at most."""
_LEAST_NOTES = 800
"""Tokens that they may have in the smallest one."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What is taken out of a history, and the summary there was before."""

    evicted: list[AnyMessage]
    before: SystemMessage | None = None

    @property
    def place(self) -> str:
        """Id of the message that the new summary replaces."""
        return str((self.before or self.evicted[0]).id)

    @property
    def notes(self) -> list[str]:
        """The notes there were before, one line each."""
        return [] if self.before is None else text_of(self.before).splitlines()[1:]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A history made shorter, and the writes that make it so."""

    history: list[AnyMessage]
    writes: list[Any]
    compaction: Compaction
    evicted: list[AnyMessage]


async def compact(
    running: Running,
    history: Sequence[AnyMessage],
    shown: Sequence[AnyMessage],
    compaction: Compaction | None,
    request_id: str,
    window: ContextWindow,
    tell: Any,
    *,
    tight: bool = False,
    can_recall: bool = True,
) -> Compacted | None:
    """The history with older turns replaced by notes; None if nothing can be taken out.

    `shown` is the history as a request has it, `request_id` that of the run's request; `tight`
    leaves only what must stay; `can_recall`: who reads the notes can look into the archive.
    """
    from manus.nodes.context.summarizer import take_notes

    settings = running.settings.context
    room = min(_WORD * settings.notes_words, max(_NOTES * window.size, _LEAST_NOTES))
    around, wanted = window.fixed + room, settings.compact_to * window.size
    sizes = [window.count([message]) for message in shown]
    ids = [message.id for message in history]
    cut = cut_of(
        history,
        sizes,
        0.0 if tight else max(0.0, wanted - around),
        1 if tight else _kept_turns(history, sizes, wanted),
        most=max(0.0, settings.compact_at * window.full - around),
        own=ids.index(request_id) if request_id in ids else 0,
    )
    if cut is None:
        return None
    before = compaction or Compaction(count=0, evicted=0, at="", size=0, parts=[])
    first, part = before["evicted"] + 1, uuid.uuid4().hex[:8]
    await _archive(running, archived(cut.evicted, first, part))
    lines = await take_notes(running, tell, cut.notes, cut.evicted, first, room)
    evicted = before["evicted"] + len(cut.evicted)
    writes = writes_of(cut, prompts.summary(lines, evicted, can_recall=can_recall))
    gone = {message.id for message in cut.evicted}
    kept = sum(size for m, size in zip(history, sizes, strict=True) if m.id not in gone)
    made = Compaction(
        count=before["count"] + 1,
        evicted=evicted,
        at=str(history[-1].id),
        size=round(window.fixed + kept + window.count(writes[:1])),
        parts=[*before["parts"], part],
    )
    if (path := running.session.archive.path) is not None:
        made["archive"] = str(path)
    tell(_event(len(cut.evicted), round(window.fixed + sum(sizes)), made, window))
    return Compacted(_folded(history, cut, writes[0]), writes, made, cut.evicted)


def _folded(history: Sequence[AnyMessage], cut: Cut, summary: AnyMessage) -> list[AnyMessage]:
    """The history with the writes of a cut in it."""
    gone = {message.id for message in cut.evicted} - {cut.place}
    return [summary if m.id == cut.place else m for m in history if m.id not in gone]


def _event(evicted: int, before: int, made: Compaction, window: ContextWindow) -> CompactionEvent:
    return CompactionEvent(
        type="compaction",
        evicted=evicted,
        before=max(before, made["size"]),
        size=made["size"],
        window=window.size,
    )


def limit_of(running: Running, compaction: Compaction | None, window: ContextWindow) -> float:
    """The size from which on the history is made shorter.

    Where the last time left hardly less than that, it grows by half of what is free first: else
    notes would be taken at each step.
    """
    limit = min(running.settings.context.compact_at * window.size, window.full)
    left = compaction["size"] if compaction is not None else 0
    return max(limit, (left + window.full) / 2)


async def _archive(running: Running, messages: Sequence[Archived]) -> None:
    try:
        await asyncio.to_thread(running.session.archive.add, messages)
    except (sqlite3.Error, OSError, ToolError):
        # the run goes on with its notes
        log.warning("messages could not be put into the archive", exc_info=True)


async def offer_recall(running: Running, compaction: Compaction) -> None:
    """Give the agent the tool that looks into the archive.

    A thread that was forked under a new id takes over what had been taken out before.
    """
    archive = running.session.archive
    archive.see(compaction["parts"])
    if running.catalog.find(NAME) is None:
        running.catalog.add(Recall(session=running.session))
    if "archive" in compaction:
        source = Path(compaction["archive"])
        try:
            await asyncio.to_thread(archive.inherit, source, compaction["evicted"])
        except (sqlite3.Error, OSError, ToolError):
            log.warning("the archive %s could not be taken over", source, exc_info=True)


def is_summary(message: BaseMessage) -> bool:
    """Whether a message holds the notes of what was taken out."""
    return isinstance(message, SystemMessage) and SUMMARY in message.additional_kwargs


def turns_of(history: Sequence[AnyMessage]) -> list[tuple[int, int]]:
    """The turns of a history, each as the places of its first message and behind its last."""
    turns: list[tuple[int, int]] = []
    for place, message in enumerate(history):
        if isinstance(message, AIMessage):
            turns.append((place, place + 1))
        elif isinstance(message, ToolMessage) and turns and turns[-1][1] == place:
            turns[-1] = (turns[-1][0], place + 1)
    return turns


def cut_of(
    history: Sequence[AnyMessage],
    sizes: Sequence[float],
    room: float,
    kept_turns: int = KEPT_TURNS,
    *,
    most: float = math.inf,
    own: int = 0,
) -> Cut | None:
    """What must be taken out, the oldest first, until what stays has at most so many tokens.

    Where the turns are not enough to leave at most `most`, requests go that stand before the place
    `own`: those of earlier runs. None if nothing can be taken out.
    """
    turns = turns_of(history)
    total = sum(sizes)
    gone: set[int] = set()
    for begin, end in turns[: max(0, len(turns) - kept_turns)]:
        if total <= room:
            break
        if not _is_open(history[begin:end]):
            gone.update(range(begin, end))
            total -= sum(sizes[begin:end])
    over = total - room if total > most else 0.0
    for place, message in enumerate(history[:own]):
        if over > 0 and isinstance(message, HumanMessage):
            gone.add(place)
            over -= sizes[place]
    if not gone:
        return None
    before = next((m for m in history if isinstance(m, SystemMessage) and is_summary(m)), None)
    return Cut([history[place] for place in sorted(gone)], before)


def _is_open(turn: Sequence[AnyMessage]) -> bool:
    answered = {m.tool_call_id for m in turn if isinstance(m, ToolMessage)}
    first = turn[0]
    return isinstance(first, AIMessage) and not answered.issuperset(call_ids(first))


def _kept_turns(history: Sequence[AnyMessage], sizes: Sequence[float], wanted: float) -> int:
    """How many of the newest turns stay whole: three, fewer where these alone are too large."""
    newest = [sum(sizes[begin:end]) for begin, end in turns_of(history)[-KEPT_TURNS:]]
    while len(newest) > 1 and sum(newest) > wanted:
        newest.pop(0)
    return len(newest)


def writes_of(cut: Cut, summary: str) -> list[Any]:
    """The writes to the history: the summary in place of the first message, the others removed.

    Nothing behind is written again, so that storage grows with what is new.
    """
    message = SystemMessage(summary, id=cut.place, additional_kwargs={SUMMARY: True})
    return [message, *(RemoveMessage(id=str(m.id)) for m in cut.evicted if m.id != cut.place)]


def as_shown(message: AnyMessage) -> AnyMessage:
    """A message as the model sees it: notes come as a message of the user.

    Servers refuse a system message that is not the first one; in the history it is one, since it
    is no request.
    """
    return HumanMessage(message.content, id=message.id) if is_summary(message) else message


def archived(messages: Sequence[AnyMessage], first: int, part: str = "") -> list[Archived]:
    """The messages as the archive takes them, numbered from `first`, in one of its parts."""
    return [
        Archived(str(m.id), first + index, who(m), whole_text(m), part)
        for index, m in enumerate(messages)
    ]


def who(message: AnyMessage) -> str:
    """Who said a message: the agent, the user, or a tool by its name."""
    if isinstance(message, ToolMessage):
        return message.name or "tool"
    return "agent" if isinstance(message, AIMessage) else "user"


def whole_text(message: AnyMessage) -> str:
    """All that a message says in words, calls included; a line for each image."""
    parts = [text_of(message)]
    if isinstance(message, AIMessage):
        for call in calls_of(message):
            args = call["args"]
            shown = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            parts.append(f"{call['name']} {shown}")
    if isinstance(message.content, list):
        kinds = (b.get("type") for b in message.content if isinstance(b, dict))
        parts += ["[an image]" for kind in kinds if kind in ("image", "image_url")]
    return "\n".join(part for part in parts if part)
