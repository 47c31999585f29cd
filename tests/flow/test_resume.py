"""A flow killed at any point, and gone on with: nothing that was done is done again."""

import asyncio

import pytest

from manus.state.errors import UsageError
from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.helpers.agent import thread_config
from tests.helpers.child import REQUEST, started
from tests.server import call, calls, hang, text


async def at_rest(flow: ScriptedFlow, requests: int) -> None:
    """Wait until so many requests have come and a sibling's result is stored, if there is one."""
    await flow.server.arrived(requests, 60)
    async with asyncio.timeout(60):
        while "completed" not in await pending(flow):
            await asyncio.sleep(0.02)


async def pending(flow: ScriptedFlow) -> str:
    """What steps have written that are not in the state yet, as text."""
    saved = await flow.saver.aget_tuple({"configurable": {"thread_id": "t"}})
    return str(saved.pending_writes if saved else "")


async def test_a_sibling_that_had_finished_keeps_its_result(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("join", 0, 1)))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha is 42."))
    beta = flow.step(
        "beta",
        call("append", path="b", line="first"),
        calls(call("hold", path="held", line="begun")),
    )
    with started(flow, REQUEST):
        await at_rest(flow, 5)  # the plan, two of alpha, two of beta
        while not flow.lines("held"):
            await asyncio.sleep(0.01)
    with pytest.raises(UsageError, match="have the run go on first"):
        await flow.graph.aupdate_state(thread_config("t"), {"plan": {"step": 2, "text": "other"}})
    beta.script(succeeds())
    flow.step("join", text("Joined."))
    flow.sums_up(text("All."))
    outcome = await flow.invoke(None)
    assert (outcome.status, outcome.stop_reason) == ("finished", "completed")
    assert (flow.lines("a"), flow.lines("b"), flow.lines("held")) == (["1"], ["first"], ["begun"])
    assert len(flow.asked(is_planner)) == 1
    assert len(flow.asked(is_step("alpha"))) == 2
    assert "not executed again" in flow.asked(is_step("beta"))[-1].text
    assert "Alpha is 42." in flow.asked(is_step("join"))[0].text


async def test_killed_while_planning_between_steps_and_at_the_summary(flow: ScriptedFlow) -> None:
    planner = flow.plans(hang())
    with started(flow, REQUEST):
        await flow.server.arrived(1, 60)
    planner.script(makes("alpha", "beta"))
    flow.step("alpha", call("append", path="a", line="1"), succeeds())
    beta = flow.step("beta", hang())
    with started(flow):
        await flow.server.arrived(5, 60)
    beta.script(succeeds())
    summary = flow.sums_up(hang())
    with started(flow):
        await flow.server.arrived(7, 60)
    summary.script(text("All."))
    outcome = await flow.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("completed", "All.")
    assert flow.lines("a") == ["1"]
    assert [len(flow.asked(is_step(name))) for name in ("alpha", "beta")] == [2, 2]
