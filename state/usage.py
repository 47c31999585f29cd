"""Sums of what model calls have used: by run, by role, by step, by step of the plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from manus.state.agent import Usage
from manus.state.plan import Plan, Step, flat, shortened
from manus.state.spending import PlanStepUsage, RoleUsage, Spending, StepUsage

_COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "model_calls")
_TEXT = 80


def nothing_used() -> RoleUsage:
    """The sum of no calls at all."""
    return RoleUsage(input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=0)


def summed(uses: Iterable[RoleUsage]) -> RoleUsage:
    """The sum; it has a cost as soon as one of them has."""
    total: dict[str, Any] = {**nothing_used()}
    for used in uses:
        for name in (*_COUNTED, "cost"):
            if name in used:
                total[name] = total.get(name, 0) + cast(Any, used)[name]
    return cast(RoleUsage, total)


def add_usage(total: Usage, more: Usage) -> Usage:
    """Fold what was used into the total; the reducer of a flow's `usage` channel.

    Lists are whole, and are not added to.
    """
    added: dict[str, Any] = {**total}
    for name, value in more.items():
        if name == "estimated":
            added[name] = bool(value) or bool(added.get(name))
        elif name == "roles":
            added[name] = _add_roles(added.get(name, {}), cast(Any, value))
        elif isinstance(value, list):
            added[name] = value
        else:
            added[name] = added.get(name, 0) + value
    return cast(Usage, added)


def _add_roles(total: dict[str, RoleUsage], more: dict[str, RoleUsage]) -> dict[str, RoleUsage]:
    sums = {role: summed([total.get(role, nothing_used()), used]) for role, used in more.items()}
    return {**total, **sums}


def with_spending(usage: Usage, lines: Iterable[Spending]) -> Usage:
    """A run's usage with these model calls counted."""
    for line in lines:
        used = summed([line])
        more: dict[str, Any] = {**used, "roles": {line["role"]: used}}
        for name in ("estimated", "tool_calls"):
            if line.get(name):
                more[name] = line[name]
        usage = add_usage(usage, cast(Usage, more))
    return usage


def calls_of_models(usage: Usage, other: Usage) -> Usage:
    """The other usage, with the model calls of this one in place of its own."""
    names = (*_COUNTED, "cost", "roles", "estimated")
    own = {name: value for name, value in usage.items() if name in names}
    return cast(Usage, {**other, **own})


def by_step(lines: Iterable[Spending]) -> list[StepUsage]:
    """What each step of a run has used, in their order."""
    steps: dict[int, list[RoleUsage]] = {}
    for line in lines:
        steps.setdefault(line["step"], []).append(line)
    return [StepUsage(**summed(uses), step=step) for step, uses in sorted(steps.items())]


def by_plan_step(plan: Plan) -> list[PlanStepUsage]:
    """What each step of a plan has used that was worked on; those that were left out come last."""
    steps = [*enumerate(plan["steps"]), *((None, step) for step in plan.get("dropped", []))]
    return [_of_plan_step(place, step) for place, step in steps if used_by(step)["model_calls"]]


def detailed(plan: Plan) -> Usage:
    """What a flow's usage has at the end of the run beside its sums."""
    return cast(Usage, {"plan_steps": by_plan_step(plan)})


def _of_plan_step(place: int | None, step: Step) -> PlanStepUsage:
    text = shortened(flat(step["text"]), _TEXT)
    return PlanStepUsage(**used_by(step), step=place, text=text)


def used_by(step: Step) -> RoleUsage:
    """What a step of a plan has used so far."""
    result = step["result"]
    return result["usage"] if result is not None and "usage" in result else nothing_used()


def spent_so_far(usage: Usage) -> RoleUsage:
    """Of a run's usage what events tell of it."""
    return summed([cast(RoleUsage, usage)])


def tokens_of(used: RoleUsage | Usage) -> int:
    """Input and output tokens together."""
    return used["input_tokens"] + used["output_tokens"]
