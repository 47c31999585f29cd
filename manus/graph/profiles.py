"""The agent profiles: those that come with the project, and how one is found by its name."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from manus.config.profile import Profile
from manus.config.settings import Settings, load_settings
from manus.execution.catalog import resolve_entry
from manus.execution.user_tools import is_user_tool, load_user_tool
from manus.nodes.exchange.notes import BROWSER_ALWAYS, KEEPS_PLAN
from manus.prompts import agent as prompts
from manus.prompts import browser as browser_prompts
from manus.prompts import data as data_prompts
from manus.state.errors import SettingsError
from manus.tools.python_execute import OWN_PYTHON

MANUS = Profile(
    name="manus",
    description=(
        "A general agent: runs code and commands, uses the web, edits files, asks when it must."
    ),
    tools=(
        "python_execute",
        "bash",
        "browser_use",
        "web_search",
        "str_replace_editor",
        "skill",
        "delegate",
        "remember",
        "ask_human",
        "terminate",
        "mcp",
    ),
    system_prompt=prompts.MANUS,
    next_step_prompt=prompts.MANUS_NEXT,
    max_steps=60,
)
BROWSER = Profile(
    name="browser",
    description="Works on web pages in a real browser: finds, reads, fills in, downloads.",
    tools=("browser_use", "terminate"),
    system_prompt=browser_prompts.BROWSER,
    next_step_prompt=browser_prompts.BROWSER_NEXT,
    max_steps=40,
    extras={BROWSER_ALWAYS: True},
)
SWE = Profile(
    name="swe",
    description="A software engineer: works on a code base with a shell and an editor.",
    tools=("bash", "str_replace_editor", "skill", "terminate"),
    system_prompt=prompts.SWE,
    next_step_prompt=prompts.SWE_NEXT,
    max_steps=60,
)
DATA_ANALYSIS = Profile(
    name="data_analysis",
    description="A data analyst: computes with Python, makes charts from data files, and reports.",
    tools=("python_execute", "data_visualization", "make_report", "skill", "terminate"),
    system_prompt=data_prompts.DATA_ANALYSIS,
    next_step_prompt=data_prompts.DATA_ANALYSIS_NEXT,
    max_steps=40,
    max_observe=15_000,
    extras={OWN_PYTHON: True},
)
PLANNER = Profile(
    name="planner",
    description="A general agent that makes a plan of its own and works by it.",
    tools=("planning", *MANUS.tools),
    system_prompt=prompts.PLANNER,
    next_step_prompt=prompts.MANUS_NEXT,
    max_steps=60,
    extras={KEEPS_PLAN: True},
)

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ROLES = ("main", "summary", "plan", "extract", "vision")
"""Roles that there are without being configured: they are the main model's."""
PROFILES = {profile.name: profile for profile in (MANUS, BROWSER, SWE, DATA_ANALYSIS, PLANNER)}


def all_executors(first: str = "manus") -> tuple[str, ...]:
    """Who can carry out the steps of a plan, the default one first.

    All profiles but the one that makes plans of its own, unless it is the first.
    """
    others = (name for name, profile in PROFILES.items() if not profile.extras.get(KEEPS_PLAN))
    return (first, *(name for name in others if name != first.lower()))


def profile_named(name: str) -> Profile:
    """The profile of that name, in any letter case: one of ours, or of the user's own. Blocking.

    Only for a name that is not one of ours is `manus.toml` read. `MODULE:NAME` is a profile made in
    Python.

    Raises:
        SettingsError: there is none, and the message lists those there are; or it does not fit.
    """
    if name.lower() in PROFILES:
        return PROFILES[name.lower()]
    if not is_user_tool(name):
        return _built(name, _checked_settings())
    found = load_user_tool(name)
    if not isinstance(found, Profile):
        raise SettingsError(
            f"`{name}` is no profile but of the type `{type(found).__name__}`; "
            "a profile is made with `manus.config.profile.Profile(...)`."
        )
    return found


def all_profiles() -> dict[str, Profile]:
    """All profiles by name: ours first, then those of `manus.toml`. Blocking.

    Raises:
        SettingsError: one in the file does not fit.
    """
    settings = _checked_settings()
    return {**PROFILES, **{name: _built(name, settings) for name in settings.profiles}}


def _checked_settings() -> Settings:
    """The settings, whose profiles have names of their own."""
    settings = load_settings(os.environ)
    taken = set(PROFILES)
    for name in settings.profiles:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f"A profile cannot be named `{name}`; use letters without accents, digits, `_` "
                "and `-`."
            )
        if name.lower() in taken:
            raise SettingsError(
                f"There is a profile `{name.lower()}` already; give yours another name and, to "
                f'keep what that one has, `based_on = "{name.lower()}"`.'
            )
        taken.add(name.lower())
    return settings


def _built(name: str, settings: Settings) -> Profile:
    """The user's own profile of that name, over the one it is based on."""
    own = next((each for each in settings.profiles if each.lower() == name.lower()), None)
    if own is None:
        known = ", ".join([*PROFILES, *settings.profiles])
        raise SettingsError(f"There is no profile `{name}`; known are: {known}.")
    values = settings.profiles[own]
    base = PROFILES.get(values.based_on.lower())
    if base is None:
        raise SettingsError(
            f"The profile `{own}` can be based on {', '.join(PROFILES)}; not on "
            f"`{values.based_on}`."
        )
    changes: dict[str, Any] = values.model_dump(exclude_none=True, exclude={"based_on"})
    changes.setdefault("description", f"As `{base.name}`, with settings of the user's own.")
    roles = {*_ROLES, *settings.roles}
    if values.role not in (None, *roles):
        raise SettingsError(
            f"The profile `{own}` wants a model for the role `{values.role}`, which is not "
            f"configured; known are: {', '.join(sorted(roles))}."
        )
    try:
        if values.tools is not None:
            changes["tools"] = tuple(map(resolve_entry, values.tools))
    except SettingsError as error:
        raise SettingsError(f"The profile `{own}`: {error}") from error.__cause__
    return replace(base, name=own, **changes)
