"""What the model is told that is true only at this step: page, plan, budget, loop, steps left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from manus.config.context import ToolChoice
from manus.config.profile import Profile
from manus.execution.result import Image
from manus.nodes.active_run import ActiveRun
from manus.nodes.exchange.announcements import was_hinted
from manus.prompts import agent as prompts
from manus.prompts import browser as browser_prompts
from manus.prompts import flow as plan_prompts
from manus.state.agent import AgentState, Loop, Run
from manus.state.plan import as_text
from manus.state.plan_changes import start_first
from manus.state.usage import Budget, Usage, limits_of, shown_limit
from manus.tools.terminate import TERMINATE

BROWSER_ALWAYS = "looks_at_browser"
"""In a profile's `extras`: the page is shown before each step, not only around browser calls."""
KEEPS_PLAN = "keeps_plan"
"""There, too: it works by a plan of its own, whose first unfinished step is at work."""
WARN_AT = 0.8
_FEWEST_CALLS = 4
"""A budget of fewer model calls is spent on work: it has no call to spare for a last word."""
_LAST = 0.1
"""Part of a budget that is kept for a last word."""
_TOOL = "browser_use"
_BROWSER = "browser"
_RECENT = 3
"""Messages among which a browser call means that the browser is in use."""


@dataclass(slots=True)
class Notes:
    """What is told at a step, in this order, the profile's prompt last; what follows from it."""

    texts: list[str]
    images: tuple[Image, ...]
    choice: ToolChoice
    """`none` for the last call that a budget allows."""
    update: dict[str, Any] = field(default_factory=dict)
    """What changes in the state."""


async def notes_for(
    state: AgentState, active_run: ActiveRun, run: Run, history: Sequence[AnyMessage]
) -> Notes:
    """What this step is told. The last call that a budget allows is noted in the run."""
    page, images = await _page(active_run, history)
    plan, update = plan_notes(state, active_run.profile)
    last, nearly = budget_notes(active_run.budget.limits, active_run.budget.used)
    choice = active_run.context.tool_choice
    told = []
    if last:
        run["closing"] = last
        choice = "none"
        told = [prompts.last_call(last)]
    elif nearly:
        told = [prompts.budget_nearly_used_up(nearly)]
    if run.get("sent_back") == run["step"] - 1 and not last:
        can_terminate = active_run.catalog.find(TERMINATE) is not None
        told.append(prompts.sent_back(can_terminate=can_terminate))
    loop = state.get("loop") if run["step"] > 1 else None
    steps = step_notes(run, loop, active_run.context.tool_choice)
    # the last word calls no tool, which the profile's prompt speaks of
    prompt = "" if last else active_run.profile.next_step_prompt
    return Notes([*page, *plan, *told, *steps, prompt], images, choice, update)


def step_notes(run: Run, loop: Loop | None, tool_choice: ToolChoice = "auto") -> list[str]:
    """The hint after a loop, the steps left in the last quarter of the run."""
    notes = [prompts.NO_TOOLS_NOW] if tool_choice == "none" else []
    if loop is not None and was_hinted(loop, run):
        hint = prompts.polling_hint if loop["kind"] == "polling" else prompts.loop_hint
        notes.append(hint(loop["what"]))
    left = max(1, run["max_steps"] - run["step"] + 1)
    if left <= max(prompts.FEW_STEPS, math.ceil(run["max_steps"] / 4)):
        notes.append(prompts.steps_left(left))
    return notes


async def _page(
    active_run: ActiveRun, history: Sequence[AnyMessage]
) -> tuple[list[str], tuple[Image, ...]]:
    """The browser's page, with a picture where the model sees images; nothing if not in use."""
    active_run.session.page_is_prompted = True
    always = bool(active_run.profile.extras.get(BROWSER_ALWAYS))
    newest = islice(reversed(history), _RECENT)
    used = any(isinstance(m, ToolMessage) and str(m.name).lower() == _TOOL for m in newest)
    if not (always or used) or active_run.catalog.find(_TOOL) is None:
        return [], ()
    if active_run.session.peek(_BROWSER) is None:
        return [browser_prompts.BROWSER_GONE if used else browser_prompts.NO_PAGE], ()
    # it was imported when the browser was opened
    from manus.tools.browser.state import browser_state

    state = await browser_state(active_run.session, screenshot=active_run.sees)
    if state is None:
        return [browser_prompts.NO_PAGE], ()
    return [state.text], state.images


def plan_notes(state: AgentState, profile: Profile) -> tuple[list[str], dict[str, Any]]:
    """The plan that an agent keeps with the `planning` tool, and what changes in the state.

    A profile that works by one has its first unfinished step marked as in progress.
    """
    keeps = bool(profile.extras.get(KEEPS_PLAN))
    plan = state.get("plans", {}).get(state.get("active_plan") or "")
    if plan is None:
        return ([plan_prompts.NO_PLAN_YET] if keeps else []), {}
    started = start_first(plan) if keeps else plan
    update = {} if started is plan else {"plans": {plan["id"]: started}}
    return [plan_prompts.own_plan(as_text(started))], update


def budget_notes(budget: Budget, usage: Usage) -> tuple[str, list[str]]:
    """The budget that has room for a last word only, and those of which four fifths are used."""
    last = ""
    nearly = []
    for name, used, limit in limits_of(budget, usage):
        shown = shown_limit(name, used, limit)
        if used >= limit - _kept(name, limit):
            last = last or shown
        elif used >= WARN_AT * limit:
            nearly.append(shown)
    return last, nearly


def _kept(name: str, limit: float) -> float:
    """What of a budget is kept for a last word, which calls no tool."""
    if name == "tool calls":
        return 0
    if name == "model calls":
        return 1 if limit >= _FEWEST_CALLS else 0
    return _LAST * limit
