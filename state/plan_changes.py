"""Changes of a plan, as pure functions: the old plan is left as it is, a new one comes back.

What does not fit raises `PlanError` with a sentence that says what is wrong and what would be
right; it is read by a model as an observation, or by the person who edited the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NotRequired, TypedDict, cast

from pydantic import TypeAdapter, ValidationError

from manus.state.errors import DependencyError, PlanError
from manus.state.plan import Plan, Step, StepResult, StepStatus, cycle_in, tags_of
from manus.state.plan_steps import NewStep, fresh_step, sources_of, steps_of

MOST_STEPS = 100
"""A plan that wants more is a program, and better written as one."""
_NO_PLAN = "A plan is an object with `steps`: a list of texts, or of steps."


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
    plan = Plan(id=plan_id, title=title, steps=[])
    return checked({**plan, "steps": steps_of(steps, plan)})


def update(plan: Plan, title: str | None = None, steps: Sequence[NewStep] | None = None) -> Plan:
    """The plan with another title or other steps.

    Each step whose text is unchanged keeps its status, notes, result and executor, wherever it
    moved to, and what it depended on as far as that is still there.
    """
    changed = plan.copy()
    if title:
        changed["title"] = title
    if steps is not None:
        changed["steps"] = steps_of(steps, plan)
    return checked(changed)


def revise(plan: Plan, steps: Sequence[NewStep], title: str | None = None) -> Plan:
    """As `update`, with every completed step kept and every blocked one that is left out noted."""
    old = plan["steps"]
    left_out = set(range(len(old))) - set(sources_of(steps, old))
    kept = [
        NewStep(text=old[i]["text"], id=old[i].get("id", ""), depends_on=[])
        for i in sorted(left_out)
        if old[i]["status"] == "completed"
    ]
    moved = [_moved(step, len(kept)) for step in steps]
    revised = update(plan, title, [*kept, *moved])
    if blocked := [old[i] for i in sorted(left_out) if old[i]["status"] == "blocked"]:
        revised["dropped"] = [*plan.get("dropped", []), *blocked]
    return revised


def _moved(step: NewStep, by: int) -> NewStep:
    depends_on = step.get("depends_on")
    if depends_on is None:
        return step
    return {**step, "depends_on": [before + by for before in depends_on]}


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
    new = {**steps[index], **{k: v for k, v in change.items() if k != "step"}}
    if "executor" not in change and (tags := tags_of(str(change.get("text", "")))):
        new["executor"] = tags[0]  # another text that names who is to do it
    steps[index] = _typed(new, index)
    return checked({**plan, "steps": steps})


def start_first(plan: Plan) -> Plan:
    """The plan with its first unfinished step in progress; the same plan if it has one already."""
    steps = plan["steps"]
    if any(step["status"] == "in_progress" for step in steps):
        return plan
    first = next((i for i, step in enumerate(steps) if step["status"] == "not_started"), None)
    return plan if first is None else mark(plan, first, "in_progress")


def sequential(steps: Iterable[NewStep]) -> list[NewStep]:
    """The steps, each depending on the one before it, whatever was said."""
    return [cast(NewStep, {k: v for k, v in s.items() if k != "depends_on"}) for s in steps]


def checked(plan: Plan) -> Plan:
    """The plan itself, if it is one.

    Raises:
        PlanError: it has no steps or too many, or an empty one.
        DependencyError: steps depend on what is not there, or on each other.
    """
    count = len(plan["steps"])
    if not count:
        raise PlanError("A plan needs at least one step: give `steps`, a list of texts.")
    if count > MOST_STEPS:
        raise PlanError(
            f"{count} steps are too many ({MOST_STEPS} is the limit); join what belongs together."
        )
    for index, step in enumerate(plan["steps"]):
        if not step["text"].strip():
            raise PlanError(f"Step {index} is empty; say what is to be done in it.")
        for before in step["depends_on"]:
            if before == index:
                raise DependencyError(
                    f"Step {index} depends on itself. Steps are numbered from 0: it is number "
                    f"{index + 1} in the list, and the first step is 0."
                )
            if not 0 <= before < count:
                raise DependencyError(
                    f"Step {index} depends on step {before}, which is not there: {_range(count)}."
                )
    if cycle := cycle_in([step["depends_on"] for step in plan["steps"]]):
        chain = " → ".join(map(str, cycle))
        raise DependencyError(
            f"Steps wait for each other and none of them could begin: {chain}. Change "
            "`depends_on` so that each step depends only on steps that can be done before it; the "
            "first step is 0."
        )
    return plan


def _range(count: int) -> str:
    return f"the plan has the steps 0 to {count - 1}" if count > 1 else "the plan has only step 0"


@cache
def _step_type() -> TypeAdapter[Step]:
    return TypeAdapter(Step)


def _typed(step: Mapping[str, Any], index: int) -> Step:
    """The step itself, if what it holds is of the right kinds; a person may have written it."""
    try:
        _step_type().validate_python(step, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PlanError(f"Step {index} does not fit: `{place}`: {first['msg']}.") from None
    return cast(Step, step)


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
    """The plan that a person sends, with what it leaves out filled in.

    Steps may be whole or just texts. A step is known by its id, else by its text. What was sent
    back as it had been read says nothing: a step whose text names another executor goes to that
    one, and what steps depend on moves with them.

    Raises:
        PlanError: it is not a plan.
    """
    steps = given.get("steps") if isinstance(given, Mapping) else None
    if not isinstance(steps, list) or not all(isinstance(s, str | Mapping) for s in steps):
        raise PlanError(_NO_PLAN)
    if given.get("id") not in (None, plan.get("id")):
        plan = cast(Plan, {})  # another plan, which has nothing from this one
    old = {step.get("id", ""): step for step in plan.get("steps", [])}
    said = [{"text": s} if isinstance(s, str) else _said(s, old, i) for i, s in enumerate(steps)]
    base: Plan = {**Plan(id="plan", title="Plan", steps=[]), **plan}
    made = steps_of(cast(Any, said), base)
    for index, (step, new) in enumerate(zip(made, said, strict=True)):
        kept = {k: v for k, v in new.items() if k not in ("id", "text", "executor", "depends_on")}
        made[index] = _typed({**step, **kept}, index)
    edited: Plan = {**base, "steps": made}
    edited["id"] = str(given.get("id") or base["id"])
    edited["title"] = str(given.get("title") or base["title"])
    if given.get("dropped"):
        edited["dropped"] = given["dropped"]
    return checked(edited)


def _said(given: Mapping[str, Any], old: Mapping[str, Step], index: int) -> dict[str, Any]:
    """What a step that was sent says, without what it repeats."""
    known = old.get(str(given.get("id")))
    fields = {**Step.__annotations__}
    said = {k: v for k, v in given.items() if k in fields and (v is not None or k == "result")}
    if known is not None:
        for name in ("executor", "depends_on"):
            if said.get(name) == known[name]:
                del said[name]
    text = said.setdefault("text", known["text"] if known is not None else "")
    _typed({**fresh_step(), **said, "text": text}, index)
    return said


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
