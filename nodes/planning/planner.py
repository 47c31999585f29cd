"""Asking a model for a plan, or for a revision of one, with the `planning` tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import ValidationError

from manus.models.client import complete
from manus.models.malformed import with_malformed
from manus.models.recording import ephemeral
from manus.nodes.active_run import Running
from manus.nodes.context.large import fitted_question
from manus.nodes.turn.calls import explain_malformed
from manus.nodes.turn.request import without_images
from manus.prompts import flow as prompts
from manus.state.errors import BudgetError, DependencyError, PlanError
from manus.state.flow import FlowState
from manus.state.plan import Plan, executor_for
from manus.state.plan_changes import create, revise, sequential
from manus.state.profile import Profile
from manus.tools.arguments import explain_arguments
from manus.tools.planning import NAME, PlanningArgs

ROLE = "plan"
TRIES = 2
"""How often a planner is asked; after that there is a plan without one."""

Build = Callable[[PlanningArgs, bool], Plan]
"""Makes a plan of a call; True: steps that wait for each other are put in order."""


Executors = Mapping[str, Profile]
"""Who can carry out a step, by name; the first is the default."""


def planner_request(
    state: FlowState, running: Running, executors: Executors, question: HumanMessage
) -> list[BaseMessage]:
    """What the planner is asked: it is told of the executors, and of what the thread was about."""
    system = prompts.planner({name: p.description for name, p in executors.items()})
    history = state.get("messages", [])
    seen = history if running.model_settings(ROLE).vision else map(without_images, history)
    return [SystemMessage(system), *seen, question]


def with_executors(plan: Plan, executors: Executors) -> Plan:
    """The plan with an executor for each step."""
    names = list(executors)
    steps: list[Any] = [{**s, "executor": executor_for(s, names)} for s in plan["steps"]]
    return {**plan, "steps": steps}


async def ask_planner(
    running: Running, request: Sequence[BaseMessage], command: str, build: Build, tell: Any
) -> Plan | None:
    """A plan, or None if there is no usable one after the second reply.

    Raises:
        ManusError: the model cannot be asked.
    """
    asked = await fitted_question(running, ROLE, *request)
    choice = running.context.tool_choice
    if choice == "none":
        return None
    tools = running.catalog.schemas()
    for attempt in range(1, TRIES + 1):
        try:
            reply = await complete(running, ROLE, asked, tools=tools, tool_choice=choice, tell=tell)
        except BudgetError:
            return None  # the plan there is, or the default one, is what can be paid for
        message = _identified(with_malformed(reply.message), attempt)
        plan, answers, problem = read_reply(message, running, build, lenient=attempt == TRIES)
        if plan is not None:
            return plan
        again = ephemeral(prompts.ask_again(problem, command))
        asked = [*asked, message, *answers, again]
    return None


def _identified(message: AIMessage, attempt: int) -> AIMessage:
    """The reply with an id for each call; some servers leave them out."""
    for index, call in enumerate((*message.tool_calls, *message.invalid_tool_calls)):
        call["id"] = call["id"] or f"plan-{attempt}-{index}"
    return message


def read_reply(
    message: AIMessage, running: Running, build: Build, *, lenient: bool
) -> tuple[Plan | None, list[ToolMessage], str]:
    """The plan of a reply, the answers to its calls, and what is wrong if there is no plan."""
    plan: Plan | None = None
    problem = prompts.NO_CALL
    answers = []
    for call in message.tool_calls:
        said, made = _read_call(call["name"], call["args"], running, build, lenient)
        plan, problem = made or plan, said
        answers.append(_answer(call, said))
    for bad in message.invalid_tool_calls:
        problem = explain_malformed(bad)
        answers.append(_answer(bad, problem))
    return plan, answers, problem


def _answer(call: Any, said: str) -> ToolMessage:
    return ToolMessage(said, tool_call_id=str(call["id"]), name=call["name"] or "", status="error")


def _read_call(
    name: str, args: dict[str, Any], running: Running, build: Build, lenient: bool
) -> tuple[str, Plan | None]:
    if name.lower() != NAME:
        return running.catalog.unknown(name), None
    tool = running.catalog.find(NAME)
    try:
        read = PlanningArgs.model_validate(args)
        if read.command not in ("create", "update"):
            return prompts.OTHER_COMMAND, None
        return "Taken.", build(read, lenient)
    except ValidationError as error:
        return explain_arguments(tool, error) if tool is not None else str(error), None
    except PlanError as error:
        return str(error), None


def new_plan(args: PlanningArgs, lenient: bool, *, title: str, taken: Sequence[str]) -> Plan:
    """The plan that a call makes for a request; its id is one that no other plan has."""
    title = args.title or title
    wanted = args.model_copy(update={"title": title})
    plan_id = _free(args.plan_id or "plan", taken)
    try:
        return create(plan_id, title, wanted.wanted() or [])
    except DependencyError:
        if not lenient:
            raise
        return create(plan_id, title, sequential(wanted.wanted() or []))


def revised_plan(args: PlanningArgs, lenient: bool, *, plan: Plan) -> Plan:
    """The plan as a call revises it: what is completed is kept, whatever the call says."""
    wanted = args.wanted()
    if not wanted:
        raise PlanError("A revision needs `steps`: all steps of the revised plan.")
    try:
        return revise(plan, wanted, args.title)
    except DependencyError:
        if not lenient:
            raise
        return revise(plan, sequential(wanted), args.title)


def default_plan(title: str, taken: Sequence[str]) -> Plan:
    """The plan where the model makes none: analyse, execute, verify."""
    steps = [{"text": text} for text in prompts.DEFAULT_STEPS]
    return create(_free("plan", taken), title, steps)  # type: ignore[arg-type]


def _free(plan_id: str, taken: Sequence[str]) -> str:
    if plan_id not in taken:
        return plan_id
    number = 2
    while f"{plan_id}_{number}" in taken:
        number += 1
    return f"{plan_id}_{number}"
