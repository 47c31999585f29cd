"""The agent profiles: those that come with the project, and how one is found by its name."""

from __future__ import annotations

from manus.nodes.turn.notes import BROWSER_ALWAYS, KEEPS_PLAN
from manus.prompts import agent as prompts
from manus.prompts import browser as browser_prompts
from manus.prompts import data as data_prompts
from manus.state.profile import Profile

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

PROFILES = {profile.name: profile for profile in (MANUS, BROWSER, SWE, DATA_ANALYSIS, PLANNER)}


def all_executors(first: str = "manus") -> tuple[str, ...]:
    """Who can carry out the steps of a plan, the default one first.

    All profiles but the one that makes plans of its own, unless it is the first.
    """
    others = (name for name, profile in PROFILES.items() if not profile.extras.get(KEEPS_PLAN))
    return (first, *(name for name in others if name != first.lower()))


def profile_named(name: str) -> Profile:
    """The profile of that name, in any letter case: one of ours, or of the user's own.

    Only for a name that is not one of ours is `manus.toml` read. `MODULE:NAME` is a profile made in
    Python.

    Raises:
        SettingsError: there is none, and the message lists those there are; or it does not fit.
    """
    profile = PROFILES.get(name.lower())
    if profile is None:
        from manus.graph.own_profiles import own_profile

        profile = own_profile(name, PROFILES)
    return profile


def all_profiles() -> dict[str, Profile]:
    """All profiles by name: ours first, then those of `manus.toml`. Blocking.

    Raises:
        SettingsError: one in the file does not fit.
    """
    from manus.graph.own_profiles import own_profiles

    return {**PROFILES, **own_profiles(PROFILES)}
