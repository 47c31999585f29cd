"""The plan: its types, queries on it, its text, and its to-do items for chat UIs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, NotRequired

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
_LINE = 100
"""Maximum length of a step's text in the plan for the executor of another one."""
"""Characters of a step's text in a sentence about another step."""

TodoStatus = Literal["pending", "in_progress", "completed"]


class StepResult(TypedDict):
    """The result of a step."""

    text: str
    """The executor's last text, shortened to a few hundred words."""
    files: list[str]
    """The first few files created or changed, relative to the workspace."""
    tokens: int
    """Input and output tokens together."""
    usage: NotRequired[RoleUsage]
    """Usage of all executions of the step."""
    stop_reason: NotRequired[str]
    """Why its executor ended; empty if it was aborted."""
    outside: NotRequired[bool]
    """Whether its executor has read untrusted text (taint)."""
    private: NotRequired[bool]
    """Whether it has read something private."""
    approved: NotRequired[list[str]]
    """Rules of calls that the user has approved for the run until then."""
    conflicts: NotRequired[dict[str, list[str]]]
    """Files that other steps changed concurrently, each with the texts of these steps."""
    refused: NotRequired[list[Any]]
    """Refused calls, each a `manus.state.agent.Refusal`."""


class Waiting(TypedDict):
    """The question of a step whose executor has asked the user."""

    question: str
    ids: list[str]
    """Ids of the interrupts that ask."""
    asked_at: int
    """Nanoseconds since 1970."""
    is_put: bool
    """Whether the run waits for the answer; otherwise it continues with other steps."""
    checkpoint_id: str
    """The executor's newest checkpoint, from which it resumes."""
    usage: Usage
    """Usage of the executor so far, which the run's own usage does not contain yet."""
    files: dict[str, str]
    """Hashes of the files created or changed so far, by path."""


class Step(TypedDict):
    """A step of a plan."""

    text: str
    """The task as planned, with its executor tag if it has one."""
    executor: str
    """Name of the profile that executes it, if its text names none; empty for the first."""
    status: StepStatus
    notes: str
    depends_on: list[int]
    """Indexes of the steps that must be completed before it."""
    result: StepResult | None
    writes: NotRequired[list[str]]
    """Files that it will create or change; absent if the plan does not name them."""
    began: NotRequired[int]
    """Start of its last execution in nanoseconds since 1970, equal for steps started together."""
    space: NotRequired[str]
    """Checkpoint namespace with the conversation of its last execution."""
    waiting: NotRequired[Waiting | None]
    """The pending question of its executor, while the step is in progress."""


class Plan(TypedDict):
    """A title and ordered steps."""

    id: str
    title: str
    steps: list[Step]
    dropped: NotRequired[list[Step]]
    """Blocked steps that a revision has removed."""


def format_plan(plan: Plan) -> str:
    """Return the text of a plan for the model, the command line and notebooks."""
    title = flat(f"Plan: {plan['title']} (ID: {plan['id']})")
    counts = count_statuses(plan)
    completed = counts["completed"]
    total = len(plan["steps"])
    share = 100 * completed / max(total, 1)
    lines = [
        title,
        "=" * len(title),
        "",
        f"Progress: {completed}/{total} steps completed ({share:.1f}%)",
        f"Status: {completed} completed, {counts['in_progress']} in progress, "
        f"{counts['blocked']} blocked, {counts['not_started']} not started",
        "",
        "Steps:",
    ]
    for index, step in enumerate(plan["steps"]):
        lines.append(f"{index}. {MARKS[step['status']]} {flat(step['text'])}")
        if step["notes"]:
            lines.append(f"   Notes: {flat(step['notes'])}")
    return "\n".join(lines)


def list_steps(plan: Plan, own: int) -> str:
    """Return a plan in one short line per step, for the executor of the step `own`."""
    lines = []
    for index, step in enumerate(plan["steps"]):
        text = "(your step)" if index == own else one_line(step["text"], _LINE)
        lines.append(f"{index}. {MARKS[step['status']]} {text}")
        if index == own and step["notes"]:  # why an earlier attempt failed
            lines.append(f"   Notes: {flat(step['notes'])}")
    return "\n".join(lines)


