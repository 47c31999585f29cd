"""Find and repair the turns of a history: an assistant message and the answers to its calls.

Providers refuse a history in which calls and tool messages are not next to each other. A thread
with such a history could never continue, so it is repaired.
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

from manus.prompts import agent as prompts
from manus.prompts.sources import is_outside
from manus.state.history import shared_length
from manus.state.messages import call_ids, get_source, get_text, is_image, list_calls
from manus.threads.archive import FROM

SUMMARY = "summary"
"""Key in a system message's `additional_kwargs` that marks it as the notes on evicted messages."""


def is_summary(message: BaseMessage) -> bool:
    """Return whether a message contains the notes on evicted messages."""
    return isinstance(message, SystemMessage) and SUMMARY in message.additional_kwargs


def split_turns(history: Sequence[AnyMessage]) -> list[tuple[int, int]]:
    """Return the turns of a history, each as the indexes of its first message and past its last."""
    turns: list[tuple[int, int]] = []
    for index, message in enumerate(history):
        if isinstance(message, AIMessage):
            turns.append((index, index + 1))
        elif isinstance(message, ToolMessage) and turns and turns[-1][1] == index:
            turns[-1] = (turns[-1][0], index + 1)
    return turns


def is_open(turn: Sequence[AnyMessage]) -> bool:
    """Return whether a turn has a call without an answer."""
    answered = {m.tool_call_id for m in turn if isinstance(m, ToolMessage)}
    first = turn[0]
    return isinstance(first, AIMessage) and not answered.issuperset(call_ids(first))


def get_sender(message: AnyMessage) -> str:
    """Return `agent`, `user`, or the name of a tool with the untrusted source of its result."""
    if isinstance(message, ToolMessage):
        name = message.name or "tool"
        source = get_source(message)
        return f"{name}{FROM}{source}" if is_outside(source) else name
    return "agent" if isinstance(message, AIMessage) else "user"


def full_text(message: AnyMessage) -> str:
    """Return the text of a message, including its calls, and a line for each image."""
    parts = [get_text(message)]
    if isinstance(message, AIMessage):
        for call in list_calls(message):
            parts.append(f"{call['name']} {format_arguments(call['args'])}")
    if isinstance(message.content, list):
        parts += ["[an image]" for block in message.content if is_image(block)]
    return "\n".join(filter(None, parts))


def format_arguments(arguments: Any) -> str:
    """Return the arguments of a call as JSON; invalid ones are already a string."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def repair_history(
    history: list[AnyMessage], find_answer: Callable[[str], ToolMessage | None]
) -> list[AnyMessage]:
    """Return the history with exactly one tool message after each call; unchanged if it is valid.

    A tool message is missing if a run was stopped in `act` and the thread continues with a new
    request. It is in the wrong place if a person wrote in between, and has no call if a person
    removed it. `find_answer` looks up the recorded result of a call by its id.
    """
    answers: dict[str, list[ToolMessage]] = {}
    for message in history:
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, []).append(message)
    repaired: list[AnyMessage] = []
    for message in history:
        if isinstance(message, ToolMessage):
            continue
        repaired.append(message)
        if isinstance(message, AIMessage):
            repaired += _answers_to(message, answers, find_answer)
    is_unchanged = len(repaired) == len(history) and all(map(operator.is_, repaired, history))
    return history if is_unchanged else repaired


class HistoryRepair:
    """Repairs a history that grows at its end; the part that was valid is not checked again."""

    def __init__(self, find_answer: Callable[[str], ToolMessage | None]) -> None:
        self._find_answer = find_answer
        self._valid: list[AnyMessage] = []

    def repair(self, history: list[AnyMessage]) -> list[AnyMessage]:
        """Return the history as `repair_history` does."""
        length = shared_length(self._valid, history)
        if length < len(self._valid):
            length = 0
        tail = history[length:]
        repaired = repair_history(tail, self._find_answer)
        if repaired is not tail:
            return [*history[:length], *repaired]
        self._valid = history
        return history


def _answers_to(
    message: AIMessage,
    answers: dict[str, list[ToolMessage]],
    find_answer: Callable[[str], ToolMessage | None],
) -> list[ToolMessage]:
    """Return one tool message for each call of a message."""
    result = []
    for call in list_calls(message):
        call_id = str(call["id"])
        if answers.get(call_id):
            answer: ToolMessage | None = answers[call_id].pop(0)
        else:
            answer = find_answer(call_id)
        result.append(answer or _lost(call_id, str(call["name"])))
    return result


def _lost(call_id: str, name: str) -> ToolMessage:
    text = prompts.NOT_ANSWERED if name.lower() == "ask_human" else prompts.OUTCOME_LOST
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", id=f"{call_id}:lost")


def replacement_writes(old: Sequence[AnyMessage], new: Sequence[AnyMessage]) -> list[Any]:
    """Return the state writes that turn one history into another, keeping their common start."""
    common = 0
    for before, after in zip(old, new, strict=False):
        if before is not after:
            break
        common += 1
    removals = [RemoveMessage(id=str(message.id)) for message in old[common:]]
    return [*removals, *new[common:]]
