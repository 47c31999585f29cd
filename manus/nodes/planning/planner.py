"""Asking a model for a plan, or for a revision of one, with the `planning` tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from manus.config.profile import Profile
from manus.execution.base import explain_arguments
from manus.nodes.active_run import ActiveRun
from manus.nodes.context.compaction import ThreadHistory, fit_history
from manus.nodes.context.truncation import context_window, fit_question, render_message
from manus.nodes.exchange.calls import explain_malformed
from manus.nodes.exchange.environment_info import describe_environment
from manus.prompts import flow as prompts
from manus.state.errors import BudgetError, PlanError
from manus.state.flow import FlowState
from manus.state.messages import calls_of, ephemeral, last_request
from manus.state.plan import Plan
from manus.state.plan_changes import NewStep
from manus.tools.planning import NAME, PlanningArgs

ROLE = "plan"

Executors = Mapping[str, Profile]
"""Who can carry out a step, by name; the first is the default."""

MakePlan = Callable[[PlanningArgs, list[NewStep]], Plan]
"""Makes a plan of a call and its steps."""


async def ask_planner(
    state: FlowState,
    active_run: ActiveRun,
    executors: Executors,
    question: HumanMessage,
    make: MakePlan,
) -> Plan | None:
    """A plan, or None if there is no usable one after the second reply, or no budget for it.

    The planner is told of the executors, and of what the thread was about.

    Raises:
        ManusError: the model cannot be asked.
    """
    choice = active_run.context.tool_choice
    if choice == "none":
        return None
    vision = active_run.model_settings(ROLE).vision
    seen = [render_message(message, vision=vision) for message in state.get("messages", [])]
    system = SystemMessage(await asyncio.to_thread(_system, active_run, executors))
    asked = await fit_question(active_run, ROLE, system, *seen, question)
    tools = active_run.catalog.schemas()
    for take in (make, partial(_make_in_order, make)):
        try:
            reply = await active_run.client.complete(ROLE, asked, tools=tools, tool_choice=choice)
        except BudgetError:
            return None
        plan, answers = _read(reply.message, active_run, take)
        if plan is not None:
            return plan
        why = prompts.CALL_ANSWERED if answers else prompts.NO_CALL
        asked = [*asked, reply.message, *answers, ephemeral(prompts.ask_again(why))]
    return None


async def compact_thread(
    state: FlowState, active_run: ActiveRun, executors: Executors
) -> tuple[FlowState, dict[str, Any]]:
    """The state with a history that the planner's window has room for, and what makes it so."""
    history = state.get("messages", [])
    request_id = str(last_request(history).id)
    system = await asyncio.to_thread(_system, active_run, executors)
    window = context_window(active_run, ROLE, system)
    past = ThreadHistory(history, state.get("compaction"), request_id, can_recall=False)
    await fit_history(past, active_run, window)
    if not past.writes:
        return state, {}
    update = {"messages": past.writes, "compaction": past.compaction}
    return {**state, "messages": past.messages}, update


def _system(active_run: ActiveRun, executors: Executors) -> str:
    """Return the planner's system prompt with the current environment. Blocking."""
    described = {name: profile.description for name, profile in executors.items()}
    return prompts.planner(
        described, describe_environment(active_run.session.workspace, active_run.settings)
    )


def _read(
    message: AIMessage, active_run: ActiveRun, make: MakePlan
) -> tuple[Plan | None, list[BaseMessage]]:
    """The plan of a reply, and the answers to its calls: what is wrong if there is no plan."""
    plan: Plan | None = None
    answers: list[BaseMessage] = []
    for index, call in enumerate(calls_of(message)):
        call["id"] = call["id"] or f"plan-{index}"  # some servers leave it out
        if call.get("type") == "invalid_tool_call":
            said = explain_malformed(call)  # type: ignore[arg-type]
        else:
            made, said = _read_call(call, active_run, make)
            plan = made or plan
        answers.append(ToolMessage(said, tool_call_id=str(call["id"]), name=call["name"] or ""))
    return plan, answers


def _read_call(call: Any, active_run: ActiveRun, make: MakePlan) -> tuple[Plan | None, str]:
    """The plan that one call makes, and what is said to the call."""
    if call["name"].lower() != NAME:
        return None, active_run.catalog.explain_unknown(call["name"])
    try:
        args = PlanningArgs.model_validate(call["args"])
        if args.command not in ("create", "update"):
            return None, prompts.OTHER_COMMAND
        wanted = args.requested_steps() or []
        if not wanted:
            raise PlanError("A plan needs at least one step: give `steps`, a list of texts.")
        return make(args, wanted), "Taken."
    except ValidationError as error:
        tool = active_run.catalog.find(NAME)
        return None, explain_arguments(tool, error) if tool is not None else str(error)
    except PlanError as error:
        return None, str(error)


def _make_in_order(make: MakePlan, args: PlanningArgs, wanted: list[NewStep]) -> Plan:
    """The plan; if its dependencies do not fit, with each step after the one before it."""
    try:
        return make(args, wanted)
    except PlanError:
        return make(args, [{**step, "depends_on": None} for step in wanted])
