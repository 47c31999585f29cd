"""What the executor of a step is given: all it may know, and nothing else."""

from __future__ import annotations

from typing import Any

from manus.prompts import flow as prompts
from manus.state.flow import FlowState, StepTask
from manus.state.messages import last_request, text_of
from manus.state.plan import as_text, at_work, builds_on, executor_for, shown_result
from manus.state.usage import used_by

_INDIRECT = 300
"""Characters of the result of a step that another depends on only by way of a third."""
_INDIRECT_STEPS = 8
"""So many of these are told of, the nearest."""


def tasks_of(state: FlowState) -> list[StepTask]:
    """One task for each step that is in progress."""
    return [_task(state, index) for index in at_work(state["plan"])]


def _task(state: FlowState, index: int) -> StepTask:
    plan = state["plan"]
    step = plan["steps"][index]
    request = last_request(state["messages"])
    direct = step["depends_on"]
    indirect = [i for i in builds_on(plan, index) if i not in direct][-_INDIRECT_STEPS:]
    results = [
        shown_result(i, plan["steps"][i], None if i in direct else _INDIRECT)
        for i in sorted([*direct, *indirect])
    ]
    said = text_of(request) if request is not None else ""
    return StepTask(
        step=index,
        executor=executor_for(step, state["run"]["executors"]),
        request=prompts.step(said, as_text(plan), results, index, step["text"]),
        images=[b for b in _blocks(request) if b.get("type") in ("image", "image_url")],
        began=step.get("began", 0),
        alone=len(at_work(plan)) == 1,
        spent=used_by(step),
    )


def _blocks(message: Any) -> list[dict[str, Any]]:
    content = message.content if message is not None else ""
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
