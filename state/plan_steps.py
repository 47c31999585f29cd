"""The steps of a plan as they are asked for: which are new, and what is kept of the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from manus.state.plan import Plan, Step, StepStatus, tags_of

_ID = re.compile(r"s[1-9][0-9]*")
_RANK: dict[StepStatus, int] = {"not_started": 0, "in_progress": 0, "completed": 1, "blocked": 2}
"""Of steps with one text, which are meant first when fewer are asked for."""


class NewStep(TypedDict):
    """A step as it is asked for. Without `depends_on` it depends on the one before it."""

    text: str
    id: NotRequired[str]
    executor: NotRequired[str]
    depends_on: NotRequired[list[int] | None]


def sources_of(wanted: Sequence[NewStep], old: Sequence[Step]) -> list[int | None]:
    """For each step that is asked for, the place of the old one that it is, if any.

    It is the one with its id, else one with its text. Of several with one text, those still to be
    done are meant before completed ones, and these before blocked ones.
    """
    by_id = {step["id"]: index for index, step in enumerate(old) if "id" in step}
    found = [by_id.pop(new.get("id", ""), None) for new in wanted]
    for text in {new["text"].strip() for new in wanted}:
        open_ = [i for i, n in enumerate(wanted) if found[i] is None and n["text"].strip() == text]
        same = [i for i, step in enumerate(old) if i not in found and step["text"] == text]
        same.sort(key=lambda i: _RANK[old[i]["status"]])
        for place, source in zip(open_, sorted(same[: len(open_)]), strict=False):
            found[place] = source
    return found


def steps_of(wanted: Sequence[NewStep], plan: Plan) -> list[Step]:
    """Steps as asked for; each that was there before keeps what belongs to it."""
    old = plan["steps"]
    sources = sources_of(wanted, old)
    target = {before: now for now, before in enumerate(sources) if before is not None}
    made: list[Step] = []
    for index, (new, before) in enumerate(zip(wanted, sources, strict=True)):
        text = new["text"].strip()
        step = fresh_step() if before is None else old[before].copy()
        if (tags := tags_of(text)) and text != step["text"]:
            step["executor"] = tags[0]
        step["text"] = text
        step["executor"] = new.get("executor") or step["executor"]
        step["id"] = step.get("id") or new.get("id", "")
        default = _default(made, index)
        given = new.get("depends_on")
        if given is not None:
            step["depends_on"] = sorted(set(given))
        elif before is None:
            step["depends_on"] = default
        else:
            step["depends_on"] = _carried(before, index, old, target, default)
        made.append(step)
    known = [step.get("id", "") for step in [*old, *plan.get("dropped", [])]]
    for step, one in zip(made, _ids([step.get("id", "") for step in made], known), strict=True):
        step["id"] = one
    return made


def _ids(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Ids as they are wanted; who wants none, or one that is taken, gets one that is new."""
    ids: list[str] = []
    for one in wanted:
        if _ID.fullmatch(one) is None or one in ids:
            numbers = [int(each[1:]) for each in (*known, *ids) if _ID.fullmatch(each)]
            ids.append(f"s{max(numbers, default=0) + 1}")
        else:
            ids.append(one)
    return ids


def fresh_step() -> Step:
    """A step of which nothing is known yet."""
    return Step(text="", executor="", status="not_started", notes="", depends_on=[], result=None)


def _default(earlier: Sequence[Step], index: int) -> list[int]:
    """The step before; a blocked one is passed over, since nothing could begin behind it."""
    return [i for i in range(index) if earlier[i]["status"] != "blocked"][-1:]


def _carried(
    was: int, now: int, old: Sequence[Step], target: Mapping[int, int], default: list[int]
) -> list[int]:
    """What a kept step depends on now: the same steps, as far as they still come before it.

    It depends on the one before it if it did so before, or in place of what is gone.
    """
    depended = old[was]["depends_on"]
    if depended in ([was - 1] if was else [], _default(old[:was], was)):
        return default
    still = [new for before in depended if (new := target.get(before, now)) < now]
    return sorted({*still, *(default if len(still) < len(depended) else [])})
