"""Tool calls that the budget no longer allows."""

from __future__ import annotations

import pytest
from langchain_core.messages import ToolMessage

from manus.nodes.turn.allowance import is_over_budget, within
from manus.prompts.agent import OVER_BUDGET
from manus.state.agent import ToolTask


def tasks(*names: str, refused: int | None = None) -> list[ToolTask]:
    made = [ToolTask(index=i, id=str(i), name=name, args={}) for i, name in enumerate(names)]
    if refused is not None:
        made[refused]["refusal"] = "No."
    return made


@pytest.mark.parametrize(
    ("left", "given", "refused"),
    [
        (None, tasks("a", "b"), []),
        (2, tasks("a", "b"), []),
        (1, tasks("a", "b", "c"), ["1", "2"]),
        (0, tasks("a", "Terminate"), ["0"]),
        (1, tasks("a", "b", refused=0), ["0"]),
    ],
)
def test_those_beyond_it_are_refused(
    left: int | None, given: list[ToolTask], refused: list[str]
) -> None:
    found = within(left, given, ("terminate",))
    assert [task["id"] for task in found if "refusal" in task] == refused
    assert [task["id"] for task in found] == [task["id"] for task in given]


def test_only_such_a_refusal_is_not_counted() -> None:
    assert is_over_budget(ToolMessage(OVER_BUDGET, tool_call_id="c", status="error"))
    assert not is_over_budget(ToolMessage(OVER_BUDGET, tool_call_id="c"))
    assert not is_over_budget(ToolMessage("It broke.", tool_call_id="c", status="error"))
