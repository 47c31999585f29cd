"""Agent profiles: named sets of prompts, tools and limits, and their settings in `manus.toml`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field

from manus.prompts import render
from manus.state.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Profile:
    """The kind of an agent: its prompts, tools, limits and model.

    `tools` contains names from the catalog, or LangChain tools of your own. `special_tools` names
    those whose call may end the run, in any letter case. `max_steps` counts think-and-act rounds;
    `max_observe` is in characters. `model`, a name or a LangChain chat model (wrapped or not), is
    used unless the run's context names another one. `on_demand` names the tools that a request
    lists only by name: the model calls them through `use_tool`.

    Example:
        GLOSSARY = Profile(
            name="glossary",
            description="Answers questions about words.",
            tools=(lookup, "terminate"),
            system_prompt="You explain words, in one sentence each.",
            next_step_prompt="",
        )
        agent = build_agent(GLOSSARY)
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
    on_demand: tuple[str, ...] = ()
    extras: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert the names of special tools to lower case, and check the prompts.

        Raises:
            SettingsError: a prompt contains an unknown `$` variable.
        """
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "special_tools", tuple(map(str.lower, self.special_tools)))
        for field_name in ("system_prompt", "next_step_prompt"):
            try:
                render(getattr(self, field_name), workspace="", place="")
            except (KeyError, ValueError):
                raise SettingsError(
                    f"`{field_name}` of the profile `{self.name}` contains an unknown `$` "
                    "variable; the variables are `$workspace` and `$place`, and a dollar sign is "
                    "written `$$`."
                ) from None


class ProfileSettings(BaseModel, frozen=True, extra="forbid"):
    """`[profiles.NAME]`: the differences from the profile that it is based on."""

    based_on: str = "manus"
    """The built-in profile from which unset fields are taken."""
    description: str | None = Field(None, min_length=1)
    """What the agent is good at; a flow uses it to choose the executor of a step."""
    tools: tuple[str, ...] | None = None
    """Names of tools, and your own functions as `MODULE:NAME`."""
    on_demand: tuple[str, ...] | None = None
    """Names of the tools that requests only list, for `use_tool`; the model gets the description of
    one when it uses it. Unset: those of the profile, or none if `tools` is set."""
    system_prompt: str | None = None
    """The system prompt. `$workspace` stands for the agent's directory, `$place` for its
    environment (system, date, files, the project's `AGENTS.md`), `$$` for a dollar sign."""
    next_step_prompt: str | None = None
    """The prompt before each step."""
    max_steps: int | None = Field(None, ge=1)
    """Maximum number of steps of a run."""
    max_observe: int | None = Field(None, ge=200)
    """Characters of an observation that are shown whole."""
    role: str | None = Field(None, min_length=1)
    """The role of its model: `main`, or one of `[roles.NAME]`."""