def describe_order(index: int, step: Step) -> str:
    """Return which steps a step needs, and which files it writes, for who revises the plan."""
    needs = ", ".join(map(str, step["depends_on"]))
    writes = ", ".join(step.get("writes", []))
    return f"{index}. depends_on: [{needs}]" + f"; writes: {writes}" * bool(writes)


def short_title(step: Step) -> str:
    """Return the shortened text of a step, for a sentence about another step."""
    return one_line(step["text"], _TITLE)


def list_refusals(plan: Plan | None) -> list[Any]:
    """Return the distinct refusals of all steps of a plan."""
    refusals: list[Any] = []
    if not plan:
        return refusals
    for step in (*plan["steps"], *plan.get("dropped", ())):
        result = step["result"] or {}
        for refusal in result.get("refused", ()):
            if refusal not in refusals:
                refusals.append(refusal)
    return refusals


def count_statuses(plan: Plan) -> dict[StepStatus, int]:
    """Return the number of steps of each status."""
    counts: dict[StepStatus, int] = dict.fromkeys(MARKS, 0)
    for step in plan["steps"]:
        counts[step["status"]] += 1
    return counts


def is_completed(plan: Plan) -> bool:
    """Return whether every step of a plan is completed."""
    return count_statuses(plan)["completed"] == len(plan["steps"])


def ready_steps(plan: Plan) -> list[int]:
    """Return the indexes of the unfinished steps whose dependencies are completed.

    A step `in_progress` is included: since nothing is running, it was interrupted. A step that
    waits for the user is not.
    """
    return [index for index, step in enumerate(plan["steps"]) if _is_ready(step, plan["steps"])]


def _is_ready(step: Step, steps: Sequence[Step]) -> bool:
    if step["status"] not in TO_DO or step.get("waiting"):
        return False
    return all(steps[index]["status"] == "completed" for index in step["depends_on"])


def waiting_steps(plan: Plan) -> list[int]:
    """Return the indexes of the steps that wait for the user, in the order of their questions."""
    waiting: list[tuple[int, int]] = []
    for index, step in enumerate(plan["steps"]):
        question = step.get("waiting")
        if question:
            waiting.append((question["asked_at"], index))
    return [index for _, index in sorted(waiting)]


def last_started_steps(plan: Plan) -> list[int]:
    """Return the indexes of the steps that were started together most recently."""
    start_times = [step.get("began", 0) for step in plan["steps"]]
    last = max(start_times, default=0)
    if not last:
        return []
    return [index for index, start_time in enumerate(start_times) if start_time == last]


def active_steps(plan: Plan) -> list[int]:
    """Return the active ones of the last started steps, those with a question last.

    A step that waits for the user while the run does other things is not active.
    """
    active = [index for index in last_started_steps(plan) if _is_active(plan["steps"][index])]
    asking = [index for index in waiting_steps(plan) if index in active]
    return [index for index in active if index not in asking] + asking


def _is_active(step: Step) -> bool:
    waiting = step.get("waiting")
    is_set_aside = waiting is not None and not waiting["is_put"]
    return step["status"] == "in_progress" and not is_set_aside


def steps_to_revise(plan: Plan, revised: Collection[str]) -> list[int]:
    """Return the indexes of the blocked steps for which the plan has not been revised yet."""
    return [
        index
        for index, step in enumerate(plan["steps"])
        if step["status"] == "blocked" and step["text"] not in revised
    ]


def find_hindered_steps(plan: Plan) -> dict[int, int]:
    """Return the unfinished steps that can never start, each with its first blocked dependency."""
    steps = plan["steps"]
    hindered: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step["status"] not in TO_DO:
            continue
        for dependency in all_dependencies(plan, index):
            if steps[dependency]["status"] == "blocked":
                hindered[index] = dependency
                break
    return hindered


def can_continue_without(plan: Plan, index: int) -> bool:
    """Return whether another step can be executed, now or later, before this one has ended."""
    hindered = find_hindered_steps(plan)
    for candidate, step in enumerate(plan["steps"]):
        if step["status"] not in TO_DO or candidate == index or candidate in hindered:
            continue
        if index not in all_dependencies(plan, candidate):
            return True
    return False


