"""Decide whether and how a run ends, or that a reply without a call is sent back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.nodes.active_run import ActiveRun
from manus.state.agent import AgentState
from manus.state.endings import ENDINGS, StopReason
from manus.state.history import is_closing
from manus.state.messages import get_text, has_calls
from manus.state.text import shorten
from manus.tools.terminate import TERMINATE, get_answer

_LINE = 200

_SENTENCE_END = re.compile(r"(?<=[.!…])\s+|(?<=[。！])\s*|\n")
_ANNOUNCEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|sure|now|first|next|then)[,.!]?\s+)*"
    r"(?:i(?:'ll|’ll| will|'m going to| am going to)|let me|let's)\s+(?!(?:know|be|need|wait)\b)"
    r"|(?:(?:好的?|现在|接下来|首先|下面)[,，]?)*(?:让我|我来|我将|我会|我先|我要|我们来)",
    re.IGNORECASE,
)


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


def announces_work(text: str) -> bool:
    """Return whether a text ends with a colon, or in English or Chinese with what comes next."""
    last = _SENTENCE_END.split(text.strip().rstrip("。！"))[-1]
    is_announced = _ANNOUNCEMENT.match(last) and not last.endswith(("?", "？"))
    return last.endswith((":", "：")) or bool(is_announced)


def is_sent_back(
    state: AgentState, active_run: ActiveRun, message: AIMessage | None, *, is_last: bool
) -> bool:
    """Return whether a reply without a call is sent back, once per run, if calls could follow.

    It is after calls, if the agent can call `terminate`, or if it announces work; never in a chat.
    """
    run = state["run"]
    if message is None or has_calls(message) or not get_text(message).strip():
        return False
    if is_last or "closing" in run or active_run.ledger.over is not None:
        return False
    if (settings := active_run.settings).tool_choice != "auto" or settings.text_reply != "finish":
        return False
    if "sent_back" in run or not active_run.catalog.schemas() or _is_chat(state, active_run):
        return False
    if state["usage"]["tool_calls"] and active_run.catalog.find(TERMINATE) is not None:
        return True
    return announces_work(get_text(message))


def _is_chat(state: AgentState, active_run: ActiveRun) -> bool:
    """Return whether a person can reply: the caller says so, or the run before ended in text."""
    if active_run.is_inside:
        return False
    if active_run.settings.conversation:
        return True
    earlier = takewhile(lambda m: m.id != state["run"]["request_id"], state["messages"])
    replies = [m for m in earlier if isinstance(m, AIMessage) and not is_closing(m)]
    return bool(replies) and not has_calls(replies[-1])
