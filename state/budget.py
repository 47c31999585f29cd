"""Budgets: the upper limits of a run, and what of them is used up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from manus.state.agent import Usage


class Budget(BaseModel):
    """Upper limits of one run; what is not set is not limited."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: int | None = Field(None, ge=1, description="Input and output tokens together")
    cost: float | None = Field(None, gt=0, description="Money, in the price table's currency")
    seconds: float | None = Field(None, gt=0, description="Wall time while the run works")
    tool_calls: int | None = Field(None, ge=0, description="Tool calls carried out")
    model_calls: int | None = Field(None, ge=1, description="Model calls")

    def over(self, other: Budget) -> Budget:
        """These limits, and those of another budget where these have none."""
        return other.model_copy(update=self.model_dump(exclude_none=True))

    @property
    def is_limited(self) -> bool:
        """Whether anything has a limit."""
        return any(limit is not None for _, limit in self)


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
    return f"{name} ({shown_amount(name, used)} of {shown_amount(name, limit)})"


def shown_amount(name: str, amount: float) -> str:
    """An amount of a kind of budget, with as many digits as matter."""
    if name not in ("cost", "seconds"):
        return f"{amount:,.0f}"
    return f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:,.4f}"


def budget_used_up(budget: Budget, usage: Usage) -> str | None:
    """The first budget that is used up, in words; None if there is room in each."""
    for name, used, limit in limits_of(budget, usage):
        if limit is not None and used >= limit:
            return shown_limit(name, used, limit)
    return None


def ending_limits(budget: Budget) -> Budget:
    """The limits that end a run at once; one of tool calls leaves a last call without tools."""
    return budget.model_copy(update={"tool_calls": None})
