"""A run that has ended without success goes on where it stopped."""

from typing import Any

from langgraph.types import Command

from manus.graph.outcome import Outcome
from manus.graph.state_update import reopen
from tests.flow.helpers import ScriptedFlow, gives_up, is_planner, is_step, makes, succeeds
from tests.helpers.agent import thread_config
from tests.server import call, fail, text

T = thread_config("t")


async def go_on(flow: ScriptedFlow, **chosen: Any) -> Outcome:
    assert await reopen(flow.graph, T)
    return await flow.invoke(None, **chosen)


async def test_a_blocked_step_is_tried_again_and_what_was_done_is_kept(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "gamma"))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha is 42."))
    flow.step("beta", gives_up("No ladder."), succeeds("By the stairs."))
    flow.step("gamma", succeeds())
    flow.sums_up(text("Some."), text("All."))
    first = await flow.run(max_replans=0)
    assert (first.stop_reason, first.output.startswith("Some.")) == ("plan_incomplete", True)
    outcome = await go_on(flow, max_replans=0)
    assert (outcome.status, outcome.stop_reason, outcome.output) == (
        "finished",
        "completed",
        "All.",
    )
    assert flow.lines("a") == ["1"]
    assert len(flow.asked(is_planner)) == 1
    assert "No ladder." in flow.asked(is_step("beta"))[1].text, "it knows why it failed before"
    assert outcome.usage["model_calls"] == 1 + 2 + 2 + 1 + 2
    assert [str(m.text) for m in await flow.messages()] == ["Do it.", "All."]
    assert not await reopen(flow.graph, T)


async def test_a_plan_that_could_not_be_made_is_made(flow: ScriptedFlow) -> None:
    flow.plans(fail(401), makes("alpha"))
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    assert (await flow.run(approve_plan=True)).stop_reason == "error"
    assert (await go_on(flow, approve_plan=True)).stop_reason == "interrupted"
    outcome = await flow.invoke(Command(resume="yes"), approve_plan=True)
    assert outcome.stop_reason == "completed"
