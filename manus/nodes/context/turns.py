"""The turns of a history: an assistant message with the tool messages that answer it.

Providers refuse a history whose calls and tool messages are not beside each other, and a thread
that has one could never go on: it is repaired.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from manus.execution.archive import FROM
from manus.prompts import agent as prompts
from manus.prompts.sources import is_outside
from manus.state.messages import call_ids, calls_of, is_image, source_of, text_of

SUMMARY = "summary"
"""In a system message's `additional_kwargs`: it holds the notes of what was taken out."""


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


def is_open(turn: Sequence[AnyMessage]) -> bool:
    """Whether a turn has a call without an answer."""
    answered = {m.tool_call_id for m in turn if isinstance(m, ToolMessage)}
    first = turn[0]
    return isinstance(first, AIMessage) and not answered.issuperset(call_ids(first))


def who(message: AnyMessage) -> str:
    """Who said a message: the agent, the user, or a tool by its name and what it comes from."""
    if isinstance(message, ToolMessage):
        name = message.name or "tool"
        source = source_of(message)
        return f"{name}{FROM}{source}" if is_outside(source) else name
    return "agent" if isinstance(message, AIMessage) else "user"


def whole_text(message: AnyMessage) -> str:
    """All that a message says in words, calls included; a line for each image."""
    parts = [text_of(message)]
    if isinstance(message, AIMessage):
        for call in calls_of(message):
            args = call["args"]
            shown = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            parts.append(f"{call['name']} {shown}")
    parts += ["[an image]" for block in message.content if is_image(block)]
    return "\n".join(part for part in parts if part)


def mend(
    history: list[AnyMessage], answer_to: Callable[[str], ToolMessage | None]
) -> list[AnyMessage]:
    """The history with exactly one tool message for each call, behind it; itself if it is so.

    Calls lack theirs when a run was stopped in `act` and the thread goes on with something new; it
    stands elsewhere when a person has written between the two, and has no call when a person has
    taken that out. `answer_to` knows what came of calls that had ended by then.
    """
    said: list[AnyMessage] = []
    answers: dict[str, list[ToolMessage]] = {}
    for message in history:
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, []).append(message)
        else:
            said.append(message)
    mended: list[AnyMessage] = []
    for message in said:
        mended.append(message)
        for call in calls_of(message) if isinstance(message, AIMessage) else ():
            id_ = str(call["id"])
            found = answers[id_].pop(0) if answers.get(id_) else answer_to(id_)
            mended.append(found or _lost(id_, str(call["name"])))
    is_whole = len(mended) == len(history) and all(map(operator.is_, mended, history))
    return history if is_whole else mended


def _lost(call_id: str, name: str) -> ToolMessage:
    text = prompts.NOT_ANSWERED if name.lower() == "ask_human" else prompts.OUTCOME_LOST
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", id=f"{call_id}:lost")


def replacing(old: Sequence[AnyMessage], new: Sequence[AnyMessage]) -> list[Any]:
    """The writes that turn one history into the other: nothing, or its tail anew."""
    if new is old:
        return []
    pairs = enumerate(zip(old, new, strict=False))
    same = next((i for i, (a, b) in pairs if a is not b), min(len(old), len(new)))
    return [*(RemoveMessage(id=str(m.id)) for m in old[same:]), *new[same:]]
