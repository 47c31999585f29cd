"""The last call of a run whose budget is nearly used up: its best answer so far, without tools."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from manus.nodes.context.context_window import counted_at
from manus.state.agent import Usage
from manus.state.budget import Budget, limits_of, shown_amount, shown_limit
from manus.state.messages import last_assistant
from manus.state.usage import tokens_of

WARN_AT = 0.8
_FEWEST_CALLS = 4
"""A budget of fewer model calls is spent on work: it has no call to spare for a last word."""
_TIME = 0.9


def last_call(budget: Budget, usage: Usage, history: Sequence[AnyMessage]) -> str | None:
    """The budget, in words, that has room for one more call and not for two; None if all have."""
    each = like_the_last(usage, history)
    for name, used, limit in limits_of(budget, usage):
        if limit is None:
            continue
        left, shown = limit - used, shown_limit(name, used, limit)
        if 0 < left < 2 * each.get(name, 0.0):
            return f"{shown}; each call takes about {shown_amount(name, each[name])}"
        if name == "seconds" and used >= _TIME * limit:
            return f"{shown}; the rest is for the answer"
        if name == "tool calls" and left <= 0:
            return shown
        if name == "model calls" and left == 1 and limit >= _FEWEST_CALLS:
            return f"{shown}; the last one is for the answer"
    return None


def like_the_last(usage: Usage, history: Sequence[AnyMessage]) -> dict[str, float]:
    """Tokens and money of a call like the last one; nothing before there was one."""
    newest, used = last_assistant(history), tokens_of(usage)
    if newest is None or not used:
        return {}
    tokens = counted_at(newest) or 0
    return {"tokens": tokens, "cost": usage.get("cost", 0.0) * tokens / used}


def nearly_used_up(budget: Budget, usage: Usage) -> list[str]:
    """The budgets, in words, of which four fifths are used."""
    return [
        shown_limit(name, used, limit)
        for name, used, limit in limits_of(budget, usage)
        if limit is not None and limit > 0 and used >= WARN_AT * limit
    ]
