"""What a run gives back: one line a step, and the final text."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.nodes.turn.stop_conditions import Facts
from manus.state.agent import StopReason
from manus.state.messages import text_of
from manus.tools.terminate import answer_of

_LINE = 200


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
    note = _note(reason, facts)
    return f"{text}\n\n{note}".strip() if note else text


def _note(reason: StopReason, facts: Facts) -> str | None:
    if reason == "max_steps":
        return f"Terminated: Reached max steps ({facts.max_steps})"
    if reason == "budget":
        return f"Terminated: Budget used up: {facts.budget}"
    if reason == "stuck":
        return "Terminated: The run was stuck in a loop and did not leave it"
    return None
