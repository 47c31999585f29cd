"""The last call of a run whose budget is nearly used up: its best answer so far, without tools."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from nodes.context_size import counted_at
from nodes.ending import limits_of, shown_limit
from state.agent import Usage
from state.budget import Budget
from state.messages import last_assistant

WARN_AT = 0.8
_FEWEST_CALLS = 4
"""A budget of fewer model calls is spent on work: it has no call to spare for a last word."""
_TIME = 0.9


def last_call(budget: Budget, usage: Usage, history: Sequence[AnyMessage]) -> str | None:
    """The budget, in words, that has room for one more call and not for two; None if all have.

    The next call is taken to cost what the last one did.
    """
    newest = last_assistant(history)
    tokens = (counted_at(newest) or 0) if newest is not None and usage["model_calls"] else 0
    each = {"tokens": tokens, "cost": usage.get("cost", 0.0) / max(1, usage["model_calls"])}
    for name, used, limit in limits_of(budget, usage):
        if limit is None:
            continue
        left = limit - used
        nearly = {
            "tokens": 0 < left < 2 * tokens,
            "cost": 0 < left < 2 * each["cost"],
            "seconds": used >= _TIME * limit,
            "tool calls": left <= 0,
            "model calls": left == 1 and limit >= _FEWEST_CALLS,
        }
        if nearly[name]:
            return shown_limit(name, used, limit)
    return None


def nearly_used_up(budget: Budget, usage: Usage) -> list[str]:
    """The budgets, in words, of which four fifths are used."""
    return [
        shown_limit(name, used, limit)
        for name, used, limit in limits_of(budget, usage)
        if limit is not None and limit > 0 and used >= WARN_AT * limit
    ]
