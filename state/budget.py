"""Budgets: the upper limits of a run."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

DIVIDED = ("tokens", "cost", "tool_calls", "model_calls")
"""Kinds of which each has its part. Time passes for all at once."""


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

    def limits(self) -> dict[str, float]:
        """The limits of what is divided."""
        given = self.model_dump(include=set(DIVIDED), exclude_none=True)
        return {kind: float(limit) for kind, limit in given.items()}
