"""`planning`: plans that live in the state; a call is given them and gives them back changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from langchain_core.tools import InjectedToolArg
from pydantic import AliasChoices, BaseModel, Field, ValidationError, field_validator
from typing_extensions import override

from manus.execution.base import AgentTool, Arguments
from manus.execution.result import Observation
from manus.state.agent import ToolTask
from manus.state.errors import PlanError
from manus.state.plan import Plan, StepStatus, as_text, count_of
from manus.state.plan_changes import NewStep, create, mark, update
from manus.state.text import flat

NAME = "planning"
_NO_PLANS = "There are no plans yet; make one with the command `create`."

Command = Literal["create", "update", "list", "get", "set_active", "mark_step", "delete"]


class Shelf(NamedTuple):
    """The plans there are, by id, and the id of the one that is meant when none is named."""

    plans: Mapping[str, Plan]
    active: str | None


class Change(NamedTuple):
    """What a call says, and what it changes: plans by id (None: deleted) and the active one."""

    text: str
    plans: Mapping[str, Plan | None]
    active: str | None


class StepArgs(BaseModel, str_strip_whitespace=True):
    """A step with more than a text."""

    text: str = Field(  # type: ignore[pydantic-alias]  # names that models give it
        validation_alias=AliasChoices("text", "description", "task", "step", "title"),
        description="What is to be done",
    )
    depends_on: list[int] | None = Field(
        None,
        description="Numbers of the steps that must be completed before it, from 0; [] for none. "
        "Left out: the step before it",
    )
    writes: list[str] | None = Field(
        None,
        description="Files that the step makes or changes. Steps that write one file take turns, "
        "steps that only read it do not",
    )
    status: Literal["not_started"] | None = Field(
        None, description="For update: `not_started` tries a blocked step again"
    )

    @field_validator("writes", mode="before")
    @classmethod
    def _as_list(cls, writes: Any) -> Any:
        return [writes] if isinstance(writes, str) else writes

    @field_validator("status", mode="before")
    @classmethod
    def _ignore_other_statuses(cls, status: Any) -> Any:
        """Read a status that a model repeats from the plan as none."""
        return status if status == "not_started" else None


class PlanningArgs(Arguments):
    """Arguments of `planning`."""

    command: Command = Field(
        description="create, update, list, get, set_active, mark_step or delete a plan"
    )
    plan_id: str | None = Field(
        None, description="Id of the plan; for create a new one. Left out: the active plan"
    )
    title: str | None = Field(None, description="Title of the plan, for create and update")
    steps: list[str | StepArgs] | None = Field(
        None,
        description="All steps in order, for create and update: texts, or objects for steps that "
        "do not depend on just the one before them",
    )
    step_index: int | None = Field(None, description="Number of the step, from 0, for mark_step")
    step_status: StepStatus | None = Field(None, description="New status, for mark_step")
    step_notes: str | None = Field(None, description="New notes, for mark_step")
    plans: Annotated[dict[str, Any] | None, InjectedToolArg] = None
    active: Annotated[str | None, InjectedToolArg] = None

    @field_validator("steps", mode="before")
    @classmethod
    def _as_list(cls, steps: Any) -> Any:
        """Models send a list as lines, too."""
        if not isinstance(steps, str):
            return steps
        return [line for line in steps.splitlines() if line.strip()]

    def wanted(self) -> list[NewStep] | None:
        """The steps that the call asks for; None if it says nothing of steps."""
        if self.steps is None:
            return None
        steps = [StepArgs(text=step) if isinstance(step, str) else step for step in self.steps]
        return [cast(NewStep, step.model_dump()) for step in steps]


class Planning(AgentTool):
    """Makes and keeps plans."""

    name: str = NAME
    description: str = (
        "Make a plan for a task of several steps and keep it up to date: create it, mark steps "
        "as you begin and end them (mark_step), change steps when you learn more (update keeps "
        "the status and notes of steps whose text stays the same)."
    )
    args_schema: type[BaseModel] = PlanningArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(
        self, plans: dict[str, Plan] | None = None, active: str | None = None, **arguments: Any
    ) -> Observation:
        change = carry_out(PlanningArgs(**arguments), Shelf(plans or {}, active))
        changes = bool(change.plans) or change.active != active
        update = {"plans": dict(change.plans), "active_plan": change.active} if changes else {}
        return Observation(change.text, update=update)


def carry_out(args: PlanningArgs, shelf: Shelf) -> Change:
    """What a call says and changes; a pure function.

    Raises:
        PlanError: it does not fit the plans there are.
    """
    match args.command:
        case "create":
            return _create(args, shelf)
        case "list":
            return Change(_listed(shelf) or _NO_PLANS, {}, shelf.active)
    plan = _named(args, shelf)
    match args.command:
        case "get":
            return Change(as_text(plan), {}, shelf.active)
        case "update":
            if not args.title and args.steps is None:
                raise PlanError("`update` needs a `title`, `steps`, or both.")
            return _changed("Plan updated.", update(plan, args.title, args.wanted()), shelf.active)
        case "mark_step":
            return _mark_step(args, plan, shelf)
        case "set_active":
            said = f"`{plan['id']}` is the active plan.\n\n{as_text(plan)}"
            return Change(said, {}, plan["id"])
        case "delete":
            active = None if shelf.active == plan["id"] else shelf.active
            return Change(f"Plan `{plan['id']}` deleted.", {plan["id"]: None}, active)


def _create(args: PlanningArgs, shelf: Shelf) -> Change:
    title = args.title or args.plan_id
    if not title:
        raise PlanError("`create` needs a `title`.")
    plan_id = args.plan_id or title
    if plan_id in shelf.plans:
        raise PlanError(
            f"There is a plan `{plan_id}` already; change it with `update`, or create one with "
            "another `plan_id`."
        )
    return _changed("Plan created.", create(plan_id, title, args.wanted() or []), plan_id)


def _listed(shelf: Shelf) -> str:
    lines = []
    for plan_id, plan in shelf.plans.items():
        mark = " (active)" if plan_id == shelf.active else ""
        done = count_of(plan)["completed"]
        total = len(plan["steps"])
        lines.append(f"- {plan_id}{mark}: {flat(plan['title'])} ({done}/{total} steps completed)")
    return "\n".join(lines)


def _mark_step(args: PlanningArgs, plan: Plan, shelf: Shelf) -> Change:
    if args.step_index is None:
        raise PlanError(f"`mark_step` needs a `step_index`, 0 to {len(plan['steps']) - 1}.")
    if args.step_status is None and args.step_notes is None:
        raise PlanError("`mark_step` needs a `step_status`, `step_notes`, or both.")
    plan = mark(plan, args.step_index, args.step_status, args.step_notes)
    return _changed(f"Step {args.step_index} changed.", plan, shelf.active)


def _changed(said: str, plan: Plan, active: str | None) -> Change:
    return Change(f"{said}\n\n{as_text(plan)}", {plan["id"]: plan}, active)


def _named(args: PlanningArgs, shelf: Shelf) -> Plan:
    """The plan that a call names, or else the active one where that can be meant."""
    by_id = args.command in ("set_active", "delete")
    plan_id = args.plan_id or (None if by_id else shelf.active)
    known = f"The plans are: {', '.join(shelf.plans)}." if shelf.plans else _NO_PLANS
    if plan_id is None:
        raise PlanError(f"`{args.command}` needs a `plan_id`. {known}")
    if plan_id not in shelf.plans:
        raise PlanError(f"There is no plan `{plan_id}`. {known}")
    return shelf.plans[plan_id]


def with_plans(tasks: Iterable[ToolTask], shelf: Shelf) -> list[ToolTask]:
    """The tasks of one message; a planning call is given the plans as the calls before leave them.

    So that each is a pure function of what it is given: two calls in one message both count, also
    when a crash lets only the second be carried out again.
    """
    given: list[ToolTask] = []
    for task in tasks:
        if task["name"].lower() == NAME and "refusal" not in task:
            task = {**task, "injected": {"plans": dict(shelf.plans), "active": shelf.active}}
            shelf = _after(task["args"], shelf)
        given.append(task)
    return given


def _after(arguments: Mapping[str, Any], shelf: Shelf) -> Shelf:
    try:
        change = carry_out(PlanningArgs.model_validate(dict(arguments)), shelf)
    except (PlanError, ValidationError):
        return shelf  # the call will say so itself
    plans = {**shelf.plans, **change.plans}
    return Shelf({k: v for k, v in plans.items() if v is not None}, change.active)
