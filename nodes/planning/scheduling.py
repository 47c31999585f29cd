"""Which steps go to work together, and what the executor of each is given."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from manus.prompts import flow as prompts
from manus.state.flow import FlowState, StepTask
from manus.state.messages import is_image, last_request, text_of
from manus.state.plan import (
    Plan,
    Step,
    as_text,
    at_work,
    builds_on,
    executor_for,
    ready_steps,
    shown_result,
    used_by,
    was_outside,
)

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE = re.compile(r"(?:[\w.~-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_NO_FILES = frozenset({"e.g", "i.e", "a.m", "p.m"})
_INDIRECT = 1_000
"""Characters of the result of a step that another depends on only by way of a third."""
_INDIRECT_STEPS = 8
"""So many of these are told of, the nearest."""


def choose_steps(
    plan: Plan, most: int, executors: Sequence[str], exclusive: Collection[str] = ()
) -> dict[int, str]:
    """Places of the steps that go to work now, at most so many, each with its executor.

    Steps that name the same file take turns, and so do executors of whom one is at work at a time.
    """
    chosen: dict[int, str] = {}
    for index in ready_steps(plan):
        step = plan["steps"][index]
        executor = executor_for(step, executors)
        waits = executor in exclusive and executor in chosen.values()
        waits |= any(share_a_file(step, plan["steps"][other]) for other in chosen)
        if len(chosen) < most and not waits:
            chosen[index] = executor
    return chosen


def share_a_file(one: Step, other: Step) -> bool:
    """Whether the texts of two steps name the same file."""
    mine, theirs = _files_named(one["text"]), _files_named(other["text"])
    return any(f"/{a}".endswith(f"/{b}") or f"/{b}".endswith(f"/{a}") for a in mine for b in theirs)


def _files_named(text: str) -> list[str]:
    """The files that a step's text names; addresses of pages are not files."""
    found = _FILE.findall(_ADDRESS.sub(" ", text))
    return [file.removeprefix("./") for file in found if file.lower() not in _NO_FILES]


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
        asked=said,
        approved=[r for s in plan["steps"] if s["result"] for r in s["result"].get("approved", ())],
        outside=any(was_outside(p) for p in (plan, *state.get("plans", {}).values())),
        spent=used_by(step),
    )
