"""Ask a model for a plan, or for a revision of one, with the `planning` tool."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from manus.calls.base import explain_arguments
from manus.config.profile import Profile
from manus.nodes.active_run import ActiveRun
from manus.nodes.calls import explain_malformed
from manus.nodes.compaction import ThreadHistory, fit_history
from manus.nodes.environment_info import describe_environment
from manus.nodes.truncation import context_window, fit_question, render_message
from manus.prompts import flow as prompts
from manus.state.errors import BudgetError, PlanError
from manus.state.flow import FlowState
from manus.state.history import without_closings
from manus.state.messages import ephemeral, last_request, list_calls
from manus.state.plan import Plan, short_title, unknown_executor
from manus.state.plan_changes import NewStep
from manus.tools.planning import NAME, PlanningArgs

log = logging.getLogger("manus")

ROLE = "plan"

Executors = Mapping[str, Profile]
"""Profiles that can execute a step, by name; the first is the default."""

BuildPlan = Callable[[PlanningArgs, list[NewStep]], Plan]
"""Builds a plan from the arguments of a call and its steps."""


async def ask_planner(
    state: FlowState,
    active_run: ActiveRun,
    executors: Executors,
    question: HumanMessage,
    build_plan: BuildPlan,
) -> Plan | None:
    """Return a plan, or None if the second reply has no usable one or the budget is used up.

    The request lists the executors and has the history of the thread.

    Raises:
        ManusError: the model request failed.
    """
    choice = active_run.settings.tool_choice
    if choice == "none":
        return None
    vision = active_run.model_settings(ROLE).vision
    thread = without_closings(state.get("messages", []))
    history = [render_message(message, vision=vision) for message in thread]
    system = SystemMessage(await asyncio.to_thread(_system, active_run, executors))
    lost = active_run.session.lost_calls
    notes = [ephemeral(lost)] if lost else []
    messages = await fit_question(active_run, ROLE, system, *history, *notes, question)
    client = active_run.client
    tools = active_run.catalog.schemas()
    names = list(executors)
    for build in (
        partial(_build_with_known, build_plan, names),
        partial(_build_in_order, build_plan, names),
    ):
        try:
            reply = await client.complete(ROLE, messages, tools=tools, tool_choice=choice)
        except BudgetError:
            return None
        plan, answers = _read_reply(reply.message, active_run, build)
        if plan is not None:
            return plan
        problem = prompts.CALL_ANSWERED if answers else prompts.NO_CALL
        messages = [*messages, reply.message, *answers, ephemeral(prompts.ask_again(problem))]
    return None


async def compact_thread(
    state: FlowState, active_run: ActiveRun, executors: Executors
) -> tuple[FlowState, dict[str, Any]]:
    """Return the state with a history that fits the planner's context window, and the update."""
    history = state.get("messages", [])
    request_id = str(last_request(history).id)
    system = await asyncio.to_thread(_system, active_run, executors)
    window = context_window(active_run, ROLE, system)
    thread = ThreadHistory(history, state.get("compaction"), request_id, can_recall=False)
    await fit_history(thread, active_run, window)
    if not thread.writes:
        return state, {}
    update = {"messages": thread.writes, "compaction": thread.compaction}
    return {**state, "messages": thread.messages}, update


def _system(active_run: ActiveRun, executors: Executors) -> str:
    """Return the planner's system prompt with the current environment. Blocking."""
    described = {name: profile.description for name, profile in executors.items()}
    environment = describe_environment(
        active_run.session.workspace, active_run.settings, runs_programs=False
    )
    return prompts.planner(described, environment)


def _read_reply(
    message: AIMessage, active_run: ActiveRun, build_plan: BuildPlan
) -> tuple[Plan | None, list[BaseMessage]]:
    """Return the plan of a reply, or None, and the answers to its calls with the errors."""
    plan: Plan | None = None
    answers: list[BaseMessage] = []
    for index, call in enumerate(list_calls(message)):
        call["id"] = call["id"] or f"plan-{index}"  # some servers omit it
        if call.get("type") == "invalid_tool_call":
            answer = explain_malformed(call)  # type: ignore[arg-type]
        else:
            call_plan, answer = _read_call(call, active_run, build_plan)
            plan = call_plan or plan
        answers.append(ToolMessage(answer, tool_call_id=str(call["id"]), name=call["name"] or ""))
    return plan, answers


def _read_call(call: Any, active_run: ActiveRun, build_plan: BuildPlan) -> tuple[Plan | None, str]:
    """Return the plan of one call, or None, and the answer to the call."""
    if call["name"].lower() != NAME:
        return None, active_run.catalog.explain_unknown(call["name"])
    try:
        args = PlanningArgs.model_validate(call["args"])
        if args.command not in ("create", "update"):
            return None, prompts.OTHER_COMMAND
        steps = args.requested_steps() or []
        if not steps:
            raise PlanError("A plan needs at least one step: pass `steps`, a list of texts.")
        return build_plan(args, steps), "Taken."
    except ValidationError as error:
        tool = active_run.catalog.find(NAME)
        explanation = explain_arguments(tool, error) if tool is not None else str(error)
        return None, explanation
    except PlanError as error:
        return None, str(error)


def _build_with_known(
    build_plan: BuildPlan, names: list[str], args: PlanningArgs, steps: list[NewStep]
) -> Plan:
    """Build the plan.

    Raises:
        PlanError: a step names an unknown executor, or the plan is invalid.
    """
    for step in steps:
        if tag := unknown_executor(step["text"], names):
            raise PlanError(prompts.unknown_executor(tag, names))
    return build_plan(args, steps)


def _build_in_order(
    build_plan: BuildPlan, names: list[str], args: PlanningArgs, steps: list[NewStep]
) -> Plan:
    """Build the plan; if its dependencies are invalid, each step depends on the one before it.

    A step with an unknown executor is carried out by the first one, which is logged.
    """
    try:
        plan = build_plan(args, steps)
    except PlanError:
        plan = build_plan(args, [{**step, "depends_on": None} for step in steps])
    for step in plan["steps"]:
        if tag := unknown_executor(step["text"], names):
            log.warning(prompts.replaced_executor(tag, short_title(step), names[0]))
    return plan
