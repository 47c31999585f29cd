"""Mending a history whose calls lack their tool messages; providers refuse such a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from prompts import agent as prompts
from state.messages import calls_of, unanswered


def mend(
    history: Sequence[AnyMessage], answer_to: Callable[[str], ToolMessage | None]
) -> list[AnyMessage] | None:
    """The history with a tool message for each call that lacks one; None if there is none such.

    Calls lack one when a run was stopped in `act` and the thread goes on with something new.
    `answer_to` knows what came of calls that had ended by then.
    """
    gaps = dict(unanswered(history))
    if not gaps:
        return None
    mended: list[AnyMessage] = []
    for index, message in enumerate(history):
        mended.append(message)
        if isinstance(message, AIMessage) and index in gaps:
            mended += [answer_to(call_id) or _lost(message, call_id) for call_id in gaps[index]]
    return mended


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
    same = next((i for i, (a, b) in pairs if a is not b), len(old))
    return [*(RemoveMessage(id=str(m.id)) for m in old[same:]), *new[same:]]
