"""The last call of a run whose budget is nearly used up: its best answer so far, without tools."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from langchain_core.messages import AnyMessage

from manus.models.tokens import estimate_message
from manus.nodes.context.context_size import counted_at
from manus.nodes.turn.stop_conditions import limits_of, shown_limit
from manus.state.agent import Usage
from manus.state.budget import Budget
from manus.state.messages import last_assistant
from manus.state.usage import tokens_of

WARN_AT = 0.8
_FEWEST_CALLS = 4
"""A budget of fewer model calls is spent on work: it has no call to spare for a last word."""
_TIME = 0.9


def last_call(budget: Budget, usage: Usage, history: Sequence[AnyMessage]) -> str | None:
    """The budget, in words, that has room for one more call and not for two; None if all have."""
    each = next_call(budget, usage, history)
    for name, used, limit in limits_of(budget, usage):
        if limit is None:
            continue
        left = limit - used
        nearly = {
            "tokens": 0 < left < 2 * each["tokens"],
            "cost": 0 < left < 2 * each["cost"],
            "seconds": used >= _TIME * limit,
            "tool calls": left <= 0,
            "model calls": left == 1 and limit >= _FEWEST_CALLS,
        }
        if nearly[name]:
            return shown_limit(name, used, limit)
    return None


def next_call(budget: Budget, usage: Usage, history: Sequence[AnyMessage]) -> dict[str, float]:
    """What the next call will use of tokens and money, as far as they are limited.

    As much as the last one, and what has come since; nothing before there was one.
    """
    newest, used = last_assistant(history), tokens_of(usage)
    if newest is None or not used or (budget.tokens is None and budget.cost is None):
        return {"tokens": 0.0, "cost": 0.0}
    since = map(estimate_message, takewhile(lambda m: m is not newest, reversed(history)))
    tokens = (counted_at(newest) or 0) + sum(since)
    spent = usage.get("cost", 0.0)
    return {"tokens": tokens, "cost": spent * max(1 / usage["model_calls"], tokens / used)}


def kept_for_last_word(
    budget: Budget, usage: Usage, history: Sequence[AnyMessage]
) -> dict[str, float]:
    """What calls on the side leave untouched, so that a run out of budget says what it has."""
    kept = next_call(budget, usage, history)
    if budget.model_calls is not None and budget.model_calls >= _FEWEST_CALLS:
        kept["model_calls"] = 1.0
    return kept


def nearly_used_up(budget: Budget, usage: Usage) -> list[str]:
    """The budgets, in words, of which four fifths are used."""
    return [
        shown_limit(name, used, limit)
        for name, used, limit in limits_of(budget, usage)
        if limit is not None and limit > 0 and used >= WARN_AT * limit
    ]
