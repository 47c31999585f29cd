"""The plan: typed data, the questions one asks of it, and its text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, NotRequired

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.text import flat, one_line, shorten
from manus.state.usage import NOTHING_USED, RoleUsage, Usage

StepStatus = Literal["not_started", "in_progress", "completed", "blocked"]

MARKS: dict[StepStatus, str] = {
    "not_started": "[ ]",
    "in_progress": "[→]",
    "completed": "[✓]",
    "blocked": "[!]",
}
TO_DO: tuple[StepStatus, ...] = ("not_started", "in_progress")
_TAG = re.compile(r"\[([A-Za-z0-9_-]+)\]")
_TITLE = 60
"""Characters of a step's text in a sentence about another step."""
_REMINDER = 120
"""Characters of a step's text beside its result."""


class StepResult(TypedDict):
    """What came of a step."""

    text: str
    """The executor's last words, cut to a few hundred words."""
    files: list[str]
    """Files made or changed, relative to the workspace; the first few of them."""
    tokens: int
    """Input and output tokens together."""
    usage: NotRequired[RoleUsage]
    """What was used for it, each time that it was worked on."""
    stop_reason: NotRequired[str]
    """Why its executor ended; empty where it was broken off."""
    outside: NotRequired[bool]
    """Whether its executor has read text from outside."""
    approved: NotRequired[list[str]]
    """Rules about calls that a person has approved for the run until then."""
    conflicts: NotRequired[dict[str, list[str]]]
    """Files that other steps changed at the same time, each with the texts of these steps."""
    refused: NotRequired[list[Any]]
    """What was refused, as `manus.state.agent.Refusal` has it."""


class Waiting(TypedDict):
    """What a step waits for whose executor has asked a person."""

    question: str
    ids: list[str]
    """Of the interrupts that ask."""
    asked_at: int
    """Nanoseconds since 1970."""
    is_put: bool
    """Whether the run itself waits for the answer; else it first does what else can be done."""
    checkpoint_id: str
    """The executor's newest checkpoint, with which it resumes."""
    usage: Usage
    """What the executor has used until now; the run's own usage does not contain it yet."""
    files: dict[str, str]
    """Hashes of the files made or changed until now."""


class Step(TypedDict):
    """One step of a plan."""

    text: str
    """What is to be done, as it was planned: with its tag, if it has one."""
    executor: str
    """Name of the profile that carries it out, where its text names none; empty for the first."""
    status: StepStatus
    notes: str
    depends_on: list[int]
    """Places, from 0, of the steps that must be completed before it."""
    result: StepResult | None
    writes: NotRequired[list[str]]
    """Files that it makes or changes, as the plan says; absent if the plan does not."""
    began: NotRequired[int]
    """When its last execution began, in nanoseconds since 1970; one for steps taken together."""
    space: NotRequired[str]
    """Checkpoint namespace in which the conversation of its last execution is kept."""
    waiting: NotRequired[Waiting | None]
    """What it waits for while it is in progress and its executor has asked a person."""


class Plan(TypedDict):
    """A title and ordered steps."""

    id: str
    title: str
    steps: list[Step]
    dropped: NotRequired[list[Step]]
    """Steps that were tried, were blocked, and were left out by a revision."""


def format_plan(plan: Plan) -> str:
    """The plan as the model, the command line and the notebooks see it."""
    title = flat(f"Plan: {plan['title']} (ID: {plan['id']})")
    counts = count_statuses(plan)
    done = counts["completed"]
    total = len(plan["steps"])
    share = 100 * done / total if total else 0.0
    lines = [
        title,
        "=" * len(title),
        "",
        f"Progress: {done}/{total} steps completed ({share:.1f}%)",
        f"Status: {done} completed, {counts['in_progress']} in progress, "
        f"{counts['blocked']} blocked, {counts['not_started']} not started",
        "",
        "Steps:",
    ]
    for index, step in enumerate(plan["steps"]):
        lines.append(f"{index}. {MARKS[step['status']]} {flat(step['text'])}")
        if step["notes"]:
            lines.append(f"   Notes: {flat(step['notes'])}")
    return "\n".join(lines)


def short_title(step: Step) -> str:
    """Return the text of a step as it stands in a sentence about another one."""
    return one_line(step["text"], _TITLE)


def has_tainted_step(plan: Plan) -> bool:
    """Whether one of its steps has read text from outside."""
    steps = (*plan["steps"], *plan.get("dropped", ()))
    return any(step["result"] and step["result"].get("outside") for step in steps)


def refusals_of(plan: Plan | None) -> list[Any]:
    """Return what was refused while the steps of a plan were worked on, each once."""
    refusals: list[Any] = []
    if not plan:
        return refusals
    for step in (*plan["steps"], *plan.get("dropped", ())):
        result = step["result"] or {}
        refusals += [one for one in result.get("refused", ()) if one not in refusals]
    return refusals


def count_statuses(plan: Plan) -> dict[StepStatus, int]:
    """How many steps have each status."""
    counts: dict[StepStatus, int] = dict.fromkeys(MARKS, 0)
    for step in plan["steps"]:
        counts[step["status"]] += 1
    return counts


def is_completed(plan: Plan) -> bool:
    """Whether every step of a plan is completed."""
    return count_statuses(plan)["completed"] == len(plan["steps"])


