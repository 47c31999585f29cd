"""How a run ends: the rules, one pure function over the facts of a step; what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.state.agent import RunStatus, StopReason
from manus.state.messages import has_calls, text_of
from manus.tools.terminate import answer_of

_LINE = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules look at."""

    special: dict[str, Any] | None
    """The arguments of the special tool that was carried out in this step."""
    message: AIMessage | None
    text_ends: bool
    step: int
    max_steps: int
    budget: str | None
    """The budget that is used up, in words."""
    stuck: bool

    def success(self, reason: StopReason) -> bool:
        """Whether the run did what was asked, as far as the agent says."""
        if reason == "terminated" and self.special is not None:
            return bool(self.special.get("status", "success") == "success")
        return reason == "answered"


def ending_of(facts: Facts) -> StopReason | None:
    """Why the run ends after this step; None if it goes on.

    A special tool counts even on the last step, and an answer even when a budget is used up:
    what was reached is worth more than the rule that cut it short.
    """
    if facts.special is not None:
        return "terminated"
    said = facts.message
    if facts.text_ends and said is not None and not has_calls(said) and text_of(said).strip():
        return "answered"
    if facts.stuck:
        return "stuck"
    if facts.step >= facts.max_steps:
        return "max_steps"
    return "budget" if facts.budget is not None else None


def status_after(reason: StopReason) -> RunStatus:
    """The status in which a run that ended so is left."""
    if reason in ("terminated", "answered"):
        return "finished"
    return "error" if reason == "error" else "idle"


def results_of(history: Sequence[AnyMessage], first: int = 1) -> list[str]:
    """One line a step: `Step 3: bash → 12 files`; the first step has the number `first`."""
    steps: list[list[AnyMessage]] = []
    for message in history:
        if isinstance(message, AIMessage):
            steps.append([message])
        elif isinstance(message, ToolMessage) and steps:
            steps[-1].append(message)
    return [f"Step {number}: {step_line(step)}" for number, step in enumerate(steps, start=first)]


def step_line(step: Sequence[AnyMessage]) -> str:
    """An assistant message and what came of its calls, on one line."""
    answers = [f"{m.name} → {_first_line(text_of(m))}" for m in step if isinstance(m, ToolMessage)]
    said = "; ".join(answers) or _first_line(text_of(step[0])) or "(nothing said)"
    return said if len(said) <= _LINE else said[: _LINE - 1] + "…"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def output_of(
    history: Sequence[AnyMessage], reason: StopReason, facts: Facts, earlier: Sequence[str] = ()
) -> str:
    """The final text: the answer, or the last text the agent said, or the log of its steps.

    `earlier` are the result lines of steps that are no longer in the history.
    """
    texts = (text_of(m).strip() for m in reversed(history) if isinstance(m, AIMessage))
    lines = [*earlier, *results_of(history, len(earlier) + 1)]
    answer = answer_of(facts.special) if facts.special is not None else ""
    text = answer or next((t for t in texts if t), "") or "\n".join(lines)
    notes: dict[StopReason, str] = {
        "max_steps": f"Terminated: Reached max steps ({facts.max_steps})",
        "budget": f"Terminated: Budget used up: {facts.budget}",
        "stuck": "Terminated: The run was stuck in a loop and did not leave it",
    }
    return f"{text}\n\n{notes[reason]}".strip() if reason in notes else text
