"""An agent profile: a named set of prompts, tools and limits; and one as `manus.toml` sets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field

from manus.prompts import render
from manus.state.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Profile:
    """What kind of agent a run is.

    `tools` names tools of the catalogue or holds LangChain tools of the user's own.
    `special_tools` names those whose call may end the run, in any letter case. `max_steps` counts
    think-and-act rounds; `max_observe` is in characters. `model`, a name or a chat model of
    LangChain's (wrapped or not), is asked unless the run's context names another one.
    """

    name: str
    description: str
    tools: tuple[Any, ...]
    system_prompt: str
    next_step_prompt: str
    max_steps: int = 20
    max_observe: int = 10_000
    special_tools: tuple[str, ...] = ("terminate",)
    role: str = "main"
    model: str | Runnable[Any, Any] | None = None
    extras: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Names of special tools are compared in lower case.

        Raises:
            SettingsError: a prompt holds a `$` that stands for nothing.
        """
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "special_tools", tuple(map(str.lower, self.special_tools)))
        for field_name in ("system_prompt", "next_step_prompt"):
            try:
                render(getattr(self, field_name), workspace="", place="")
            except (KeyError, ValueError):
                raise SettingsError(
                    f"`{field_name}` of the profile `{self.name}` holds a `$` that stands for "
                    "nothing; the variables are `$workspace` and `$place`, and a dollar sign is "
                    "written `$$`."
                ) from None


class ProfileSettings(BaseModel, frozen=True, extra="forbid"):
    """`[profiles.NAME]`: what differs from the profile it is based on."""

    based_on: str = "manus"
    """The profile of the project from which everything is taken that is not set here."""
    description: str | None = Field(None, min_length=1)
    """What it is good for: a flow chooses by it who carries out a step."""
    tools: tuple[str, ...] | None = None
    """Names of tools, and functions of the user's own as `MODULE:NAME`."""
    system_prompt: str | None = None
    """Who the agent is. `$workspace` stands for its directory, `$place` for where it is (system,
    date, files, the project's `AGENTS.md`), `$$` for a dollar sign."""
    next_step_prompt: str | None = None
    """What it is told before each step."""
    max_steps: int | None = Field(None, ge=1)
    """Steps of a run."""
    max_observe: int | None = Field(None, ge=200)
    """Characters of an observation that the model sees."""
    role: str | None = Field(None, min_length=1)
    """The model it works with: `main`, or one of `[roles.NAME]`."""
