"""Build the notes that apply to one step only: page, plan, budget, loop, steps left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from manus.calls.result import Image
from manus.config.context import ToolChoice
from manus.config.profile import Profile
from manus.nodes.active_run import BROWSER_TOOL, ActiveRun
from manus.prompts import agent as prompts
from manus.prompts import browser as browser_prompts
from manus.prompts import flow as plan_prompts
from manus.state.agent import AgentState, Loop, Run
from manus.state.plan import format_plan
from manus.state.plan_changes import start_first
from manus.state.usage import Budget, Usage, format_limit, list_limits
from manus.tools.terminate import TERMINATE

BROWSER_ALWAYS = "looks_at_browser"
"""Key of a profile's `extras`: show the page before each step, not only around browser calls."""
KEEPS_PLAN = "keeps_plan"
"""Key of a profile's `extras`: the agent follows its own plan, one step in progress at a time."""
WARN_AT = 0.8
_MIN_CALLS = 4
"""A smaller budget of model calls reserves none for a closing reply."""
_RESERVE = 0.1
"""Share of a budget that is reserved for a closing reply."""
_BROWSER = "browser"
_RECENT = 3
"""Number of newest messages in which a browser call means that the browser is in use."""


@dataclass(slots=True)
class StepNotes:
    """The notes of a step in order, the profile's prompt last, and their consequences."""

    texts: list[str]
    images: tuple[Image, ...]
    choice: ToolChoice
    """Tool choice of the request: `none` for the last call that a budget allows."""
    update: dict[str, Any] = field(default_factory=dict)
    """Changes of the state."""


async def build_notes(
    state: AgentState, active_run: ActiveRun, run: Run, history: Sequence[AnyMessage]
) -> StepNotes:
    """Return the notes of this step. Mark the run as closing if a budget allows one last call."""
    profile = active_run.settings.profile
    page: list[str] = []
    images: tuple[Image, ...] = ()
    if active_run.uses_browser:
        page, images = await _page(active_run, history, is_first=run["step"] == 1)
    plan: list[str] = []
    update: dict[str, Any] = {}
    if state.get("plans") or KEEPS_PLAN in profile.extras:
        plan, update = plan_notes(state, profile)
    last = ""
    nearly: list[str] = []
    if active_run.ledger.is_limited:
        last, nearly = budget_notes(active_run.ledger.limits, active_run.ledger.used)
    choice = active_run.settings.tool_choice
    budget = []
    if last:
        run["closing"] = last
        choice = "none"
        budget = [prompts.last_call(last)]
    elif nearly:
        budget = [prompts.budget_nearly_used_up(nearly)]
    if run.get("sent_back") == run["step"] - 1 and not last:
        can_terminate = active_run.catalog.find(TERMINATE) is not None
        budget.append(prompts.sent_back(can_terminate=can_terminate))
    loop = state.get("loop") if run["step"] > 1 else None
    steps = step_notes(run, loop, active_run.settings.tool_choice)
    # the profile's prompt is about calling tools, which the closing reply cannot
    prompt = "" if last else profile.next_step_prompt
    lost = active_run.session.lost_calls
    return StepNotes([lost, *page, *plan, *budget, *steps, prompt], images, choice, update)


def step_notes(run: Run, loop: Loop | None, tool_choice: ToolChoice = "auto") -> list[str]:
    """Return the hint after a loop, and the steps left in the last quarter of the run."""
    notes = []
    if tool_choice == "none":
        notes.append(prompts.NO_TOOLS_NOW)
    if loop is not None and loop["measure"] == "hint" and loop["since"] == run["step"] - 1:
        hint = prompts.polling_hint if loop["kind"] == "polling" else prompts.loop_hint
        notes.append(hint(loop["what"]))
    steps_left = max(1, run["max_steps"] - run["step"] + 1)
    if steps_left <= max(prompts.FEW_STEPS, math.ceil(run["max_steps"] / 4)):
        notes.append(prompts.steps_left(steps_left))
    return notes


def _is_of_browser(message: AnyMessage) -> bool:
    return isinstance(message, ToolMessage) and str(message.name).lower() == BROWSER_TOOL


async def _page(
    active_run: ActiveRun, history: Sequence[AnyMessage], *, is_first: bool
) -> tuple[list[str], tuple[Image, ...]]:
    """Return the browser's page, with a screenshot for a model that sees images, if in use."""
    active_run.session.page_is_prompted = True
    is_always_shown = bool(active_run.settings.profile.extras.get(BROWSER_ALWAYS))
    newest = islice(reversed(history), _RECENT)
    is_in_use = any(map(_is_of_browser, newest))
    is_gone = active_run.session.peek(_BROWSER) is None
    # a new request on a thread starts without the browser of the one before
    was_in_use = is_in_use or (is_gone and is_first and any(map(_is_of_browser, history)))
    if not (is_always_shown or was_in_use):
        return [], ()
    if is_gone:
        return [browser_prompts.BROWSER_GONE if was_in_use else browser_prompts.NO_PAGE], ()
    # it was imported when the browser was opened
    from manus.tools.browser.state import browser_state

    state = await browser_state(active_run.session, screenshot=active_run.sees_images)
    if state is None:
        return [browser_prompts.NO_PAGE], ()
    return [state.text], state.images


def plan_notes(state: AgentState, profile: Profile) -> tuple[list[str], dict[str, Any]]:
    """Return the agent's own plan of the `planning` tool, and the changes of the state.

    For a profile that follows its plan, the first unfinished step is marked as in progress.
    """
    keeps_plan = bool(profile.extras.get(KEEPS_PLAN))
    plan = state.get("plans", {}).get(state.get("active_plan") or "")
    if plan is None:
        return ([plan_prompts.NO_PLAN_YET] if keeps_plan else []), {}
    started = start_first(plan) if keeps_plan else plan
    update = {} if started is plan else {"plans": {plan["id"]: started}}
    return [plan_prompts.own_plan(format_plan(started))], update


def budget_notes(budget: Budget, usage: Usage) -> tuple[str, list[str]]:
    """Return the budget that allows only a closing reply, and those that are 80% used."""
    last = ""
    nearly = []
    for name, used, limit in list_limits(budget, usage):
        text = format_limit(name, used, limit)
        if used >= limit - _reserve(name, limit):
            last = last or text
        elif used >= WARN_AT * limit:
            nearly.append(text)
    return last, nearly


def _reserve(name: str, limit: float) -> float:
    """Return the part of a budget that is reserved for a closing reply, which calls no tool."""
    if name == "tool calls":
        return 0
    if name == "model calls":
        return 1 if limit >= _MIN_CALLS else 0
    return _RESERVE * limit
