"""What is left of a flow's budget, and how it is shared among the steps that go to work."""

from __future__ import annotations

from collections.abc import Sequence

from manus.models.model_names import DEFAULT_MODEL
from manus.models.purse import KEPT
from manus.models.tokens import estimate_text
from manus.nodes.active_run import Running
from manus.nodes.planning.run_plan_step import MOST_TEXT
from manus.nodes.turn.stop_conditions import limits_of, shown_limit
from manus.prompts import flow as prompts
from manus.state.agent import Usage
from manus.state.budget import Budget
from manus.state.ledger import Account, Ledger, amounts_of
from manus.state.plan import Plan, as_text
from manus.state.usage import tokens_of, used_by

_KEPT_PART = 5
"""One part in so many of a budget is kept for the summary at most."""
_KEPT_SECONDS = 30.0
_FEWEST_CALLS = 4
"""A budget of fewer model calls is spent on work: the summary is then made without a model."""
_SUMMARY_OUTPUT = 800
_CALLS_OF_A_STEP = 5
"""What a step is taken to need before there was one that ended."""
_CHARACTERS = 4
"""Of a token, in the results that are still to come."""


def ledger_of(running: Running, plan: Plan, usage: Usage) -> Ledger:
    """What there is, what is spent, and what is kept for the summary."""
    budget = running.budget
    ledger = Ledger(budget.limits(), amounts_of(usage))
    kept = kept_for_summary(running, budget, plan)
    ledger.reserve(KEPT, {kind: min(kept[kind], ledger.free(kind)) for kind in kept})
    return ledger


def kept_for_summary(running: Running, budget: Budget, plan: Plan) -> dict[str, float]:
    """What the summary will use, as far as it is limited; never more than a fifth of the budget."""
    limits, kept = budget.limits(), {}
    given, said = _summary_tokens(plan), _SUMMARY_OUTPUT
    price = running.settings.price_of(running.model_settings("summary").model or DEFAULT_MODEL)
    wanted = {
        "tokens": float(given + said),
        "cost": price.most(given, said) if price is not None else 0.0,
    }
    for kind, amount in wanted.items():
        if kind in limits:
            kept[kind] = min(amount, limits[kind] / _KEPT_PART)
    if limits.get("model_calls", 0) >= _FEWEST_CALLS:
        kept["model_calls"] = 1.0
    return kept


def _summary_tokens(plan: Plan) -> int:
    """Tokens of the request for a summary: of what is known, and of the results to come."""
    texts = [s["result"]["text"] if s["result"] else "x" * MOST_TEXT for s in plan["steps"]]
    results = sum(map(len, texts)) // _CHARACTERS
    return round(estimate_text(as_text(plan) + prompts.SUMMARY)) + results


def seconds_left(budget: Budget, usage: Usage) -> float | None:
    """The time for the steps; a little is kept for the summary. None if time is not limited."""
    if budget.seconds is None:
        return None
    kept = min(_KEPT_SECONDS, budget.seconds / 10)
    return budget.seconds - kept - usage["seconds"]


def used_up(ledger: Ledger, budget: Budget, usage: Usage) -> str | None:
    """The first kind of which nothing is left for another step, in words."""
    seconds = seconds_left(budget, usage)
    for name, used, limit in limits_of(budget, usage):
        kind = name.replace(" ", "_")
        left = seconds if kind == "seconds" else ledger.free(kind)
        if limit is not None and left is not None and left <= 0:
            return shown_limit(name, used, limit)
    return None


def no_room_to_plan(ledger: Ledger, budget: Budget, usage: Usage) -> str | None:
    """The kind that has no room for another call of the planner, taken to cost what it did."""
    planned = usage.get("roles", {}).get("plan")
    if planned is None or not planned["model_calls"]:
        return None
    calls = planned["model_calls"]
    each = {"tokens": tokens_of(planned) / calls, "cost": planned.get("cost", 0.0) / calls}
    for name, used, limit in limits_of(budget, usage):
        if limit is not None and ledger.free(name) < each.get(name, 0.0):
            return shown_limit(name, used, limit)
    return None


def room_for(ledger: Ledger, plan: Plan, usage: Usage, wanted: int) -> int:
    """How many steps can begin, at least one: each needs what the steps so far did on average.

    Fewer that reach their end are worth more than many that all break off.
    """
    need = _need(plan, usage)
    rooms = [
        int(ledger.free(kind) // amount)
        for kind, amount in need.items()
        if kind in ledger.limits and amount > 0
    ]
    return max(1, min([wanted, *rooms]))


def _need(plan: Plan, usage: Usage) -> dict[str, float]:
    ended = [u for s in plan["steps"] if (u := used_by(s))["model_calls"]]
    calls = usage["model_calls"]
    if ended:
        count = len(ended)
        tokens = sum(map(tokens_of, ended)) / count
        cost = sum(u.get("cost", 0.0) for u in ended) / count
    else:
        tokens = _CALLS_OF_A_STEP * tokens_of(usage) / calls if calls else 0.0
        cost = _CALLS_OF_A_STEP * usage.get("cost", 0.0) / calls if calls else 0.0
    return {"tokens": tokens, "cost": cost, "model_calls": 1.0, "tool_calls": 1.0}


def shared(ledger: Ledger, steps: Sequence[int]) -> Account:
    """The ledger with a promise for each of these steps, as it goes into the state."""
    for place, step in enumerate(steps):
        ledger.share(str(step), len(steps) - place)
    return ledger.account()
