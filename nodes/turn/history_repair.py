"""Mending a history whose calls and tool messages are not beside each other.

Providers refuse such a history, and a thread that has one could never go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from manus.prompts import agent as prompts
from manus.state.messages import call_ids, calls_of

AnswerTo = Callable[[str], ToolMessage | None]


def mend(history: Sequence[AnyMessage], answer_to: AnswerTo) -> list[AnyMessage] | None:
    """The history with exactly one tool message for each call, behind it; None if it is so.

    Calls lack theirs when a run was stopped in `act` and the thread goes on with something new; it
    stands elsewhere when a person has written between the two, and has no call when a person has
    taken that out. `answer_to` knows what came of calls that had ended by then.
    """
    turns, strays = _apart(history)
    if not strays and all(turn.is_whole for turn in turns):
        return None
    mended: list[AnyMessage] = []
    for turn in turns:
        mended += turn.messages if turn.is_whole else turn.mended(strays, answer_to)
    return mended


class _Turn:
    """A message and, of an assistant's, the tool messages right behind it."""

    def __init__(self, message: AnyMessage) -> None:
        self.messages = [message]
        self._asks = message if isinstance(message, AIMessage) else None
        self._open = call_ids(self._asks) if self._asks is not None else []

    @property
    def is_whole(self) -> bool:
        """Whether each call has its answer."""
        return not self._open

    def takes(self, answer: ToolMessage) -> bool:
        """Take a tool message if it answers a call that is still open."""
        if answer.tool_call_id not in self._open:
            return False
        self._open.remove(answer.tool_call_id)
        self.messages.append(answer)
        return True

    def mended(self, strays: list[ToolMessage], answer_to: AnswerTo) -> list[AnyMessage]:
        """The message with an answer to each call, in call order; some of them were astray."""
        assert self._asks is not None
        known = {m.tool_call_id: m for m in self.messages if isinstance(m, ToolMessage)}
        found: list[AnyMessage] = [self._asks]
        for call_id in call_ids(self._asks):
            astray = next((m for m in strays if m.tool_call_id == call_id), None)
            answer = known.get(call_id) or astray or answer_to(call_id)
            found.append(answer or _lost(self._asks, call_id))
        return found


def _apart(history: Sequence[AnyMessage]) -> tuple[list[_Turn], list[ToolMessage]]:
    """The turns of a history, and the tool messages that stand behind no call of theirs."""
    turns: list[_Turn] = []
    strays: list[ToolMessage] = []
    for message in history:
        if not isinstance(message, ToolMessage):
            turns.append(_Turn(message))
        elif not (turns and turns[-1].takes(message)):
            strays.append(message)
    return turns, strays


def _lost(message: AIMessage, call_id: str) -> ToolMessage:
    name = next(str(call["name"]) for call in calls_of(message) if call["id"] == call_id)
    asked = name.lower() == "ask_human"
    text = prompts.NOT_ANSWERED if asked else prompts.OUTCOME_LOST
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", id=f"{call_id}:lost")


def replacing(old: Sequence[AnyMessage], new: Sequence[AnyMessage] | None) -> list[Any]:
    """The writes that turn one history into the other: nothing, or its tail anew."""
    if new is None:
        return []
    pairs = enumerate(zip(old, new, strict=False))
    same = next((i for i, (a, b) in pairs if a is not b), min(len(old), len(new)))
    return [*(RemoveMessage(id=str(m.id)) for m in old[same:]), *new[same:]]
