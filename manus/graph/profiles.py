"""The built-in agent profiles, and the lookup of profiles by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from manus.calls.catalog import resolve_entry
from manus.calls.user_tools import is_user_tool, load_user_tool
from manus.config.profile import Profile
from manus.config.settings import Settings, load_settings
from manus.nodes.notes import BROWSER_ALWAYS, KEEPS_PLAN
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
        "recall",
        "ask_human",
        "terminate",
        "mcp",
    ),
    system_prompt=prompts.MANUS,
    next_step_prompt=prompts.MANUS_NEXT,
    max_steps=60,
    on_demand=("browser_use", "skill", "delegate", "remember", "recall"),
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
    description="A general agent that creates its own plan and follows it.",
    tools=("planning", *MANUS.tools),
    on_demand=MANUS.on_demand,
    system_prompt=prompts.PLANNER,
    next_step_prompt=prompts.MANUS_NEXT,
    max_steps=60,
    extras={KEEPS_PLAN: True},
)

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ROLES = ("main", "summary", "plan", "extract", "vision")
"""Roles that need no configuration: they default to the main model."""
PROFILES = {profile.name: profile for profile in (MANUS, BROWSER, SWE, DATA_ANALYSIS, PLANNER)}


def all_executors(
    first: str = "manus", profiles: Mapping[str, Profile] = MappingProxyType(PROFILES)
) -> tuple[str, ...]:
    """Return the profiles that can execute the steps of a plan, the default one first.

    A profile that keeps its own plan is included only if it is the first.
    """
    names = [first]
    for name, profile in profiles.items():
        if name.lower() != first.lower() and not profile.extras.get(KEEPS_PLAN):
            names.append(name)
    return tuple(names)


def find_profile(name: str) -> Profile:
    """Return the built-in or user profile with a name, in any letter case. Blocking.

    `manus.toml` is read only if the name is not built in. `MODULE:NAME` names a profile in Python.

    Raises:
        SettingsError: the profile does not exist (the message lists all), or is invalid.
    """
    if name.lower() in PROFILES:
        return PROFILES[name.lower()]
    if not is_user_tool(name):
        return _build_profile(name, _load_settings())
    profile = load_user_tool(name)
    if not isinstance(profile, Profile):
        raise SettingsError(
            f"`{name}` is not a profile but a `{type(profile).__name__}`; "
            "create one with `manus.config.profile.Profile(...)`."
        )
    return profile


def all_profiles() -> dict[str, Profile]:
    """Return all profiles by name: the built-in ones, then those of `manus.toml`. Blocking.

    Raises:
        SettingsError: a profile in the file is invalid.
    """
    settings = _load_settings()
    profiles = dict(PROFILES)
    for name in settings.profiles:
        profiles[name] = _build_profile(name, settings)
    return profiles


def _load_settings() -> Settings:
    """Return the settings, after a check that the names of their profiles are valid and unique."""
    settings = load_settings(os.environ)
    names = set(PROFILES)
    for name in settings.profiles:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f"A profile cannot be named `{name}`; use letters without accents, digits, `_` "
                "and `-`."
            )
        if name.lower() in names:
            raise SettingsError(
                f"Profile `{name.lower()}` already exists; choose another name and, to keep "
                f'its values, set `based_on = "{name.lower()}"`.'
            )
        names.add(name.lower())
    return settings


def _build_profile(name: str, settings: Settings) -> Profile:
    """Return a user profile, which overrides the one that it is based on."""
    own_names = {own_name.lower(): own_name for own_name in settings.profiles}
    own_name = own_names.get(name.lower())
    if own_name is None:
        names = ", ".join([*PROFILES, *settings.profiles])
        raise SettingsError(f"Profile `{name}` does not exist; available profiles: {names}.")
    values = settings.profiles[own_name]
    base = PROFILES.get(values.based_on.lower())
    if base is None:
        raise SettingsError(
            f"The profile `{own_name}` cannot be based on `{values.based_on}`, only on "
            f"{', '.join(PROFILES)}."
        )
    changes: dict[str, Any] = values.model_dump(exclude_none=True, exclude={"based_on"})
    if values.tools is not None:
        changes.setdefault("on_demand", ())
    changes.setdefault("description", f"Like `{base.name}`, with the user's own settings.")
    roles = {*_ROLES, *settings.roles}
    if values.role not in (None, *roles):
        raise SettingsError(
            f"The profile `{own_name}` needs a model for the role `{values.role}`, which is not "
            f"configured; configured roles: {', '.join(sorted(roles))}."
        )
    try:
        if values.tools is not None:
            changes["tools"] = tuple(map(resolve_entry, values.tools))
    except SettingsError as error:
        raise SettingsError(f"The profile `{own_name}`: {error}") from error.__cause__
    return replace(base, name=own_name, **changes)
