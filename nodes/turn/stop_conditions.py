"""The rules by which a run ends, as one pure function over the facts of its newest step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from manus.state.agent import RunStatus, StopReason
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
