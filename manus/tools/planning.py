"""`planning`: plans in the state; a call receives them and returns those that it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from langchain_core.tools import InjectedToolArg
from pydantic import AliasChoices, BaseModel, Field, ValidationError, field_validator
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.state.agent import ToolTask
from manus.state.errors import PlanError
from manus.state.plan import Plan, StepStatus, count_statuses, format_plan
from manus.state.plan_changes import NewStep, create, mark, replace_step, update
from manus.state.text import flat

NAME = "planning"
_TRY_AGAIN = "pass it as an object with the `status` `not_started`."
_NO_PLANS = "There are no plans yet; create one with the command `create`."

Command = Literal["create", "update", "list", "get", "set_active", "mark_step", "delete"]


class PlanCollection(NamedTuple):
    """The plans by id, and the id of the active one, which is the default of calls."""

    plans: Mapping[str, Plan]
    active: str | None


class PlanUpdate(NamedTuple):
    """The observation of a call, and its changes: plans by id (None: deleted), the active plan."""

    text: str
    plans: Mapping[str, Plan | None]
    active: str | None


class StepArgs(BaseModel, str_strip_whitespace=True):
    """A step that has other fields besides its text."""

    text: str = Field(  # type: ignore[pydantic-alias]  # names that models use for it
        validation_alias=AliasChoices("text", "description", "task", "step", "title"),
        description="What is to be done",
    )
    depends_on: list[int] | None = Field(
        None,
        description="Numbers of the steps that must be completed before it, from 0; [] for none. "
        "Default: the step before it",
    )
    writes: list[str] | None = Field(
        None,
        description="Files that the step creates or changes; steps that write one file take turns",
    )
    status: Literal["not_started"] | None = Field(
        None, description="For update: `not_started` retries a blocked step"
    )

    @field_validator("writes", mode="before")
    @classmethod
    def _as_list(cls, writes: Any) -> Any:
        return [writes] if isinstance(writes, str) else writes

    @field_validator("status", mode="before")
    @classmethod
    def _ignore_other_statuses(cls, status: Any) -> Any:
        """Ignore a status that a model repeats from the plan."""
        return status if status == "not_started" else None


class PlanningArgs(Arguments):
    """Arguments of `planning`."""

    command: Command = Field(
        description="create, update, list, get, set_active, mark_step or delete a plan"
    )
    plan_id: str | None = Field(
        None, description="Id of the plan; for create a new one. Default: the active plan"
    )
    title: str | None = Field(None, description="Title of the plan, for create and update")
    steps: list[str | StepArgs] | None = Field(
        None,
        description="All steps in order, for create and update: texts, or objects for steps that "
        "do not depend on just the previous one",
    )
    step_index: int | None = Field(
        None,
        description="Number of the step, from 0, for mark_step; for update, to replace only this "
        "one with `steps`",
    )
    step_status: StepStatus | None = Field(None, description="New status, for mark_step")
    step_notes: str | None = Field(None, description="New notes, for mark_step")
    plans: Annotated[dict[str, Any] | None, InjectedToolArg] = None
    active: Annotated[str | None, InjectedToolArg] = None

    @field_validator("steps", mode="before")
    @classmethod
    def _as_list(cls, steps: Any) -> Any:
        """Accept a list as lines of text too, as some models send it."""
        if not isinstance(steps, str):
            return steps
        return [line for line in steps.splitlines() if line.strip()]

    def requested_steps(self) -> list[NewStep] | None:
        """Return the steps in the arguments; None if `steps` is missing."""
        if self.steps is None:
            return None
        steps = [StepArgs(text=step) if isinstance(step, str) else step for step in self.steps]
        return [cast(NewStep, step.model_dump()) for step in steps]

    def revised_steps(self, plan: Plan) -> list[NewStep] | None:
        """Return all steps of a changed plan; None if `steps` is missing.

        Raises:
            PlanError: the single step to replace does not exist or is completed.
        """
        steps = self.requested_steps()
        if not steps or self.step_index is None:
            return steps
        return replace_step(plan, self.step_index, steps)


class Planning(AgentTool):
    """The planning tool."""

    name: str = NAME
    description: str = (
        "Make a plan for a task of several steps and keep it up to date: create it, mark steps "
        "as you start and finish them (mark_step), change steps when you learn more (update keeps "
        "the status and notes of steps whose text is unchanged)."
    )
    args_schema: type[BaseModel] = PlanningArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(
        self, plans: dict[str, Plan] | None = None, active: str | None = None, **arguments: Any
    ) -> Observation:
        change = carry_out(PlanningArgs(**arguments), PlanCollection(plans or {}, active))
        changes = bool(change.plans) or change.active != active
        update = {"plans": dict(change.plans), "active_plan": change.active} if changes else {}
        return Observation(change.text, update=update)


def carry_out(args: PlanningArgs, plans: PlanCollection) -> PlanUpdate:
    """Return the observation and the changes of a call. This is a pure function.

    Raises:
        PlanError: the call does not fit the existing plans.
    """
    match args.command:
        case "create":
            return _create_plan(args, plans)
        case "list":
            return PlanUpdate(_list_plans(plans) or _NO_PLANS, {}, plans.active)
    plan = _select_plan(args, plans)
    match args.command:
        case "get":
            return PlanUpdate(format_plan(plan), {}, plans.active)
        case "update":
            if not args.title and args.steps is None:
                raise PlanError("`update` needs a `title`, `steps`, or both.")
            updated = update(plan, args.title, args.revised_steps(plan))
            return _make_change(
                "Plan updated.", updated, plans.active, _blocked_note(args, updated)
            )
        case "mark_step":
            return _mark_step(args, plan, plans)
        case "set_active":
            message = f"`{plan['id']}` is the active plan.\n\n{format_plan(plan)}"
            return PlanUpdate(message, {}, plan["id"])
        case "delete":
            active = None if plans.active == plan["id"] else plans.active
            return PlanUpdate(f"Plan `{plan['id']}` deleted.", {plan["id"]: None}, active)


def _create_plan(args: PlanningArgs, plans: PlanCollection) -> PlanUpdate:
    title = args.title or args.plan_id
    if not title:
        raise PlanError("`create` needs a `title`.")
    plan_id = args.plan_id or title
    if plan_id in plans.plans:
        raise PlanError(
            f"Plan `{plan_id}` already exists; change it with `update`, or create one with "
            "another `plan_id`."
        )
    return _make_change(
        "Plan created.", create(plan_id, title, args.requested_steps() or []), plan_id
    )


def _list_plans(plans: PlanCollection) -> str:
    lines = []
    for plan_id, plan in plans.plans.items():
        mark = " (active)" if plan_id == plans.active else ""
        completed = count_statuses(plan)["completed"]
        total = len(plan["steps"])
        lines.append(
            f"- {plan_id}{mark}: {flat(plan['title'])} ({completed}/{total} steps completed)"
        )
    return "\n".join(lines)


def _mark_step(args: PlanningArgs, plan: Plan, plans: PlanCollection) -> PlanUpdate:
    if args.step_index is None:
        raise PlanError(f"`mark_step` needs a `step_index`, 0 to {len(plan['steps']) - 1}.")
    if args.step_status is None and args.step_notes is None:
        raise PlanError("`mark_step` needs a `step_status`, `step_notes`, or both.")
    plan = mark(plan, args.step_index, args.step_status, args.step_notes)
    return _make_change(f"Step {args.step_index} changed.", plan, plans.active)


def _make_change(message: str, plan: Plan, active: str | None, note: str = "") -> PlanUpdate:
    parts = [message, format_plan(plan), *filter(None, [note])]
    return PlanUpdate("\n\n".join(parts), {plan["id"]: plan}, active)


def _blocked_note(args: PlanningArgs, updated: Plan) -> str:
    """Return a note on the blocked steps that an update repeats; empty if there are none."""
    if args.steps is None:
        return ""
    steps = enumerate(updated["steps"])
    blocked = [str(index) for index, step in steps if step["status"] == "blocked"]
    if not blocked:
        return ""
    if len(blocked) == 1:
        return f"Step {blocked[0]} stays blocked; to retry it, {_TRY_AGAIN}"
    return f"Steps {', '.join(blocked)} stay blocked; to retry one, {_TRY_AGAIN}"


def _select_plan(args: PlanningArgs, plans: PlanCollection) -> Plan:
    """Return the plan that a call names; by default the active one, if the command allows that."""
    needs_id = args.command in ("set_active", "delete")
    plan_id = args.plan_id
    if plan_id is None and not needs_id:
        plan_id = plans.active
    existing = f"The plans are: {', '.join(plans.plans)}." if plans.plans else _NO_PLANS
    if plan_id is None:
        raise PlanError(f"`{args.command}` needs a `plan_id`. {existing}")
    if plan_id not in plans.plans:
        raise PlanError(f"Plan `{plan_id}` does not exist. {existing}")
    return plans.plans[plan_id]


def inject_plans(tasks: Iterable[ToolTask], plans: PlanCollection) -> list[ToolTask]:
    """Inject the plans into the planning calls of one message, as the earlier calls leave them.

    Each call is thus a pure function of its input: two calls in one message both take effect, even
    if only the second one is repeated after a crash.
    """
    injected: list[ToolTask] = []
    for task in tasks:
        if task["name"].lower() == NAME and "refusal" not in task:
            task = {**task, "injected": {"plans": dict(plans.plans), "active": plans.active}}
            plans = _apply(task["args"], plans)
        injected.append(task)
    return injected


def _apply(arguments: Mapping[str, Any], collection: PlanCollection) -> PlanCollection:
    try:
        change = carry_out(PlanningArgs.model_validate(dict(arguments)), collection)
    except (PlanError, ValidationError):
        return collection  # the call itself reports it
    plans = {**collection.plans, **change.plans}
    return PlanCollection({k: v for k, v in plans.items() if v is not None}, change.active)
