"""Changes of a plan, as pure functions: the old plan is left as it is, a new one comes back.

What does not fit raises `PlanError` with a sentence that says what is wrong and what would be
right; it is read by a model as an observation, or by the person who edited the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NotRequired, TypedDict, cast

from pydantic import TypeAdapter, ValidationError

from manus.state.errors import PlanError
from manus.state.plan import Plan, Step, StepResult, StepStatus, cycle_in


class NewStep(TypedDict):
    """A step as it is asked for. Without `depends_on` it depends on the one before it."""

    text: str
    depends_on: NotRequired[list[int] | None]


class StepChange(TypedDict):
    """A change of one step, as a write to the plan's channel."""

    step: int
    text: NotRequired[str]
    executor: NotRequired[str]
    status: NotRequired[StepStatus]
    notes: NotRequired[str]
    depends_on: NotRequired[list[int]]
    result: NotRequired[StepResult | None]
    began: NotRequired[int]
    space: NotRequired[str]


def create(plan_id: str, title: str, steps: Sequence[NewStep]) -> Plan:
    """A new plan; every step not started."""
    return update(Plan(id=plan_id, title=title, steps=[]), steps=steps)


def update(plan: Plan, title: str | None = None, steps: Sequence[NewStep] | None = None) -> Plan:
    """The plan with another title or other steps.

    Each step whose text is unchanged keeps its status, notes, result and executor, wherever it
    moved to, and what it depended on as far as that is still there.
    """
    old = plan["steps"]
    new = old if steps is None else _steps(steps, old, sources_of(steps, old))
    return checked({**plan, "title": title or plan["title"], "steps": new})


def revise(plan: Plan, steps: Sequence[NewStep], title: str | None = None) -> Plan:
    """As `update`, with every completed step kept and every blocked one that is left out noted."""
    old = plan["steps"]
    sources = sources_of(steps, old)
    left_out = [i for i in range(len(old)) if i not in sources]
    kept = [i for i in left_out if old[i]["status"] == "completed"]
    wanted = [NewStep(text=old[i]["text"], depends_on=[]) for i in kept]
    for step in steps:
        depends_on = step.get("depends_on")
        moved = None if depends_on is None else [before + len(kept) for before in depends_on]
        wanted.append({**step, "depends_on": moved})
    revised: Plan = {**plan, "title": title or plan["title"]}
    revised["steps"] = _steps(wanted, old, [*kept, *sources])
    if blocked := [old[i] for i in left_out if old[i]["status"] == "blocked"]:
        revised["dropped"] = [*plan.get("dropped", []), *blocked]
    return checked(revised)


def sources_of(wanted: Sequence[NewStep], old: Sequence[Step]) -> list[int | None]:
    """For each step that is asked for, the place of the old one with its text, if any.

    Of several with one text, in their order, the last are meant where fewer are asked for: the
    first have been done. Where more are asked for, the last are new.
    """
    found: list[int | None] = [None] * len(wanted)
    for text in {new["text"] for new in wanted}:
        now = [i for i, new in enumerate(wanted) if new["text"] == text]
        before = [i for i, step in enumerate(old) if step["text"] == text]
        for place, source in zip(now, before[-len(now) :], strict=False):
            found[place] = source
    return found


def _steps(
    wanted: Sequence[NewStep], old: Sequence[Step], sources: Sequence[int | None]
) -> list[Step]:
    """Steps as asked for; each that was there before keeps what belongs to it."""
    made: list[Step] = []
    for new, source in zip(wanted, sources, strict=True):
        # a blocked step is passed over, since nothing could begin behind it
        before = [i for i, step in enumerate(made) if step["status"] != "blocked"][-1:]
        given = new.get("depends_on")
        if source is None:
            step = Step(
                text=new["text"],
                executor="",
                status="not_started",
                notes="",
                depends_on=before,
                result=None,
            )
        else:
            step = old[source].copy()
            step["depends_on"] = _carried(source, old, sources[: len(made)], before)
        if given is not None:
            step["depends_on"] = sorted(set(given))
        made.append(step)
    return made


def _carried(
    source: int, old: Sequence[Step], earlier: Sequence[int | None], before: list[int]
) -> list[int]:
    """What a kept step depends on now: the same steps, as far as they still come before it.

    It depends on the one before it if it did so before, or in place of what is gone.
    """
    depended = old[source]["depends_on"]
    if depended == ([source - 1] if source else []):
        return before
    still = [earlier.index(each) for each in depended if each in earlier]
    return sorted({*still, *(before if len(still) < len(depended) else [])})


def mark(
    plan: Plan, index: int, status: StepStatus | None = None, notes: str | None = None
) -> Plan:
    """The plan with another status or other notes of one step."""
    change: dict[str, Any] = {"step": index, "status": status, "notes": notes}
    return changed_step(plan, {k: v for k, v in change.items() if v is not None})


def changed_step(plan: Plan, change: Mapping[str, Any]) -> Plan:
    """The plan with one step changed."""
    index, steps = change["step"], [*plan.get("steps", [])]
    if not isinstance(index, int) or not 0 <= index < len(steps):
        raise PlanError(f"There is no step {index}: {_range(len(steps))}.")
    steps[index] = cast(Step, {**steps[index], **change})
    return checked({**plan, "steps": steps})


def start_first(plan: Plan) -> Plan:
    """The plan with its first unfinished step in progress; the same plan if it has one already."""
    steps = plan["steps"]
    if any(step["status"] == "in_progress" for step in steps):
        return plan
    first = next((i for i, step in enumerate(steps) if step["status"] == "not_started"), None)
    return plan if first is None else mark(plan, first, "in_progress")


def checked(plan: Plan) -> Plan:
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
                    f"Step {index} depends on step {before}, which is not there: {_range(count)}."
                )
    if cycle := cycle_in([step["depends_on"] for step in plan["steps"]]):
        chain = " → ".join(map(str, cycle))
        raise PlanError(
            f"Steps wait for each other and none of them could begin: {chain}. Change "
            "`depends_on` so that each step depends only on steps that can be done before it; the "
            "first step is 0."
        )
    return plan


def _range(count: int) -> str:
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
            plan = changed_step(plan, write) if is_step else as_edited(plan, write)
    return plan


def as_edited(plan: Plan, given: Any) -> Plan:
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
    old, sources = base["steps"], sources_of(texts, base["steps"])
    made = _steps(texts, old, sources)
    whole = [{**step, **new} for step, new in zip(made, said, strict=True)]
    if any(source not in (None, place) for place, source in enumerate(sources)):
        for step, carried, source in zip(whole, made, sources, strict=True):
            if source is not None and step["depends_on"] == old[source]["depends_on"]:
                step["depends_on"] = carried["depends_on"]
    return checked(cast(Plan, {**base, **given, "steps": whole}))


def fold_plans(plans: dict[str, Plan], writes: Sequence[Any]) -> dict[str, Plan]:
    """Fold writes into plans by their id; the reducer of the `plans` channel. None deletes one."""
    merged = dict(plans)
    for write in writes:
        for plan_id, plan in (write or {}).items():
            if plan is None:
                merged.pop(plan_id, None)
            else:
                merged[plan_id] = as_edited(cast(Plan, {}), {**plan, "id": plan_id})
    return merged
