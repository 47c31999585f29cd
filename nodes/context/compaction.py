"""What of a history is taken out when it grows too long, and what stays whole.

Whole stay: the user's messages, the newest turns, and any turn whose calls are still open. A turn
is an assistant message with the tool messages that answer it; it goes or stays as one, so that no
tool message is ever left without its call. Only where the user's messages are too large by
themselves do those of earlier runs go, the oldest first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from manus.state.messages import call_ids, calls_of, text_of
from manus.tools.archive import Archived

KEPT_TURNS = 3
"""The newest turns, which are never taken out."""
SUMMARY = "summary"
"""In a system message's `additional_kwargs`: it holds the notes of what was taken out."""

Size = Callable[[BaseMessage], float]


@dataclass(frozen=True, slots=True)
class Cut:
    """What is taken out: the messages in order, and the summary there was before."""

    evicted: list[AnyMessage]
    before: SystemMessage | None = None
    kept: list[AnyMessage] = field(default_factory=list)
    """What stays of the history, without the summary."""

    @property
    def place(self) -> str:
        """Id of the message that the new summary replaces."""
        return str((self.before or self.evicted[0]).id)

    @property
    def notes(self) -> list[str]:
        """The notes there were before, one line each."""
        return [] if self.before is None else text_of(self.before).splitlines()[1:]


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
    room: float,
    size: Size,
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
    total = sum(map(size, history))
    gone: set[int] = set()
    for begin, end in turns[: max(0, len(turns) - kept_turns)]:
        if total <= room:
            break
        if _is_open(history[begin:end]):
            continue
        gone.update(range(begin, end))
        total -= sum(map(size, history[begin:end]))
    if total > most:
        gone |= _older_requests(history[:own], total - room, size)
    if not gone:
        return None
    before = next((m for m in history if isinstance(m, SystemMessage) and is_summary(m)), None)
    kept = [m for i, m in enumerate(history) if i not in gone and m is not before]
    return Cut([history[i] for i in sorted(gone)], before, kept)


def _older_requests(history: Sequence[AnyMessage], over: float, size: Size) -> set[int]:
    """The places of the oldest requests that have so many tokens together."""
    gone: set[int] = set()
    for place, message in enumerate(history):
        if over <= 0:
            break
        if isinstance(message, HumanMessage):
            gone.add(place)
            over -= size(message)
    return gone


def _is_open(turn: Sequence[AnyMessage]) -> bool:
    answered = {m.tool_call_id for m in turn if isinstance(m, ToolMessage)}
    first = turn[0]
    return isinstance(first, AIMessage) and not answered.issuperset(call_ids(first))


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
