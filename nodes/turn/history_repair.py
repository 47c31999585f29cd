"""Mending a history whose calls and tool messages are not beside each other.

Providers refuse such a history, and a thread that has one could never go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from manus.prompts import agent as prompts
from manus.state.messages import calls_of

Turn = tuple[AnyMessage, dict[str, str], dict[str, ToolMessage]]
"""A message, the tools that it calls by the ids of its calls, and the answers behind it."""


def mend(
    history: Sequence[AnyMessage], answer_to: Callable[[str], ToolMessage | None]
) -> list[AnyMessage] | None:
    """The history with exactly one tool message for each call, behind it; None if it is so.

    Calls lack theirs when a run was stopped in `act` and the thread goes on with something new; it
    stands elsewhere when a person has written between the two, and has no call when a person has
    taken that out. `answer_to` knows what came of calls that had ended by then.
    """
    turns: list[Turn] = []
    strays: dict[str, ToolMessage] = {}
    for message in history:
        if not isinstance(message, ToolMessage):
            calls = calls_of(message) if isinstance(message, AIMessage) else []
            turns.append((message, {str(call["id"]): str(call["name"]) for call in calls}, {}))
        elif turns and message.tool_call_id in turns[-1][1].keys() - turns[-1][2].keys():
            turns[-1][2][message.tool_call_id] = message
        else:
            strays.setdefault(message.tool_call_id, message)
    if not strays and all(len(tools) == len(answers) for _, tools, answers in turns):
        return None
    mended: list[AnyMessage] = []
    for message, tools, answers in turns:
        if len(tools) == len(answers):
            mended += [message, *answers.values()]
            continue
        found = ((i, answers.get(i) or strays.get(i) or answer_to(i)) for i in tools)
        mended += [message, *(answer or _lost(i, tools[i]) for i, answer in found)]
    return mended


def _lost(call_id: str, name: str) -> ToolMessage:
    text = prompts.NOT_ANSWERED if name.lower() == "ask_human" else prompts.OUTCOME_LOST
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", id=f"{call_id}:lost")


def replacing(old: Sequence[AnyMessage], new: Sequence[AnyMessage] | None) -> list[Any]:
    """The writes that turn one history into the other: nothing, or its tail anew."""
    if new is None:
        return []
    pairs = enumerate(zip(old, new, strict=False))
    same = next((i for i, (a, b) in pairs if a is not b), min(len(old), len(new)))
    return [*(RemoveMessage(id=str(m.id)) for m in old[same:]), *new[same:]]
