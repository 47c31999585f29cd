"""Pure functions that change a plan: they return a new plan and leave the old one unchanged.

An invalid change raises `PlanError` with a sentence that states what is wrong and what is valid;
the model reads it as an observation, or the user who edited the plan does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict, cast

from pydantic import TypeAdapter, ValidationError

from manus.state.errors import PlanError
from manus.state.plan import Plan, Step, StepResult, StepStatus, Waiting, find_cycle


class NewStep(TypedDict):
    """A step as a model or a person requests it."""

    text: str
    depends_on: NotRequired[list[int] | None]
    """Indexes of the steps that it depends on; if absent, the step before it."""
    status: NotRequired[Literal["not_started"] | None]
    """`not_started` retries a blocked step."""
    writes: NotRequired[list[str] | None]
    """Files that it creates or changes; None if that is not known."""


class StepChange(TypedDict):
    """A change of one step, as a write to the plan's channel."""

    step: int
    text: NotRequired[str]
    executor: NotRequired[str]
    status: NotRequired[StepStatus]
    notes: NotRequired[str]
    depends_on: NotRequired[list[int]]
    writes: NotRequired[list[str]]
    result: NotRequired[StepResult | None]
    began: NotRequired[int]
    space: NotRequired[str]
    waiting: NotRequired[Waiting | None]


def create(plan_id: str, title: str, steps: Sequence[NewStep]) -> Plan:
    """Return a new plan in which no step has started."""
    return update(Plan(id=plan_id, title=title, steps=[]), steps=steps)


def update(plan: Plan, title: str | None = None, steps: Sequence[NewStep] | None = None) -> Plan:
    """Return the plan with another title or other steps.

    A step whose text is unchanged keeps its status, notes, result and executor, even at another
    index, and its dependencies as far as they are still in the plan.
    """
    existing = plan["steps"]
    updated: Plan = {**plan, "title": title or plan["title"]}
    if steps is not None:
        updated["steps"] = _build_steps(steps, existing, match_steps(steps, existing))
    return validate_plan(updated)


def revise(plan: Plan, steps: Sequence[NewStep], title: str | None = None) -> Plan:
    """Return the plan with other steps, as `update` does; completed steps cannot be removed.

    Completed steps that the revision omits come first. Blocked ones are moved to `dropped`.
    """
    existing = plan["steps"]
    sources = match_steps(steps, existing)
    completed: list[int] = []
    blocked: list[Step] = []
    for index, step in enumerate(existing):
        if index in sources:
            continue
        if step["status"] == "completed":
            completed.append(index)
        elif step["status"] == "blocked":
            blocked.append(step)
    requested = [NewStep(text=existing[index]["text"], depends_on=[]) for index in completed]
    requested += [_shift_dependencies(new_step, len(completed)) for new_step in steps]
    revised: Plan = {**plan, "title": title or plan["title"]}
    revised["steps"] = _build_steps(requested, existing, [*completed, *sources])
    if blocked:
        revised["dropped"] = [*plan.get("dropped", []), *blocked]
    return validate_plan(revised)


def replace_step(plan: Plan, index: int, new_steps: Sequence[NewStep]) -> list[NewStep]:
    """Return all steps of the plan as requested ones, with one step replaced by others.

    Unless they say otherwise, the first new step depends on what the replaced one depended on, and
    each further one on the one before it. What depended on the replaced step depends on the last.
    If the new steps include another step of the plan, they are taken as the whole plan.

    Raises:
        PlanError: the step does not exist, or it is completed.
    """
    existing = plan["steps"]
    if not 0 <= index < len(existing):
        raise PlanError(f"Step {index} does not exist: {_describe_range(len(existing))}.")
    other_texts = {step["text"] for step in (*existing[:index], *existing[index + 1 :])}
    if any(step["text"] in other_texts for step in new_steps):
        return list(new_steps)
    if existing[index]["status"] == "completed":
        raise PlanError(f"Step {index} is completed, so it cannot be replaced; change others.")
    added = len(new_steps) - 1
    steps = []
    for step in existing:
        moved = [number + added * (number >= index) for number in step["depends_on"]]
        steps.append(NewStep(text=step["text"], depends_on=moved))
    replacement = list(new_steps)
    if replacement[0].get("depends_on") is None:
        replacement[0] = {**replacement[0], "depends_on": steps[index]["depends_on"]}
    return [*steps[:index], *replacement, *steps[index + 1 :]]


