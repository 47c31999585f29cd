"""Changes of a plan, as pure functions: the old plan is left as it is, a new one comes back.

What does not fit raises `PlanError` with a sentence that says what is wrong and what would be
right; it is read by a model as an observation, or by the person who edited the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from manus.state.errors import DependencyError, PlanError
from manus.state.plan import MARKS, Plan, Step, StepResult, StepStatus, cycle_in, tags_of

MOST_STEPS = 100
"""A plan that wants more is a program, and better written as one."""
_TO_DO = ("not_started", "in_progress")


class NewStep(TypedDict):
    """A step as it is asked for. Without `depends_on` it depends on the one before it."""

    text: str
    executor: NotRequired[str]
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
    space: NotRequired[str]


def create(plan_id: str, title: str, steps: Sequence[NewStep]) -> Plan:
    """A new plan; every step not started."""
    made = _steps(steps, [])
    return checked(Plan(id=plan_id, title=title, steps=made))


def update(plan: Plan, title: str | None = None, steps: Sequence[NewStep] | None = None) -> Plan:
    """The plan with another title or other steps.

    Each step whose text is unchanged keeps its status, notes, result and executor, wherever it
    moved to, and what it depended on as far as that is still there.
    """
    changed = plan.copy()
    if title:
        changed["title"] = title
    if steps is not None:
        changed["steps"] = _steps(steps, plan["steps"])
    return checked(changed)


def revise(plan: Plan, steps: Sequence[NewStep], title: str | None = None) -> Plan:
    """As `update`, with every completed step kept and every blocked one that is left out noted."""
    wanted = Counter(step["text"].strip() for step in steps)
    kept = [NewStep(text=text, depends_on=[]) for text in _completed_beside(plan, wanted)]
    moved = [_moved(step, len(kept)) for step in steps]
    revised = update(plan, title, [*kept, *moved])
    left_out = [
        step for step in plan["steps"] if step["status"] == "blocked" and step["text"] not in wanted
    ]
    if left_out:
        revised["dropped"] = [*plan.get("dropped", []), *left_out]
    return revised


def _completed_beside(plan: Plan, wanted: Counter[str]) -> Iterator[str]:
    """Texts of the completed steps that are not among the wanted ones.

    Steps may have one text, such as `Run the tests`: a wanted one is then first the one that is
    still to be done.
    """
    steps = plan["steps"]
    meant = wanted - Counter(s["text"] for s in steps if s["status"] in _TO_DO)
    for step in steps:
        if step["status"] == "completed" and not meant[step["text"]]:
            yield step["text"]
        elif step["status"] == "completed":
            meant[step["text"]] -= 1


def _moved(step: NewStep, by: int) -> NewStep:
    depends_on = step.get("depends_on")
    if not by or depends_on is None:
        return step
    return {**step, "depends_on": [before + by for before in depends_on]}


def mark(
    plan: Plan, index: int, status: StepStatus | None = None, notes: str | None = None
) -> Plan:
    """The plan with another status or other notes of one step."""
    change = StepChange(step=index)
    if status is not None:
        change["status"] = status
    if notes is not None:
        change["notes"] = notes
    return changed_step(plan, change)


def changed_step(plan: Plan, change: StepChange) -> Plan:
    """The plan with one step changed."""
    index, count = change["step"], len(plan["steps"])
    if not 0 <= index < count:
        raise PlanError(f"There is no step {index}: {_range(count)}.")
    new = {**plan["steps"][index], **{k: v for k, v in change.items() if k != "step"}}
    if "executor" not in change and (tags := tags_of(change.get("text", ""))):
        new["executor"] = tags[0]  # another text that names who is to do it
    steps = [*plan["steps"]]
    steps[index] = cast(Step, new)
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
        PlanError: it has no steps or too many, an empty one, or an unknown status.
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
        if step["status"] not in MARKS:
            known = ", ".join(MARKS)
            raise PlanError(f"`{step['status']}` is not a status of a step; use one of: {known}.")
        for before in step["depends_on"]:
            if not 0 <= before < count:
                raise DependencyError(
                    f"Step {index} depends on step {before}, which is not there: {_range(count)}."
                )
    if cycle := cycle_in([step["depends_on"] for step in plan["steps"]]):
        chain = " → ".join(map(str, cycle))
        raise DependencyError(
            f"Steps wait for each other and none of them could begin: {chain}. Change "
            "`depends_on` so that each step depends only on steps that can be done before it."
        )
    return plan


def _range(count: int) -> str:
    return f"the plan has the steps 0 to {count - 1}" if count > 1 else "the plan has only step 0"


def _steps(wanted: Sequence[NewStep], old: Sequence[Step]) -> list[Step]:
    """Steps as asked for; of the old ones what belongs to an unchanged text is kept."""
    places: dict[str, list[int]] = {}
    for index, step in enumerate(old):
        places.setdefault(step["text"], []).append(index)
    texts = [new["text"].strip() for new in wanted]
    source = [queue.pop(0) if (queue := places.get(text)) else None for text in texts]
    target = {before: now for now, before in enumerate(source) if before is not None}
    made: list[Step] = []
    for index, (new, text, before) in enumerate(zip(wanted, texts, source, strict=True)):
        kept = None if before is None else old[before]
        step = _fresh(text) if kept is None else kept.copy()
        if executor := new.get("executor"):
            step["executor"] = executor
        default = _default(made, index)
        given = new.get("depends_on")
        if given is not None:
            step["depends_on"] = sorted(set(given))
        elif kept is None or before is None:
            step["depends_on"] = default
        else:
            step["depends_on"] = _carried(kept, (before, index), old, target, default)
        made.append(step)
    return made


def _fresh(text: str) -> Step:
    tags = tags_of(text)
    return Step(
        text=text,
        executor=tags[0] if tags else "",
        status="not_started",
        notes="",
        depends_on=[],
        result=None,
    )


def _default(earlier: Sequence[Step], index: int) -> list[int]:
    """The step before; a blocked one is passed over, since nothing could begin behind it."""
    before = (i for i in range(index - 1, -1, -1) if earlier[i]["status"] != "blocked")
    return [next(before)] if any(step["status"] != "blocked" for step in earlier) else []


def _carried(
    kept: Step,
    place: tuple[int, int],
    old: Sequence[Step],
    target: Mapping[int, int],
    default: list[int],
) -> list[int]:
    """What a kept step depends on now: the same steps, as far as they still come before it.

    It depends on the one before it if it did so before, or in place of what is gone. `place`: where
    it was, and where it is.
    """
    was, now = place
    if kept["depends_on"] in ([was - 1] if was else [], _default(old[:was], was)):
        return default
    still = [new for before in kept["depends_on"] if (new := target.get(before, now)) < now]
    return sorted({*still, *(default if len(still) < len(kept["depends_on"]) else [])})


def fold_plan(plan: Plan, writes: Sequence[Any]) -> Plan:
    """Fold writes into the plan; the reducer of the `plan` channel.

    A write is a whole plan, as a person may send it back changed (steps may be given in full or
    as texts; what is left out is taken from the step of the same text), a `StepChange`, or a list
    of these.
    """
    for write in writes:
        if isinstance(write, list):
            plan = fold_plan(plan, write)
        elif write:
            plan = changed_step(plan, write) if "step" in write else as_edited(plan, write)
    return plan


def as_edited(plan: Plan, given: Mapping[str, Any]) -> Plan:
    """The plan that a person sends, with what it leaves out filled in.

    Raises:
        PlanError: it is not a plan.
    """
    steps = given.get("steps")
    if not isinstance(steps, list) or not all(isinstance(s, str | dict) for s in steps):
        raise PlanError("A plan is an object with `steps`: a list of texts, or of steps.")
    if given.get("id") not in (None, plan.get("id")):
        plan = cast(Plan, {})  # another plan, which has nothing from this one
    old = plan.get("steps", [])
    asked = [NewStep(text=s) if isinstance(s, str) else _asked(s) for s in steps]
    made = _steps(asked, old)
    for step, given_step in zip(made, steps, strict=True):
        if isinstance(given_step, dict):
            said = {k: given_step[k] for k in _SETTABLE if given_step.get(k) is not None}
            if "result" in given_step:
                said["result"] = given_step["result"]
            step.update(cast(Any, said))
    edited: Plan = {
        **plan,
        "id": str(given.get("id") or plan.get("id") or "plan"),
        "title": str(given.get("title") or plan.get("title") or "Plan"),
        "steps": made,
    }
    if given.get("dropped"):
        edited["dropped"] = given["dropped"]
    return checked(edited)


_SETTABLE = ("executor", "status", "notes", "space")


def _asked(step: Mapping[str, Any]) -> NewStep:
    return NewStep(text=str(step.get("text", "")), depends_on=step.get("depends_on"))


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
