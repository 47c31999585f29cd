"""A thread's history for a person to read, or as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.state.messages import text_of
from manus.text import clean, main_argument

_LINES = 12
"""Lines of an observation that are shown, unless all are wanted."""


def as_text(history: Sequence[AnyMessage], *, full: bool = False) -> str:
    """The history as paragraphs, a word before each that says who speaks."""
    return "\n".join(line for message in history for line in _paragraph(message, full))


def as_data(history: Iterable[AnyMessage]) -> list[dict[str, Any]]:
    """The history as plain data: role, text, and calls or the call that is answered."""
    return [_data(message) for message in history]


def _paragraph(message: AnyMessage, full: bool) -> Iterator[str]:
    text = clean(text_of(message)).strip()
    if isinstance(message, HumanMessage):
        yield from ("", *_indented("user", text))
    elif isinstance(message, AIMessage):
        if text:
            yield from ("", *_indented("agent", text))
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            yield f"  call  {call['name']}: {main_argument(call['args'])}"
    elif isinstance(message, ToolMessage):
        word = "error" if message.status == "error" else "result"
        yield from _indented(f"  {word}", text if full else _cut(text))


def _indented(word: str, text: str) -> Iterator[str]:
    lines = text.splitlines() or ["(nothing)"]
    yield f"{word}: {lines[0]}"
    margin = " " * (len(word) - len(word.lstrip()) + 2)
    for line in lines[1:]:
        yield f"{margin}{line}".rstrip()


def _cut(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= _LINES:
        return text
    left = len(lines) - _LINES + 1
    return "\n".join([*lines[: _LINES - 1], f"(… {left} more lines; --full shows them)"])


def _data(message: AnyMessage) -> dict[str, Any]:
    data: dict[str, Any] = {"role": _ROLES.get(message.type, message.type)}
    data["text"] = text_of(message)
    if isinstance(message, AIMessage):
        calls = (*message.tool_calls, *message.invalid_tool_calls)
        data["calls"] = [{k: call.get(k) for k in ("id", "name", "args")} for call in calls]
    if isinstance(message, ToolMessage):
        data |= {"call_id": message.tool_call_id, "name": message.name, "status": message.status}
    return data


_ROLES = {"human": "user", "ai": "assistant"}
