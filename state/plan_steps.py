"""The steps of a plan as they are asked for: which are new, and what is kept of the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from manus.state.plan import Plan, Step, StepStatus, tags_of

_ID = re.compile(r"s([1-9][0-9]*)")
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
    ids = _Ids(plan)
    made: list[Step] = []
    for index, (new, before) in enumerate(zip(wanted, sources, strict=True)):
        text = new["text"].strip()
        step = fresh_step() if before is None else old[before].copy()
        if (tags := tags_of(text)) and text != step["text"]:
            step["executor"] = tags[0]
        step["text"] = text
        step["executor"] = new.get("executor") or step["executor"]
        step["id"] = ids.take(step.get("id") or new.get("id", ""))
        default = _default(made, index)
        given = new.get("depends_on")
        if given is not None:
            step["depends_on"] = sorted(set(given))
        elif before is None:
            step["depends_on"] = default
        else:
            step["depends_on"] = _carried(before, index, old, target, default)
        made.append(step)
    return made


class _Ids:
    """Ids for the steps of a plan; those that it had are not given to others."""

    def __init__(self, plan: Plan) -> None:
        known = [step.get("id", "") for step in [*plan["steps"], *plan.get("dropped", [])]]
        self._last = max((int(m[1]) for one in known if (m := _ID.fullmatch(one))), default=0)
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """The id that is wanted, if it can be had, else a new one."""
        match = _ID.fullmatch(wanted)
        if match is None or wanted in self._taken:
            wanted = f"s{self._last + 1}"
        self._last = max(self._last, int(wanted[1:]))
        self._taken.add(wanted)
        return wanted


def fresh_step() -> Step:
    """A step of which nothing is known yet."""
    return Step(text="", executor="", status="not_started", notes="", depends_on=[], result=None)


def _default(earlier: Sequence[Step], index: int) -> list[int]:
    """The step before; a blocked one is passed over, since nothing could begin behind it."""
    before = (i for i in range(index - 1, -1, -1) if earlier[i]["status"] != "blocked")
    return [next(before)] if any(step["status"] != "blocked" for step in earlier) else []


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
