"""What model calls have used, as it is kept in the state."""

from __future__ import annotations

from typing import NotRequired

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict


class RoleUsage(TypedDict):
    """What some model calls have used: those of one role, of one step."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """The part of the input that the provider had in its cache, and that has a price of its own."""
    cache_write_tokens: NotRequired[int]
    """The part of it that the provider wrote to its cache; only where there was one."""
    model_calls: int
    cost: NotRequired[float]
    """Only where prices are known."""


class StepUsage(RoleUsage):
    """What one step of an agent's run has used."""

    step: int


class PlanStepUsage(RoleUsage):
    """What one step of a plan has used."""

    step: int | None
    """Its place in the plan; None if a revision has left it out."""
    text: str


class Spending(RoleUsage):
    """A line of a run's account: a model call, and the step it was made in."""

    step: int
    role: str
    by_tool: bool
    """Whether a tool made it; the agent's own calls are counted when they are made."""
    tool_calls: NotRequired[int]
    """Those of an agent that was given a task, whose model calls this line sums up."""
    estimated: NotRequired[bool]
