"""Select the steps that start together, and build the task of each for its executor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from manus.prompts import flow as prompts
from manus.state.flow import FlowState, QuestionMode, StepTask
from manus.state.messages import is_image, last_request
from manus.state.plan import (
    Plan,
    Step,
    active_steps,
    all_dependencies,
    can_continue_without,
    executor_for,
    format_result,
    get_usage,
    list_refusals,
    list_steps,
    ready_steps,
    short_title,
    waiting_steps,
)
from manus.state.request import all_own_words, full_request, list_steering
from manus.state.taint import Exposure, find_exposure, read_marks

_INDIRECT = 1_000
"""Characters of the result of an indirect dependency."""
_INDIRECT_STEPS = 8
"""Number of indirect dependencies whose results a task has, the nearest."""


def choose_steps(
    plan: Plan, max_steps: int, executors: Sequence[str], exclusive: Collection[str] = ()
) -> dict[int, str]:
    """Return the indexes of at most `max_steps` steps that start now, each with its executor.

    Steps whose `writes` overlap take turns, as do executors in `exclusive`. A step that waits for a
    person still counts as running.
    """
    steps = plan["steps"]
    selected: dict[int, str] = {}
    busy = {index: executor_for(steps[index], executors) for index in waiting_steps(plan)}
    for index in ready_steps(plan):
        if len(selected) == max_steps:
            break
        executor = executor_for(steps[index], executors)
        is_taken = executor in exclusive and executor in busy.values()
        if not is_taken and not any(write_same(steps[index], steps[other]) for other in busy):
            selected[index] = executor
            busy[index] = executor
    return selected


def write_same(first: Step, second: Step) -> bool:
    """Return whether the plan's `writes` of both steps name a file, or a folder around it."""
    for path in map(PurePosixPath, first.get("writes", ())):
        for other in map(PurePosixPath, second.get("writes", ())):
            if path.is_relative_to(other) or other.is_relative_to(path):
                return True
    return False


def _find_exposure(state: FlowState) -> Exposure:
    """Return which kinds of text the request and the results of steps come from."""
    exposure = find_exposure(state["messages"])
    for plan in (state["plan"], *state.get("plans", {}).values()):
        for step in (*plan["steps"], *plan.get("dropped", ())):
            exposure |= read_marks(step["result"] or {})
    return exposure


def question_mode(plan: Plan, index: int) -> QuestionMode:
    """Return when a question of this step interrupts the run."""
    if plan["steps"][index].get("waiting"):
        return "once" if len(active_steps(plan)) > 1 else "now"
    return "later" if can_continue_without(plan, index) else "now"


def build_task(state: FlowState, index: int) -> StepTask:
    """Return the task of a step: everything that its executor gets, and nothing else."""
    plan = state["plan"]
    step = plan["steps"][index]
    request = last_request(state["messages"])
    results = _dependency_results(plan, index)
    in_progress = [other for other in plan["steps"] if other["status"] == "in_progress"]
    exposure = _find_exposure(state)
    task = StepTask(
        step=index,
        executor=executor_for(step, state["run"]["executors"]),
        request=prompts.step(
            full_request(state["messages"]),
            list_steps(plan, index),
            results,
            index,
            step["text"],
        ),
        images=cast(Any, [block for block in request.content if is_image(block)]),
        began=step.get("began", 0),
        alone=len(active_steps(plan)) == 1,
        is_shared=len(in_progress) > 1,
        title=short_title(step),
        asked=all_own_words([request, *list_steering(state["messages"])]),
        refused=list_refusals(plan),
        approved=_list_approvals(plan),
        outside=exposure.untrusted,
        private=exposure.private,
        spent=get_usage(step),
        asks=question_mode(plan, index),
    )
    waiting = step.get("waiting")
    if waiting:
        task["waiting"] = waiting
        task["space"] = step["space"]
    return task


def _dependency_results(plan: Plan, index: int) -> list[str]:
    """Return the results of the steps that a step depends on; indirect ones are truncated."""
    direct = plan["steps"][index]["depends_on"]
    indirect = [other for other in all_dependencies(plan, index) if other not in direct]
    results = []
    for other in sorted([*direct, *indirect[-_INDIRECT_STEPS:]]):
        max_length = None if other in direct else _INDIRECT
        results.append(format_result(other, plan["steps"][other], max_length))
    return results


def _list_approvals(plan: Plan) -> list[str]:
    """Return the rules that a person has approved in the steps of a plan."""
    rules: list[str] = []
    for step in plan["steps"]:
        if step["result"]:
            rules.extend(step["result"].get("approved", ()))
    return rules