def ready_steps(plan: Plan) -> list[int]:
    """Return the places of the steps that can start: not ended, and their dependencies completed.

    A step `in_progress` counts too: the caller has nothing running, so it was interrupted. One that
    waits for a person does not.
    """
    steps = plan["steps"]
    return [
        index
        for index, step in enumerate(steps)
        if step["status"] in TO_DO
        and not step.get("waiting")
        and all(steps[before]["status"] == "completed" for before in step["depends_on"])
    ]


def waiting_steps(plan: Plan) -> list[int]:
    """Return the places of the steps that wait for a person, in the order in which they asked."""
    asked = [(w["asked_at"], i) for i, s in enumerate(plan["steps"]) if (w := s.get("waiting"))]
    return [index for _, index in sorted(asked)]


def last_started_steps(plan: Plan) -> list[int]:
    """Places of the steps that were sent to their executors together the last time."""
    began = [step.get("began", 0) for step in plan["steps"]]
    return [index for index, when in enumerate(began) if when and when == max(began)]


def active_steps(plan: Plan) -> list[int]:
    """Return those of them that have not ended, those that put a question in the order of asking.

    One that waits for a person while the run does other things is not at work.
    """
    steps = plan["steps"]
    working = [i for i in last_started_steps(plan) if steps[i]["status"] == "in_progress"]
    working = [i for i in working if not _is_set_aside(steps[i])]
    asking = [i for i in waiting_steps(plan) if i in working]
    return [*(i for i in working if i not in asking), *asking]


def _is_set_aside(step: Step) -> bool:
    waiting = step.get("waiting")
    return waiting is not None and not waiting["is_put"]


def steps_to_revise(plan: Plan, revised: Collection[str]) -> list[int]:
    """Places of the blocked steps for which the plan has not been revised yet."""
    return [
        index
        for index, step in enumerate(plan["steps"])
        if step["status"] == "blocked" and step["text"] not in revised
    ]


def find_hindered_steps(plan: Plan) -> dict[int, int]:
    """Unfinished steps that can never begin, each with the first blocked step in their way."""
    found = {}
    for index, step in enumerate(plan["steps"]):
        before = all_dependencies(plan, index) if step["status"] in TO_DO else []
        blocked = [i for i in before if plan["steps"][i]["status"] == "blocked"]
        if blocked:
            found[index] = blocked[0]
    return found


def can_continue_without(plan: Plan, index: int) -> bool:
    """Return whether another step can be done, now or later, before this one has ended."""
    hindered = find_hindered_steps(plan)
    return any(
        step["status"] in TO_DO
        and other != index
        and other not in hindered
        and index not in all_dependencies(plan, other)
        for other, step in enumerate(plan["steps"])
    )


def all_dependencies(plan: Plan, index: int) -> list[int]:
    """Places of the steps that a step depends on, directly or by way of others, in order."""
    found: set[int] = set()
    waiting = [*plan["steps"][index]["depends_on"]]
    while waiting:
        before = waiting.pop()
        if before not in found:
            found.add(before)
            waiting.extend(plan["steps"][before]["depends_on"])
    return sorted(found)


def find_cycle(depends_on: Sequence[Sequence[int]]) -> list[int] | None:
    """Steps that wait for each other, the first one again at the end; None if there are none."""
    try:
        TopologicalSorter(dict(enumerate(depends_on))).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def executor_for(step: Step, names: Sequence[str]) -> str:
    """Return the executor of a step: that of a tag in its text, else its own, else the first.

    A tag that names no executor is ignored.
    """
    for tag in [*_TAG.findall(step["text"]), step["executor"]]:
        name = _find_executor(tag, names)
        if name is not None:
            return name
    return names[0]


def _find_executor(tag: str, names: Sequence[str]) -> str | None:
    """Return the executor that a tag names, in either letter case, or None.

    `-` also stands for `_` and the reverse, unless two executors differ in nothing else.
    """
    same = [name for name in names if name.lower() == tag.lower()]
    alike = [name for name in names if _normalize_name(name) == _normalize_name(tag)]
    if same:
        return same[0]
    return alike[0] if len(alike) == 1 else None


def _normalize_name(name: str) -> str:
    return name.lower().replace("-", "_")


def format_result(index: int, step: Step, limit: int | None = None) -> str:
    """A step and what came of it, for who has the plan before him; `limit` in characters.

    Why it is blocked stands in the plan.
    """
    lines = [f"Step {index} {MARKS[step['status']]} {one_line(step['text'], _REMINDER)}"]
    if step["notes"] and step["status"] != "blocked":
        lines.append(f"Notes: {flat(step['notes'])}")
    result = step["result"]
    if result is not None:
        lines.append(f"Result: {shorten(result['text'], limit) or '(nothing said)'}")
        if result["files"]:
            lines.append(f"Files: {', '.join(result['files'])}")
        for path, others in result.get("conflicts", {}).items():
            steps = " and ".join(f"“{other}”" for other in others)
            lines.append(f"Check {path}: it was changed at the same time by {steps}.")
    return "\n".join(lines)


def usage_of(step: Step) -> RoleUsage:
    """What a step has used so far."""
    result = step["result"]
    return NOTHING_USED if result is None else result.get("usage", NOTHING_USED)
