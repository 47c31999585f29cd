"""The plan changed by a person: between steps, while one runs, and in a fork."""

from __future__ import annotations

import pytest
from langgraph.types import Command

from manus.state.errors import PlanError, UsageError
from tests.flow.helpers import (
    ScriptedFlow,
    gives_up,
    is_planner,
    is_step,
    makes,
    revises,
    succeeds,
)
from tests.helpers.agent import thread_config
from tests.server import call, text

T = thread_config("t")


async def paused(flow: ScriptedFlow) -> None:
    """A flow that stops before its second step."""
    await flow.graph.ainvoke(
        {"request": "Do it."}, T, context=flow.context(), interrupt_before=["execute_step"]
    )
    while (await flow.statuses())[0] != "completed":
        await flow.graph.ainvoke(None, T, context=flow.context(), interrupt_before=["execute_step"])


async def test_between_two_steps(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds("Alpha is 42."))
    flow.step("gamma", succeeds())
    flow.step("delta", succeeds())
    flow.sums_up(text("All."))
    await paused(flow)
    plan = await flow.plan()
    plan["steps"][1] = {**plan["steps"][1], "text": "gamma"}
    await flow.graph.aupdate_state(T, {"plan": {**plan, "steps": [*plan["steps"], "delta"]}})
    outcome = await flow.invoke(None)
    assert outcome.stop_reason == "completed"
    assert [s["text"] for s in (await flow.plan())["steps"]] == ["alpha", "gamma", "delta"]
    assert "Alpha is 42." in flow.asked(is_step("gamma"))[0].text
    assert len(flow.asked(is_step("alpha"))) == 1


async def test_one_step_alone(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    flow.step("beta, but better", succeeds())
    flow.sums_up(text("All."))
    await paused(flow)
    await flow.graph.aupdate_state(T, {"plan": {"step": 1, "text": "beta, but better"}})
    assert (await flow.invoke(None)).stop_reason == "completed"


async def test_another_text_goes_to_the_executor_that_it_names(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "gamma"))
    flow.step("", *[succeeds()] * 3)
    flow.sums_up(text("All."))
    await paused(flow)
    plan = await flow.plan()
    plan["steps"][1] = {**plan["steps"][1], "text": "[Second] beta"}
    await flow.graph.aupdate_state(T, {"plan": plan})
    await flow.graph.aupdate_state(T, {"plan": {"step": 2, "text": "[second] gamma"}})
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert [s["executor"] for s in (await flow.plan())["steps"]] == ["tester", "second", "second"]


async def test_a_step_marked_done_by_a_person_is_not_carried_out(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    await paused(flow)
    await flow.graph.aupdate_state(T, {"plan": {"step": 1, "status": "completed"}})
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert flow.asked(is_step("beta")) == []


async def test_an_edit_that_is_no_plan_is_refused(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    await paused(flow)
    with pytest.raises(PlanError, match="no step 9"):
        await flow.graph.aupdate_state(T, {"plan": {"step": 9, "status": "completed"}})
    with pytest.raises(PlanError, match="in_progress"):
        await flow.graph.aupdate_state(T, {"plan": {"steps": [{"text": "a", "status": "done"}]}})
    assert (await flow.invoke(None)).stop_reason == "completed"


async def test_while_the_run_is_at_work_nothing_can_be_changed(flow: ScriptedFlow) -> None:
    """An edit that is accepted is stored, always: the run could not see it, so it is refused."""
    flow.plans(makes("alpha"))
    flow.step("alpha", call("ask_human", inquire="Now?"), succeeds())
    flow.sums_up(text("All."))
    stream = flow.graph.astream({"request": "Do it."}, T, context=flow.context())
    async for _ in stream:
        with pytest.raises(UsageError, match="at work"):
            await flow.graph.aupdate_state(T, {"plan": {"step": 0, "notes": "n"}})
    await flow.graph.aupdate_state(T, {"plan": {"step": 0, "notes": "n"}})
    assert (await flow.invoke(Command(resume="yes"))).stop_reason == "completed"


async def test_a_fork_from_before_the_revision(flow: ScriptedFlow) -> None:
    """The same thread, from the checkpoint where the step had just failed, another way."""
    flow.plans(makes("alpha", "beta"), revises("alpha by force"), revises("alpha by wit"))
    flow.step("alpha by force", gives_up("It broke."))
    flow.step("alpha by wit", succeeds("Solved."))
    flow.step("alpha", gives_up("Locked."))
    flow.sums_up(text("Some."), text("All."))
    first = await flow.run(max_replans=1)
    assert first.stop_reason == "plan_incomplete"
    before = [
        snapshot
        async for snapshot in flow.graph.aget_state_history(T)
        if snapshot.next == ("plan",)
        and snapshot.values.get("run", {}).get("replans_left") == 1
        and snapshot.values["plan"]["steps"][0]["status"] == "blocked"
    ]
    await flow.graph.ainvoke(None, before[0].config, context=flow.context(max_replans=1))
    outcome = await flow.outcome()
    assert (outcome.stop_reason, outcome.output) == ("completed", "All.")
    assert [s["text"] for s in (await flow.plan())["steps"]] == ["alpha by wit"]
    assert len(flow.asked(is_planner)) == 3
