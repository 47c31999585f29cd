"""What a planner may reply, and what becomes of it."""

from typing import Any

import pytest

from manus.prompts.flow import DEFAULT_STEPS
from tests.flow.helpers import ScriptedFlow, free, is_planner, makes, succeeds
from tests.server import call, text

LIST = call("planning", command="list")
CYCLE = makes(free("alpha", 1), free("beta", 0))


async def planned(flow: ScriptedFlow, *replies: Any) -> list[str]:
    """The texts of the plan that comes of these replies."""
    flow.plans(*replies)
    flow.step("").always(succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.run(request="Bake a cake.\nToday.")
    assert outcome.stop_reason == "completed"
    return [step["text"] for step in (await flow.plan())["steps"]]


UNUSABLE = {
    "text": (text("1. alpha 2. beta"), "did not call the tool"),
    "malformed": (call("planning", raw='{"command": "create", "steps": ["al'), "not valid JSON"),
    "list": (LIST, "makes no plan"),
    "no_steps": (makes(), "at least one step"),
    "other_tool": (call("bash", command="ls"), "no tool `bash`"),
    "cycle": (CYCLE, "0 → 1 → 0"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
async def test_it_is_asked_again_once_and_told_why(flow: ScriptedFlow, kind: str) -> None:
    reply, why = UNUSABLE[kind]
    assert await planned(flow, reply, makes("alpha", "beta")) == ["alpha", "beta"]
    first, second = flow.asked(is_planner)
    assert second.text.removeprefix(first.text).count(why) == 1
    assert second.tools == first.tools


async def test_then_there_is_a_plan_of_three_steps(flow: ScriptedFlow) -> None:
    replies = UNUSABLE["malformed"][0], UNUSABLE["no_steps"][0]
    assert await planned(flow, *replies) == list(DEFAULT_STEPS)
    assert (await flow.plan())["title"] == "Bake a cake."
    assert len(flow.asked(is_planner)) == 2


async def test_a_cycle_that_stays_is_put_in_order(flow: ScriptedFlow) -> None:
    (flow.workspace / "prices.csv").write_text("chair,45\n")
    assert await planned(flow, CYCLE, CYCLE) == ["alpha", "beta"]
    assert [s["depends_on"] for s in (await flow.plan())["steps"]] == [[], [0]]
    for asked in flow.asked(is_planner):  # it sees the workspace as it is
        assert "\n  prices.csv\n" in str(asked.messages[0]["content"])


async def test_without_tools_there_is_a_plan_too(flow: ScriptedFlow) -> None:
    flow.step("").always(text("Said."))
    flow.sums_up(text("All."))
    outcome = await flow.run(tool_choice="none")
    assert outcome.stop_reason == "completed"
    assert flow.asked(is_planner) == []
