"""How a run ends: the rules, one pure function over what a step has brought; what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.state.agent import StopReason
from manus.state.messages import has_calls, text_of
from manus.state.text import shortened
from manus.tools.terminate import get_answer

_LINE = 200


def ending_of(
    special: dict[str, Any] | None,
    message: AIMessage | None,
    *,
    is_direct: bool = False,
    text_ends: bool,
    is_last: bool,
    over: str | None,
    is_stuck: bool,
) -> StopReason | None:
    """Why the run ends after this step; None if it goes on.

    `special` are the arguments of a special tool that was carried out in it, `over` names a budget
    that is used up; `is_direct`: the result of a tool is the answer. A special tool counts even on
    the last step, and an answer even when a budget is used up: what was reached is worth more than
    the rule that cut it short.
    """
    if special is not None:
        return "terminated"
    if is_direct:
        return "answered"
    if text_ends and message is not None and not has_calls(message) and text_of(message).strip():
        return "answered"
    if is_stuck:
        return "stuck"
    if is_last:
        return "max_steps"
    return "budget" if over is not None else None


def end_of(
    reason: StopReason,
    special: dict[str, Any] | None,
    text: str,
    max_steps: int,
    over: str | None,
) -> dict[str, Any]:
    """What a run gives back that ends so; `text` where its special tool says nothing."""
    is_finished = reason in ("terminated", "answered")
    said = get_answer(special) if special is not None else ""
    return {
        "status": "finished" if is_finished else "idle",
        "stop_reason": reason,
        "success": is_finished and (special or {}).get("status", "success") == "success",
        "output": _with_reason(said or text, reason, max_steps, over),
    }


def step_line(step: Sequence[AnyMessage]) -> str:
    """An assistant message and what came of its calls, on one line."""
    answers = [f"{m.name} → {_first_line(text_of(m))}" for m in step if isinstance(m, ToolMessage)]
    said = "; ".join(answers) or _first_line(text_of(step[0])) or "(nothing said)"
    return shortened(said, _LINE)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def last_text(history: Sequence[AnyMessage], lines: Sequence[str]) -> str:
    """The last text that the agent said in its run; the log of its steps if it said none."""
    texts = (text_of(m).strip() for m in reversed(history) if isinstance(m, AIMessage))
    return next((text for text in texts if text), "") or "\n".join(lines)


def _with_reason(text: str, reason: StopReason, max_steps: int, over: str | None) -> str:
    """The output of a run, with what cut it short if something did."""
    notes: dict[StopReason, str] = {
        "max_steps": f"Terminated: Reached max steps ({max_steps})",
        "budget": f"Terminated: Budget used up: {over}",
        "stuck": "Terminated: The run was stuck in a loop and did not leave it",
    }
    return f"{text}\n\n{notes[reason]}".strip() if reason in notes else text
