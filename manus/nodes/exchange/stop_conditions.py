"""Decide whether and how a run ends, and build the state update that ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.state.closing import is_closing
from manus.state.endings import ENDINGS, StopReason
from manus.state.messages import get_text, has_calls
from manus.state.text import shorten
from manus.tools.terminate import get_answer

_LINE = 200


def find_stop_reason(
    special: dict[str, Any] | None,
    message: AIMessage | None,
    *,
    is_direct: bool = False,
    text_ends: bool,
    is_last: bool,
    over: str | None,
    is_stuck: bool,
) -> StopReason | None:
    """Return the reason why the run ends after this step, or None if it continues.

    `special`: the arguments of a special tool that was executed in the step. `is_direct`: the
    result of a tool is the answer. `over`: a budget that is used up. A special tool counts even on
    the last step, and an answer even when a budget is used up: a result is worth more than the
    limit that cut it short.
    """
    if special is not None:
        return "terminated"
    if is_direct:
        return "answered"
    if text_ends and message is not None and not has_calls(message) and get_text(message).strip():
        return "answered"
    if is_stuck:
        return "stuck"
    if is_last:
        return "max_steps"
    return "budget" if over is not None else None


def final_update(
    reason: StopReason,
    special: dict[str, Any] | None,
    text: str,
    max_steps: int,
    over: str | None,
) -> dict[str, Any]:
    """Return the state update that ends a run.

    `text` is the output if the special tool that ended the run has no answer.
    """
    arguments = special or {}
    status = ENDINGS[reason].status
    answer = get_answer(special) if special is not None else ""
    return {
        "status": status,
        "stop_reason": reason,
        "success": status == "finished" and arguments.get("status", "success") == "success",
        "output": _add_reason(answer or text, reason, max_steps, over),
    }


def format_step(step: Sequence[AnyMessage]) -> str:
    """Format an assistant message and the results of its calls on one line."""
    results = []
    for message in step:
        if isinstance(message, ToolMessage):
            results.append(f"{message.name} → {_first_line(get_text(message))}")
    line = "; ".join(results) or _first_line(get_text(step[0])) or "(no text)"
    return shorten(line, _LINE)


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()
    return ""


def last_text(history: Sequence[AnyMessage], lines: Sequence[str]) -> str:
    """Return the last text of the agent in its run, or the log of its steps if it has none."""
    for message in reversed(history):
        if isinstance(message, AIMessage) and not is_closing(message):
            text = get_text(message).strip()
            if text:
                return text
    return "\n".join(lines)


def _add_reason(text: str, reason: StopReason, max_steps: int, over: str | None) -> str:
    """Return the output of a run, and the reason if it was cut short."""
    note = ENDINGS[reason].note.format(max_steps=max_steps, over=over)
    return f"{text}\n\n{note}".strip() if note else text