def _shift_dependencies(step: NewStep, distance: int) -> NewStep:
    """Return the requested step with its dependencies shifted, because all steps are."""
    depends_on = step.get("depends_on")
    if depends_on is None:
        return step
    return {**step, "depends_on": [index + distance for index in depends_on]}


def match_steps(requested: Sequence[NewStep], existing: Sequence[Step]) -> list[int | None]:
    """Return for each requested step the index of the existing step with its text, or None.

    If several existing steps have one text and fewer are requested, the last ones match, because
    the first ones have been completed. If more are requested, the last ones are new.
    """
    sources: list[int | None] = [None] * len(requested)
    existing_indexes = _indexes_by_text(existing)
    for text, indexes in _indexes_by_text(requested).items():
        matches = existing_indexes.get(text, [])[-len(indexes) :]
        for index, match in zip(indexes, matches, strict=False):
            sources[index] = match
    return sources


def _indexes_by_text(steps: Sequence[NewStep | Step]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        indexes.setdefault(step["text"], []).append(index)
    return indexes


def _build_steps(
    requested: Sequence[NewStep], existing: Sequence[Step], sources: Sequence[int | None]
) -> list[Step]:
    """Return the requested steps; an existing step keeps its status, result and so on."""
    steps: list[Step] = []
    for request, source in zip(requested, sources, strict=True):
        if source is None:
            step = _new_step(request["text"], _previous_step(steps))
        else:
            step = existing[source].copy()
            step["depends_on"] = _carry_dependencies(source, existing, sources[: len(steps)], steps)
        depends_on = request.get("depends_on")
        if depends_on is not None:
            step["depends_on"] = sorted(set(depends_on))
        if request.get("status") == "not_started" and step["status"] == "blocked":
            step["status"] = "not_started"
        writes = request.get("writes")
        if writes is not None:
            step["writes"] = writes
        steps.append(step)
    return steps


def _new_step(text: str, depends_on: list[int]) -> Step:
    return Step(
        text=text,
        executor="",
        status="not_started",
        notes="",
        depends_on=depends_on,
        result=None,
    )


def _previous_step(steps: Sequence[Step], dependencies: Collection[int] = ()) -> list[int]:
    """Return the index of the last step, as the dependency of the step that follows it.

    A blocked step is skipped, since the step that follows replaces it: after it nothing could
    start. Indexes in `dependencies`, on which that step already depended, are not skipped.
    """
    for index in reversed(range(len(steps))):
        if steps[index]["status"] != "blocked" or index in dependencies:
            return [index]
    return []


def _carry_dependencies(
    source: int,
    existing: Sequence[Step],
    sources_before: Sequence[int | None],
    steps_before: Sequence[Step],
) -> list[int]:
    """Return the dependencies of an existing step that now follows `steps_before`.

    They are the same steps as far as these still come before it, blocked or not; and the previous
    step, if it depended on its previous step before or if a dependency was removed.
    """
    old_dependencies = existing[source]["depends_on"]
    dependencies = [
        sources_before.index(index) for index in old_dependencies if index in sources_before
    ]
    previous_step = _previous_step(steps_before, dependencies)
    old_previous_step = [source - 1] if source else []
    if old_dependencies == old_previous_step:
        return previous_step
    if len(dependencies) < len(old_dependencies):
        return sorted({*dependencies, *previous_step})
    return sorted(dependencies)


def mark(
    plan: Plan, index: int, status: StepStatus | None = None, notes: str | None = None
) -> Plan:
    """Return the plan with another status or other notes of one step."""
    change: dict[str, Any] = {"step": index}
    if status is not None:
        change["status"] = status
    if notes is not None:
        change["notes"] = notes
    return change_step(plan, change)


def change_step(plan: Plan, change: Mapping[str, Any]) -> Plan:
    """Return the plan with one step changed.

    Raises:
        PlanError: the step does not exist, or the changed plan is not valid.
    """
    index = change["step"]
    steps = [*plan.get("steps", [])]
    if not isinstance(index, int) or not 0 <= index < len(steps):
        raise PlanError(f"Step {index} does not exist: {_describe_range(len(steps))}.")
    text = steps[index]["text"]
    steps[index] = cast(Step, {**steps[index], **change})
    if change.get("text", text) != text:  # a pending question was about another step
        steps[index]["waiting"] = None
    return validate_plan({**plan, "steps": steps})


def start_first(plan: Plan) -> Plan:
    """Return the plan with its first unstarted step in progress, unless a step is in progress."""
    steps = plan["steps"]
    if any(step["status"] == "in_progress" for step in steps):
        return plan
    for index, step in enumerate(steps):
        if step["status"] == "not_started":
            return mark(plan, index, "in_progress")
    return plan


def validate_plan(plan: Plan) -> Plan:
    """Return the plan without unknown fields, if it is valid.

    Raises:
        PlanError: a field has a wrong type, there are no steps or an empty one, or a step depends
            on a missing step or, through others, on itself.
    """
    try:
        plan = _plan_type().validate_python(plan, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise PlanError(f"The plan is not valid: `{field}`: {problem['msg']}.") from None
    count = len(plan["steps"])
    if not count:
        raise PlanError("A plan needs at least one step: pass `steps`, a list of texts.")
    for index, step in enumerate(plan["steps"]):
        _check_step(index, step, count)
    cycle = find_cycle([step["depends_on"] for step in plan["steps"]])
    if cycle:
        chain = " → ".join(map(str, cycle))
        raise PlanError(
            f"Steps depend on each other, so none of them can start: {chain}. Change `depends_on` "
            "so that each step depends only on steps that can be executed before it; the first "
            "step is 0."
        )
    return plan


def _check_step(index: int, step: Step, count: int) -> None:
    if not step["text"].strip():
        raise PlanError(f"Step {index} is empty; describe what to do in it.")
    for dependency in step["depends_on"]:
        if not 0 <= dependency < count:
            raise PlanError(
                f"Step {index} depends on step {dependency}, which does not exist: "
                f"{_describe_range(count)}."
            )


def _describe_range(count: int) -> str:
    if count > 1:
        return f"the plan has steps 0 to {count - 1}"
    return "the plan has only step 0"


@cache
def _plan_type() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def fold_plan(plan: Plan, writes: Sequence[Any]) -> Plan:
    """Fold writes into the plan; the reducer of the `plan` channel.

    A write is a whole plan, as a user may send it back edited, a `StepChange`, or a list of these.
    """
    for write in writes:
        if isinstance(write, list):
            plan = fold_plan(plan, write)
        elif isinstance(write, Mapping) and "step" in write:
            plan = change_step(plan, write)
        elif write:
            plan = merge_edit(plan, write)
    return plan


def merge_edit(plan: Plan, edit: Any) -> Plan:
    """Return the plan as a user has edited it; its steps are mappings, or just texts.

    A text is a step as `update` builds it. The fields of a mapping are taken unchanged. If steps
    have moved, a step whose `depends_on` was not edited still depends on the same steps.

    Raises:
        PlanError: the edit is not a plan.
    """
    requested = _parse_steps(edit)
    base: Plan = {**Plan(id="plan", title="Plan", steps=[]), **plan}
    existing = base["steps"]
    new_steps = [NewStep(text=str(step.get("text", ""))) for step in requested]
    sources = match_steps(new_steps, existing)
    carried_steps = _build_steps(new_steps, existing, sources)
    has_moved = any(source not in (None, index) for index, source in enumerate(sources))
    steps: list[dict[str, Any]] = []
    for carried, request, source in zip(carried_steps, requested, sources, strict=True):
        step = {**carried, **request}
        if source is None:
            if step.get("waiting"):  # a pending question was about another step
                step["waiting"] = None
        elif has_moved and step["depends_on"] == existing[source]["depends_on"]:
            step["depends_on"] = carried["depends_on"]
        steps.append(step)
    return validate_plan(cast(Plan, {**base, **edit, "steps": steps}))


def _parse_steps(edit: Any) -> list[Mapping[str, Any]]:
    """Return the steps of an edited plan as mappings.

    Raises:
        PlanError: they are not a list of texts or mappings.
    """
    steps = edit.get("steps") if isinstance(edit, Mapping) else None
    if not isinstance(steps, list) or not all(isinstance(s, str | Mapping) for s in steps):
        raise PlanError("A plan is an object with `steps`: a list of texts, or of steps.")
    return [{"text": step.strip()} if isinstance(step, str) else step for step in steps]


def fold_plans(plans: dict[str, Plan], writes: Sequence[Any]) -> dict[str, Plan]:
    """Fold writes into plans by id; the reducer of the `plans` channel. None deletes a plan."""
    merged = dict(plans)
    for write in writes:
        for plan_id, plan in (write or {}).items():
            if plan is None:
                merged.pop(plan_id, None)
            else:
                merged[plan_id] = merge_edit(cast(Plan, {}), {**plan, "id": plan_id})
    return merged
