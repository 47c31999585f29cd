"""Which steps go to work together, and what the executor of each is given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from manus.nodes.planning.file_use import take_turns
from manus.prompts import flow as prompts
from manus.state.flow import FlowState, StepTask
from manus.state.messages import is_image, last_request, text_of
from manus.state.plan import (
    Plan,
    as_text,
    at_work,
    builds_on,
    executor_for,
    ready_steps,
    refusals_of,
    shown_result,
    used_by,
    was_outside,
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
    it, and executors in `exclusive`. Steps that only read a file run in parallel.
    """
    chosen: dict[int, str] = {}
    for index in ready_steps(plan):
        if len(chosen) == most:
            break
        step = plan["steps"][index]
        executor = executor_for(step, executors)
        is_taken = executor in exclusive and executor in chosen.values()
        if not is_taken and not any(take_turns(step, plan["steps"][other]) for other in chosen):
            chosen[index] = executor
    return chosen


def _is_tainted(state: FlowState) -> bool:
    """Return whether the request, or what a step has found, holds untrusted text."""
    plans = (state["plan"], *state.get("plans", {}).values())
    return is_tainted(state["messages"], None) or any(map(was_outside, plans))


def task_of(state: FlowState, index: int) -> StepTask:
    """All that the executor of a step may know, and nothing else."""
    plan = state["plan"]
    step = plan["steps"][index]
    request = last_request(state["messages"])
    direct = step["depends_on"]
    indirect = [i for i in builds_on(plan, index) if i not in direct][-_INDIRECT_STEPS:]
    results = [
        shown_result(i, plan["steps"][i], None if i in direct else _INDIRECT)
        for i in sorted([*direct, *indirect])
    ]
    said = text_of(request)
    return StepTask(
        step=index,
        executor=executor_for(step, state["run"]["executors"]),
        request=prompts.step(said, as_text(plan), results, index, step["text"]),
        images=cast(Any, [block for block in request.content if is_image(block)]),
        began=step.get("began", 0),
        alone=len(at_work(plan)) == 1,
        asked=own_words(request),
        refused=refusals_of(plan),
        approved=[r for s in plan["steps"] if s["result"] for r in s["result"].get("approved", ())],
        outside=_is_tainted(state),
        spent=used_by(step),
    )
