"""What model calls and runs have used, with money where prices are known, and its limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, cast

from pydantic import BaseModel, Field

# pydantic, which describes these to Studio, wants this one before Python 3.12
from typing_extensions import TypedDict

_COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "model_calls")


class RoleUsage(TypedDict):
    """What some model calls have used: those of one role, of one step of a plan."""

    input_tokens: int
    """Of all requests."""
    output_tokens: int
    """Of all replies."""
    cached_tokens: int
    """Those of the input that the provider had in its cache."""
    cache_write_tokens: NotRequired[int]
    """Those of the input that the provider wrote to its cache; only where there were any."""
    model_calls: int
    """Failed tries not counted."""
    cost: NotRequired[float]
    """In the currency of the price table; only where prices are known."""


class Spending(RoleUsage):
    """A line of a run's account: a model call."""

    role: str
    tool_calls: NotRequired[int]
    """Those of an agent that was given a task, whose model calls this line sums up."""
    estimated: NotRequired[bool]


class Usage(RoleUsage):
    """What a run has used so far. Tokens as the server counts them; estimated where it does not."""

    tool_calls: int
    """Calls that were carried out."""
    seconds: float
    """While the run worked; not while it waited for a person."""
    estimated: NotRequired[bool]
    """True once a reply came without usage figures."""
    roles: NotRequired[dict[str, RoleUsage]]
    """The same by role: `main`, `plan`, `summary`, `extract`, …"""


NOTHING_USED = RoleUsage(input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=0)
"""The sum of no calls at all."""


def no_usage() -> Usage:
    """The usage of a run that has not begun."""
    return cast(Usage, {**NOTHING_USED, "tool_calls": 0, "seconds": 0.0})


def sum_usage(*uses: RoleUsage) -> RoleUsage:
    """The sum; it has a cost as soon as one of them has."""
    total: dict[str, Any] = {**NOTHING_USED}
    for used in uses:
        for name in (*_COUNTED, "cost"):
            if name in used:
                total[name] = total.get(name, 0) + cast(Any, used)[name]
    return cast(RoleUsage, total)


def add_usage(total: Usage, more: Usage) -> Usage:
    """Fold what was used into the total; the reducer of a flow's `usage` channel."""
    added: dict[str, Any] = {**total}
    for name, value in more.items():
        if name == "roles":
            roles = {**added.get("roles", {})}
            for role, used in cast(Any, value).items():
                roles[role] = sum_usage(roles.get(role, NOTHING_USED), used)
            added["roles"] = roles
        elif name == "estimated":
            added[name] = bool(value) or bool(added.get(name))
        else:
            added[name] = added.get(name, 0) + value
    return cast(Usage, added)


def with_spending(usage: Usage, lines: Iterable[Spending]) -> Usage:
    """A run's usage with these model calls counted."""
    for line in lines:
        used = sum_usage(line)
        more: dict[str, Any] = {**used, "roles": {line["role"]: used}}
        for name in ("estimated", "tool_calls"):
            if line.get(name):
                more[name] = line[name]
        usage = add_usage(usage, cast(Usage, more))
    return usage


def tokens_of(used: RoleUsage) -> int:
    """Input and output tokens together."""
    return used["input_tokens"] + used["output_tokens"]


class Budget(BaseModel, frozen=True, extra="forbid"):
    """Upper limits of one run; what is not set is not limited."""

    tokens: int | None = Field(None, ge=1, description="Input and output tokens together")
    cost: float | None = Field(None, gt=0, description="Money, in the price table's currency")
    seconds: float | None = Field(None, gt=0, description="Wall time while the run works")
    tool_calls: int | None = Field(None, ge=0, description="Tool calls carried out")
    model_calls: int | None = Field(None, ge=1, description="Model calls")

    def over(self, other: Budget) -> Budget:
        """These limits, and those of another budget where these have none."""
        return other.model_copy(update=self.model_dump(exclude_none=True))


def limits_of(budget: Budget, usage: Usage) -> list[tuple[str, float, float]]:
    """Each kind of budget that has a limit: its name, what is used of it, and the limit."""
    kinds = [
        ("tokens", tokens_of(usage), budget.tokens),
        ("cost", usage.get("cost", 0.0), budget.cost),
        ("seconds", usage["seconds"], budget.seconds),
        ("tool calls", usage["tool_calls"], budget.tool_calls),
        ("model calls", usage["model_calls"], budget.model_calls),
    ]
    return [(name, used, limit) for name, used, limit in kinds if limit is not None]


def format_limit(name: str, used: float, limit: float) -> str:
    """A budget in words: `tokens (330 of 250)`."""
    return f"{name} ({format_amount(name, used)} of {format_amount(name, limit)})"


def format_amount(name: str, amount: float) -> str:
    """An amount of a kind of budget, with as many digits as matter."""
    if name not in ("cost", "seconds"):
        return f"{amount:,.0f}"
    return f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:,.4f}"


def budget_used_up(budget: Budget, usage: Usage, *, for_good: bool = False) -> str | None:
    """The first budget that is used up, in words; None if there is room in each.

    `for_good`: what ends a run at once. A limit of tool calls leaves a last call without tools.
    """
    for name, used, limit in limits_of(budget, usage):
        if used >= limit and not (for_good and name == "tool calls"):
            return format_limit(name, used, limit)
    return None
