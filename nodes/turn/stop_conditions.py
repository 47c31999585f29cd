"""The rules by which a run ends, as one pure function over the facts of its newest step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from manus.state.agent import RunStatus, StopReason, Usage
from manus.state.budget import Budget
from manus.state.messages import has_calls, text_of


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
    if facts.text_ends and _is_answer(facts.message):
        return "answered"
    if facts.stuck:
        return "stuck"
    if facts.step >= facts.max_steps:
        return "max_steps"
    return "budget" if facts.budget is not None else None


def _is_answer(message: AIMessage | None) -> bool:
    return message is not None and not has_calls(message) and bool(text_of(message).strip())


def status_after(reason: StopReason) -> RunStatus:
    """The status in which a run that ended so is left."""
    if reason in ("terminated", "answered"):
        return "finished"
    return "error" if reason == "error" else "idle"


def ending_limits(budget: Budget) -> Budget:
    """The limits that end a run at once; one of tool calls leaves a last call without tools."""
    return budget.model_copy(update={"tool_calls": None})


def limits_of(budget: Budget, usage: Usage) -> list[tuple[str, float, float | None]]:
    """Each kind of budget: its name, what is used of it, and its limit if it has one."""
    tokens = usage["input_tokens"] + usage["output_tokens"]
    return [
        ("tokens", tokens, budget.tokens),
        ("cost", usage.get("cost", 0.0), budget.cost),
        ("seconds", usage["seconds"], budget.seconds),
        ("tool calls", usage["tool_calls"], budget.tool_calls),
        ("model calls", usage["model_calls"], budget.model_calls),
    ]


def shown_limit(name: str, used: float, limit: float) -> str:
    """A budget in words: `tokens (330 of 250)`."""
    if name not in ("cost", "seconds"):
        return f"{name} ({used:,.0f} of {limit:,.0f})"
    shown = f"{used:,.2f}" if used >= 0.1 or not used else f"{used:,.4f}"
    return f"{name} ({shown} of {round(limit, 4):,})"


def most_used(budget: Budget, usage: Usage) -> str | None:
    """The budget of which the least is left, in words; None if nothing is limited."""
    limited = [(name, used, limit) for name, used, limit in limits_of(budget, usage) if limit]
    if not limited:
        return None
    return shown_limit(*max(limited, key=lambda one: one[1] / one[2]))


def budget_used_up(budget: Budget, usage: Usage) -> str | None:
    """The first budget that is used up, in words; None if there is room in each."""
    for name, used, limit in limits_of(budget, usage):
        if limit is not None and used >= limit:
            return shown_limit(name, used, limit)
    return None