def all_dependencies(plan: Plan, index: int) -> list[int]:
    """Return the indexes of all direct and indirect dependencies of a step, in order."""
    dependencies: set[int] = set()
    pending = [*plan["steps"][index]["depends_on"]]
    while pending:
        dependency = pending.pop()
        if dependency not in dependencies:
            dependencies.add(dependency)
            pending.extend(plan["steps"][dependency]["depends_on"])
    return sorted(dependencies)


def find_cycle(depends_on: Sequence[Sequence[int]]) -> list[int] | None:
    """Return steps that depend on each other, the first repeated at the end, or None."""
    try:
        TopologicalSorter(dict(enumerate(depends_on))).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def executor_for(step: Step, names: Sequence[str]) -> str:
    """Return the executor of a step: the one tagged in its text, its own, or the first.

    A tag that names no executor is ignored.
    """
    for tag in [*_TAG.findall(step["text"]), step["executor"]]:
        name = _find_executor(tag, names)
        if name is not None:
            return name
    return names[0]


def unknown_executor(text: str, names: Sequence[str]) -> str:
    """Return the tag at the start of a step's text if the step names no executor; else empty.

    With a single executor, tags have no meaning.
    """
    tags = _TAG.findall(text)
    is_named = len(names) == 1 or any(_find_executor(tag, names) for tag in tags)
    return "" if is_named or not _TAG.match(text.lstrip()) else str(tags[0])


def _find_executor(tag: str, names: Sequence[str]) -> str | None:
    """Return the executor that a tag names, ignoring case, or None.

    `-` and `_` are equivalent, unless two executors differ only in that.
    """
    for name in names:
        if name.lower() == tag.lower():
            return name
    similar = [name for name in names if _normalize_name(name) == _normalize_name(tag)]
    return similar[0] if len(similar) == 1 else None


def _normalize_name(name: str) -> str:
    return name.lower().replace("-", "_")


def format_result(index: int, step: Step, limit: int | None = None) -> str:
    """Format the result of a step for a reader who already sees the plan, which has its text.

    `limit` is the maximum length of the result in characters. Why a step is blocked is in the plan.
    """
    lines = [f"Step {index} {MARKS[step['status']]}"]
    if step["notes"] and step["status"] != "blocked":
        lines.append(f"Notes: {flat(step['notes'])}")
    result = step["result"]
    if result is not None:
        lines.append(f"Result: {shorten(result['text'], limit) or '(no text)'}")
        if result["files"]:
            lines.append(f"Files: {', '.join(result['files'])}")
        for path, step_texts in result.get("conflicts", {}).items():
            steps = " and ".join(f"“{text}”" for text in step_texts)
            lines.append(f"Check {path}: it was changed at the same time by {steps}.")
    return "\n".join(lines)


def get_usage(step: Step) -> RoleUsage:
    """Return the usage of a step so far."""
    result = step["result"]
    return NOTHING_USED if result is None else result.get("usage", NOTHING_USED)


class Todo(TypedDict):
    """A step of a plan, as a to-do item."""

    id: str
    """The index of the step in its plan."""
    content: str
    status: TodoStatus


def list_todos(plan: Plan) -> list[Todo]:
    """Return the steps of a plan as to-do items; a blocked step is `pending`."""
    statuses: dict[str, TodoStatus] = {"completed": "completed", "in_progress": "in_progress"}
    todos: list[Todo] = []
    for index, step in enumerate(plan.get("steps", [])):
        status = statuses.get(step["status"], "pending")
        todos.append(Todo(id=str(index), content=step["text"], status=status))
    return todos


def fold_todos(
    todos: list[Todo], writes: Sequence[list[Todo] | Mapping[int, TodoStatus]]
) -> list[Todo]:
    """Fold writes into todos; a write is a new list, or a mapping of indexes to new statuses."""
    for write in writes:
        todos = write if isinstance(write, list) else _with_statuses(todos, write)
    return todos


def _with_statuses(todos: list[Todo], statuses: Mapping[int, TodoStatus]) -> list[Todo]:
    changed: list[Todo] = []
    for index, todo in enumerate(todos):
        status = statuses.get(index, todo["status"])
        changed.append(Todo(id=str(index), content=todo["content"], status=status))
    return changed
