"""A profile of the user's own, as `manus.toml` sets it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ProfileSettings(BaseModel):
    """`[profiles.NAME]`: what differs from the profile it is based on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    based_on: str = "manus"
    """The profile from which everything is taken that is not set here."""
    description: str | None = Field(None, min_length=1)
    """What it is good for: a flow chooses by it who carries out a step."""
    tools: tuple[str, ...] | None = None
    """Names of tools, and functions of the user's own as `MODULE:NAME`."""
    system_prompt: str | None = None
    """Who the agent is; `$workspace` stands for its directory, `$$` for a dollar sign."""
    next_step_prompt: str | None = None
    """What it is told before each step."""
    max_steps: int | None = Field(None, ge=1)
    """Steps of a run."""
    max_observe: int | None = Field(None, ge=200)
    """Characters of an observation that the model sees."""
    role: str | None = Field(None, min_length=1)
    """The model it works with: `main`, or one of `[roles.NAME]`."""
