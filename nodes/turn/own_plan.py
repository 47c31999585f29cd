"""The plan that an agent keeps itself with the `planning` tool, as its next step sees it."""

from __future__ import annotations

from typing import Any

from manus.prompts import flow as prompts
from manus.state.agent import AgentState
from manus.state.plan import as_text
from manus.state.plan_changes import start_first
from manus.state.profile import Profile

KEEPS_PLAN = "keeps_plan"
"""In a profile's extras: it works by a plan of its own, whose first unfinished step is at work."""


def plan_notes(state: AgentState, profile: Profile) -> tuple[list[str], dict[str, Any]]:
    """The note for the next-step prompt, and what changes in the state.

    An agent that keeps a plan has its first unfinished step marked as in progress.
    """
    keeps = bool(profile.extras.get(KEEPS_PLAN))
    plan = state.get("plans", {}).get(state.get("active_plan") or "")
    if plan is None:
        return ([prompts.NO_PLAN_YET] if keeps else []), {}
    started = start_first(plan) if keeps else plan
    update = {} if started is plan else {"plans": {plan["id"]: started}}
    return [prompts.own_plan(as_text(started))], update
