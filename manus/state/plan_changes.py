"""Changes of a plan, as pure functions: the old plan is left as it is, a new one comes back.

What does not fit raises `PlanError` with a sentence that says what is wrong and what would be
right; it is read by a model as an observation, or by the person who edited the plan.
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
    """Places of the steps it depends on; if absent, the step before it."""
    status: NotRequired[Literal["not_started"] | None]
    """`not_started` retries a step that is blocked."""
    writes: NotRequired[list[str] | None]
    """Files that it makes or changes; None if that is not known."""


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
    """A new plan; every step not started."""
    return update(Plan(id=plan_id, title=title, steps=[]), steps=steps)


def update(plan: Plan, title: str | None = None, steps: Sequence[NewStep] | None = None) -> Plan:
    """Return the plan with another title or other steps.

    Each step whose text is unchanged keeps its status, notes, result and executor, wherever it
    moved to, and what it depended on as far as that is still there.
    """
    existing = plan["steps"]
    updated: Plan = {**plan, "title": title or plan["title"]}
    if steps is not None:
        updated["steps"] = _build_steps(steps, existing, match_steps(steps, existing))
    return validate_plan(updated)


def revise(plan: Plan, steps: Sequence[NewStep], title: str | None = None) -> Plan:
    """Return the plan with other steps, as `update` does; completed steps cannot be left out.

    Completed steps that the revision leaves out come first. Blocked ones are kept in `dropped`.
    """
    existing = plan["steps"]
    sources = match_steps(steps, existing)
    left_out = [place for place in range(len(existing)) if place not in sources]
    completed = [place for place in left_out if existing[place]["status"] == "completed"]
    blocked = [existing[place] for place in left_out if existing[place]["status"] == "blocked"]

    requested = [NewStep(text=existing[place]["text"], depends_on=[]) for place in completed]
    requested += [_shift_dependencies(step, len(completed)) for step in steps]
    revised: Plan = {**plan, "title": title or plan["title"]}
    revised["steps"] = _build_steps(requested, existing, [*completed, *sources])
    if blocked:
        revised["dropped"] = [*plan.get("dropped", []), *blocked]
    return validate_plan(revised)


def _shift_dependencies(step: NewStep, distance: int) -> NewStep:
    """Return the requested step with its dependencies moved as far as all steps are."""
    depends_on = step.get("depends_on")
    if depends_on is None:
        return step
    return {**step, "depends_on": [place + distance for place in depends_on]}


def match_steps(requested: Sequence[NewStep], existing: Sequence[Step]) -> list[int | None]:
    """Return for each requested step the place of the existing step with its text, or None.

    Where several have one text and fewer are requested, the last ones are meant, because the first
    ones have been done. Where more are requested, the last ones are new.
    """
    sources: list[int | None] = [None] * len(requested)
    for text in {step["text"] for step in requested}:
        targets = [place for place, step in enumerate(requested) if step["text"] == text]
        matches = [place for place, step in enumerate(existing) if step["text"] == text]
        for target, match in zip(targets, matches[-len(targets) :], strict=False):
            sources[target] = match
    return sources


def _build_steps(
    requested: Sequence[NewStep], existing: Sequence[Step], sources: Sequence[int | None]
) -> list[Step]:
    """Return the requested steps; one that existed before keeps what belongs to it."""
    steps: list[Step] = []
    for request, source in zip(requested, sources, strict=True):
        if source is None:
            step = _new_step(request["text"], _step_before(steps))
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


def _step_before(steps: Sequence[Step], kept: Collection[int] = ()) -> list[int]:
    """Return the place of the last step, as the dependency of the step that follows it.

    A blocked step is passed over, since the step that follows takes its place: behind it nothing
    could start. Not so the places in `kept`, on which the step that follows depended before.
    """
    for place in reversed(range(len(steps))):
        if steps[place]["status"] != "blocked" or place in kept:
            return [place]
    return []


def _carry_dependencies(
    source: int,
    existing: Sequence[Step],
    sources_before: Sequence[int | None],
    steps_before: Sequence[Step],
) -> list[int]:
    """Return what an existing step depends on now that it stands behind `steps_before`.

    It depends on the same steps as far as they still come before it, blocked or not. It depends on
    the step before it if it did so before, or in place of a dependency that is gone.
    """
    dependencies = existing[source]["depends_on"]
    kept = [sources_before.index(place) for place in dependencies if place in sources_before]
    step_before = _step_before(steps_before, kept)
    followed_step_before = dependencies == ([source - 1] if source else [])
    if followed_step_before:
        return step_before
    if len(kept) < len(dependencies):
        return sorted({*kept, *step_before})
    return sorted(kept)


def mark(
    plan: Plan, index: int, status: StepStatus | None = None, notes: str | None = None
) -> Plan:
    """The plan with another status or other notes of one step."""
    change: dict[str, Any] = {"step": index, "status": status, "notes": notes}
    return change_step(plan, {k: v for k, v in change.items() if v is not None})


def change_step(plan: Plan, change: Mapping[str, Any]) -> Plan:
    """The plan with one step changed."""
    index = change["step"]
    steps = [*plan.get("steps", [])]
    if not isinstance(index, int) or not 0 <= index < len(steps):
        raise PlanError(f"There is no step {index}: {_describe_range(len(steps))}.")
    text = steps[index]["text"]
    steps[index] = cast(Step, {**steps[index], **change})
    if change.get("text", text) != text:  # what was asked belongs to another step
        steps[index]["waiting"] = None
    return validate_plan({**plan, "steps": steps})


def start_first(plan: Plan) -> Plan:
    """The plan with its first unfinished step in progress; the same plan if it has one already."""
    steps = plan["steps"]
    if any(step["status"] == "in_progress" for step in steps):
        return plan
    first = next((i for i, step in enumerate(steps) if step["status"] == "not_started"), None)
    return plan if first is None else mark(plan, first, "in_progress")


def validate_plan(plan: Plan) -> Plan:
    """The plan, with nothing but what belongs to one.

    Raises:
        PlanError: what it holds is of another kind, it has no steps, or an empty one, or steps
            that depend on what is not there, or on each other.
    """
    try:
        plan = _plan_type().validate_python(plan, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PlanError(f"The plan does not fit: `{place}`: {first['msg']}.") from None
    count = len(plan["steps"])
    if not count:
        raise PlanError("A plan needs at least one step: give `steps`, a list of texts.")
    for index, step in enumerate(plan["steps"]):
        if not step["text"].strip():
            raise PlanError(f"Step {index} is empty; say what is to be done in it.")
        for before in step["depends_on"]:
            if not 0 <= before < count:
                raise PlanError(
                    f"Step {index} depends on step {before}, which is not there: "
                    f"{_describe_range(count)}."
                )
    if cycle := find_cycle([step["depends_on"] for step in plan["steps"]]):
        chain = " → ".join(map(str, cycle))
        raise PlanError(
            f"Steps wait for each other and none of them could begin: {chain}. Change "
            "`depends_on` so that each step depends only on steps that can be done before it; the "
            "first step is 0."
        )
    return plan


def _describe_range(count: int) -> str:
    return f"the plan has the steps 0 to {count - 1}" if count > 1 else "the plan has only step 0"


@cache
def _plan_type() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def fold_plan(plan: Plan, writes: Sequence[Any]) -> Plan:
    """Fold writes into the plan; the reducer of the `plan` channel.

    A write is a whole plan, as a person may send it back changed, a `StepChange`, or a list of
    these.
    """
    for write in writes:
        if isinstance(write, list):
            plan = fold_plan(plan, write)
        elif write:
            is_step = isinstance(write, Mapping) and "step" in write
            plan = change_step(plan, write) if is_step else merge_edit(plan, write)
    return plan


def merge_edit(plan: Plan, given: Any) -> Plan:
    """The plan that a person sends: its steps are whole, or just texts.

    A text is a step as `update` makes it. What a whole step says counts as it is said. Where steps
    have moved, one that depends on the places that it had before depends on the same steps.

    Raises:
        PlanError: it is not a plan.
    """
    steps = given.get("steps") if isinstance(given, Mapping) else None
    if not isinstance(steps, list) or not all(isinstance(s, str | Mapping) for s in steps):
        raise PlanError("A plan is an object with `steps`: a list of texts, or of steps.")
    base: Plan = {**Plan(id="plan", title="Plan", steps=[]), **plan}
    said = [{"text": step.strip()} if isinstance(step, str) else step for step in steps]
    texts = [NewStep(text=str(step.get("text", ""))) for step in said]
    old = base["steps"]
    sources = match_steps(texts, base["steps"])
    made = _build_steps(texts, old, sources)
    whole = [{**step, **new} for step, new in zip(made, said, strict=True)]
    for step, source in zip(whole, sources, strict=True):
        if source is None and step.get("waiting"):  # what was asked belongs to another step
            step["waiting"] = None
    if any(source not in (None, place) for place, source in enumerate(sources)):
        for step, carried, source in zip(whole, made, sources, strict=True):
            if source is not None and step["depends_on"] == old[source]["depends_on"]:
                step["depends_on"] = carried["depends_on"]
    return validate_plan(cast(Plan, {**base, **given, "steps": whole}))


def fold_plans(plans: dict[str, Plan], writes: Sequence[Any]) -> dict[str, Plan]:
    """Fold writes into plans by their id; the reducer of the `plans` channel. None deletes one."""
    merged = dict(plans)
    for write in writes:
        for plan_id, plan in (write or {}).items():
            if plan is None:
                merged.pop(plan_id, None)
            else:
                merged[plan_id] = merge_edit(cast(Plan, {}), {**plan, "id": plan_id})
    return merged
