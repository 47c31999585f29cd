"""Usage of model calls and runs, with costs where prices are known, and budgets that limit it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, cast

from pydantic import BaseModel, Field

# pydantic, which describes these to Studio, requires this one before Python 3.12
from typing_extensions import TypedDict

_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "model_calls")


class RoleUsage(TypedDict):
    """Usage of some model calls, for example those of one role or one step of a plan."""

    input_tokens: int
    """Tokens of all requests."""
    output_tokens: int
    """Tokens of all replies."""
    cached_tokens: int
    """Input tokens read from the provider's prompt cache."""
    cache_write_tokens: NotRequired[int]
    """Input tokens written to the provider's prompt cache; absent if there were none."""
    model_calls: int
    """Calls without failed attempts."""
    cost: NotRequired[float]
    """In the currency of the price table; absent if prices are not known."""


class Spending(RoleUsage):
    """Usage of one model call: an entry of a run's usage ledger."""

    role: str
    tool_calls: NotRequired[int]
    """Tool calls of a delegated agent, whose model calls this entry sums up."""
    estimated: NotRequired[bool]


class Usage(RoleUsage):
    """Usage of a run so far. Tokens are the server's counts, or estimates if it reports none."""

    tool_calls: int
    """Executed calls."""
    seconds: float
    """Time while the run worked, without waiting for the user."""
    estimated: NotRequired[bool]
    """True once a reply came without token counts."""
    roles: NotRequired[dict[str, RoleUsage]]
    """The same by role: `main`, `plan`, `summary`, `extract`, …"""


NOTHING_USED = RoleUsage(input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=0)
"""The usage of no calls."""


def no_usage() -> Usage:
    """Return the usage of a run that has not started."""
    return cast(Usage, {**NOTHING_USED, "tool_calls": 0, "seconds": 0.0})


def sum_usage(*uses: RoleUsage) -> RoleUsage:
    """Return the sum; it has a cost if one of the summands has."""
    total: dict[str, Any] = {**NOTHING_USED}
    for used in uses:
        for name in (*_COUNTS, "cost"):
            if name in used:
                total[name] = total.get(name, 0) + cast(Any, used)[name]
    return cast(RoleUsage, total)


def add_usage(total: Usage, addition: Usage) -> Usage:
    """Return the sum of two usages; the reducer of a flow's `usage` channel."""
    result: dict[str, Any] = {**total}
    for name, value in addition.items():
        if name == "roles":
            roles = {**result.get("roles", {})}
            for role, used in cast(Any, value).items():
                roles[role] = sum_usage(roles.get(role, NOTHING_USED), used)
            result["roles"] = roles
        elif name == "estimated":
            result[name] = bool(value) or bool(result.get(name))
        else:
            result[name] = result.get(name, 0) + value
    return cast(Usage, result)


def with_spending(usage: Usage, spendings: Iterable[Spending]) -> Usage:
    """Return a run's usage with these model calls added."""
    for spending in spendings:
        used = sum_usage(spending)
        addition: dict[str, Any] = {**used, "roles": {spending["role"]: used}}
        for name in ("estimated", "tool_calls"):
            if spending.get(name):
                addition[name] = spending[name]
        usage = add_usage(usage, cast(Usage, addition))
    return usage


def sum_tokens(used: RoleUsage) -> int:
    """Return the sum of input and output tokens."""
    return used["input_tokens"] + used["output_tokens"]


class Budget(BaseModel, frozen=True, extra="forbid"):
    """Upper limits of one run; unset values are not limited."""

    tokens: int | None = Field(default=None, ge=1, description="Input and output tokens together")
    cost: float | None = Field(
        default=None, gt=0, description="Cost, in the price table's currency"
    )
    seconds: float | None = Field(default=None, gt=0, description="Wall time while the run works")
    tool_calls: int | None = Field(default=None, ge=0, description="Executed tool calls")
    model_calls: int | None = Field(default=None, ge=1, description="Model calls")

    def over(self, other: Budget) -> Budget:
        """Return these limits, with those of another budget for the unset ones."""
        return other.model_copy(update=self.model_dump(exclude_none=True))


def list_limits(budget: Budget, usage: Usage) -> list[tuple[str, float, float]]:
    """Return the name, the used amount and the limit of each limited resource."""
    amounts = [
        ("tokens", sum_tokens(usage), budget.tokens),
        ("cost", usage.get("cost", 0.0), budget.cost),
        ("seconds", usage["seconds"], budget.seconds),
        ("tool calls", usage["tool_calls"], budget.tool_calls),
        ("model calls", usage["model_calls"], budget.model_calls),
    ]
    return [(name, used, limit) for name, used, limit in amounts if limit is not None]


def format_limit(name: str, used: float, limit: float) -> str:
    """Return a limit in words: `tokens (330 of 250)`."""
    return f"{name} ({format_amount(name, used)} of {format_amount(name, limit)})"


def format_amount(name: str, amount: float) -> str:
    """Return an amount of a limited resource, with a suitable number of digits."""
    if name not in ("cost", "seconds"):
        return f"{amount:,.0f}"
    if 0 < amount < 0.1:
        return f"{amount:,.4f}"
    return f"{amount:,.2f}"


def budget_used_up(budget: Budget, usage: Usage, *, only_final: bool = False) -> str | None:
    """Return the first limit that is reached, in words; None if there is room in each.

    `only_final`: only limits that end a run immediately. A limit of tool calls still allows a last
    model call without tools.
    """
    for name, used, limit in list_limits(budget, usage):
        if used >= limit and not (only_final and name == "tool calls"):
            return format_limit(name, used, limit)
    return None
