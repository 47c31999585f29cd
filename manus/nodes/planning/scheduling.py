"""Which steps go to work together, and what the executor of each is given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from manus.nodes.planning.file_use import take_turns
from manus.prompts import flow as prompts
from manus.state.flow import FlowState, QuestionMode, StepTask
from manus.state.messages import is_image, last_request, text_of
from manus.state.plan import (
    Plan,
    active_steps,
    all_dependencies,
    can_continue_without,
    executor_for,
    format_plan,
    format_result,
    has_tainted_step,
    ready_steps,
    refusals_of,
    short_title,
    usage_of,
    waiting_steps,
)
from manus.state.taint import is_tainted
from manus.state.user_words import own_words

_INDIRECT = 1_000
"""Characters of the result of a step that another depends on only by way of a third."""
_INDIRECT_STEPS = 8
"""So many of these are told of, the nearest."""


def choose_steps(
    plan: Plan, most: int, executors: Sequence[str], exclusive: Collection[str] = ()
) -> dict[int, str]:
    """Return the places of at most `most` steps that start now, each with its executor.

    Steps that write the same file take turns, as do a step that writes a file and one that reads
    it, and executors in `exclusive`. Steps that only read a file run in parallel. A step that waits
    for a person has had its turn, and has not ended it.
    """
    steps = plan["steps"]
    chosen: dict[int, str] = {}
    busy = {index: executor_for(steps[index], executors) for index in waiting_steps(plan)}
    for index in ready_steps(plan):
        if len(chosen) == most:
            break
        executor = executor_for(steps[index], executors)
        is_taken = executor in exclusive and executor in busy.values()
        if not is_taken and not any(take_turns(steps[index], steps[other]) for other in busy):
            chosen[index] = busy[index] = executor
    return chosen


def _is_tainted(state: FlowState) -> bool:
    """Return whether the request, or what a step has found, holds untrusted text."""
    plans = (state["plan"], *state.get("plans", {}).values())
    return is_tainted(state["messages"], None) or any(map(has_tainted_step, plans))


def question_mode(plan: Plan, index: int) -> QuestionMode:
    """Return what becomes of a question that a step at work asks."""
    if plan["steps"][index].get("waiting"):
        return "once" if len(active_steps(plan)) > 1 else "now"
    return "later" if can_continue_without(plan, index) else "now"


def task_of(state: FlowState, index: int) -> StepTask:
    """All that the executor of a step may know, and nothing else."""
    plan = state["plan"]
    step = plan["steps"][index]
    request = last_request(state["messages"])
    direct = step["depends_on"]
    indirect = [i for i in all_dependencies(plan, index) if i not in direct][-_INDIRECT_STEPS:]
    results = [
        format_result(i, plan["steps"][i], None if i in direct else _INDIRECT)
        for i in sorted([*direct, *indirect])
    ]
    said = text_of(request)
    task = StepTask(
        step=index,
        executor=executor_for(step, state["run"]["executors"]),
        request=prompts.step(said, format_plan(plan), results, index, step["text"]),
        images=cast(Any, [block for block in request.content if is_image(block)]),
        began=step.get("began", 0),
        alone=len(active_steps(plan)) == 1,
        is_shared=sum(other["status"] == "in_progress" for other in plan["steps"]) > 1,
        title=short_title(step),
        asked=own_words(request),
        refused=refusals_of(plan),
        approved=[r for s in plan["steps"] if s["result"] for r in s["result"].get("approved", ())],
        outside=_is_tainted(state),
        spent=usage_of(step),
        asks=question_mode(plan, index),
    )
    if waiting := step.get("waiting"):
        task["waiting"] = waiting
        task["space"] = step["space"]
    return task
