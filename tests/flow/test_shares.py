"""A budget shared by the steps of a plan: who gets what, what comes back, what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from manus.nodes.planning.shares import room_for
from manus.state.agent import Usage, no_usage
from manus.state.ledger import Ledger
from manus.state.plan import Plan
from tests.flow.helpers import (
    ScriptedFlow,
    free,
    is_step,
    is_summary,
    makes,
    succeeds,
)
from tests.flow.test_plan import plan_of
from tests.flow.test_resume import process, until
from tests.helpers.agent import thread_config
from tests.server import Call, call, calls, text, tokens
from tests.server.replies import Message

POLLS = [call("poll")] * 4


def last_call_of(words: str) -> Any:
    """Whether a request is the last that the budget of a step allows: it has no tools."""
    return lambda request: is_step(words)(request) and "tools" not in request.body


def thousand(made: Call) -> Message:
    """A reply with this call that used a thousand tokens."""
    return calls(made, usage=tokens(900, 100))


async def test_three_steps_and_tokens_for_two(flow: ScriptedFlow) -> None:
    """Each step needs five calls of a thousand tokens; the plan and the summary take one each."""
    flow.plans(thousand(makes(*map(free, ("alpha", "beta", "gamma")))))
    work = [*[thousand(call("poll"))] * 4, thousand(call("terminate", status="success"))]
    flow.step("alpha", *work)
    flow.step("beta", *work)
    last = text("Gamma is half done.", usage=tokens(900, 100))
    flow.server.when(last_call_of("gamma"), last)
    flow.step("gamma", *[thousand(call("poll"))] * 2)
    flow.sums_up(text("Two of three.", usage=tokens(900, 100)))
    outcome = await flow.run(budget={"tokens": 16_000}, max_replans=0)
    assert (outcome.status, outcome.stop_reason, outcome.success) == ("idle", "budget", False)
    assert await flow.statuses() == ["completed", "completed", "blocked"]
    notes = (await flow.plan())["steps"][2]["notes"]
    assert notes.startswith("its share of the budget is used up, tokens (3,000 of ")
    assert notes.endswith("): Gamma is half done.")
    assert outcome.output.startswith("Two of three.\n\nNot done:\n- 2. gamma (blocked: its share")
    assert "Terminated: Budget used up: step 2: its share of the budget" in outcome.output
    assert outcome.usage["input_tokens"] + outcome.usage["output_tokens"] == 15_000
    assert [one["model_calls"] for one in outcome.usage["plan_steps"]] == [5, 5, 3]


async def test_steps_that_cannot_begin_are_named_with_the_budget(flow: ScriptedFlow) -> None:
    flow.plans(thousand(makes(free("alpha"), free("beta"), free("gamma", 0))))
    flow.sums_up(text("Nothing was done."))
    outcome = await flow.run(budget={"tokens": 1_100})
    assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
    assert await flow.statuses() == ["blocked", "blocked", "not_started"]
    assert "0. alpha (blocked: not begun, because the budget is used up: tokens (" in outcome.output
    assert "2. gamma (given up, because it needs step 0" in outcome.output


async def test_what_is_kept_pays_for_the_summary(flow: ScriptedFlow) -> None:
    flow.plans(thousand(makes("alpha")))
    last = text("Half of it.", usage=tokens(900, 100))
    flow.server.when(last_call_of("alpha"), last)
    flow.step("alpha", *[thousand(call("poll"))] * 2)
    flow.sums_up(text("Half of it was done.", usage=tokens(900, 100)))
    outcome = await flow.run(budget={"tokens": 6_000}, max_replans=0)
    assert outcome.stop_reason == "budget"
    assert outcome.output.startswith("Half of it was done.")
    assert len(flow.asked(is_summary)) == 1
    assert outcome.usage["input_tokens"] + outcome.usage["output_tokens"] == 5_000


async def test_what_one_step_leaves_over_another_can_have(flow: ScriptedFlow) -> None:
    """Of twelve calls each step is promised six; alpha ends after one, and beta takes ten."""
    flow.plans(makes(free("alpha"), free("beta")))
    flow.step("alpha", succeeds("Alpha is done."))
    flow.step("beta", call("hold", path="held", line="1"), *POLLS, *POLLS, succeeds())
    flow.sums_up(text("All."))
    stream = flow.graph.astream(
        {"request": "Do it."},
        thread_config("t"),
        context=flow.context(budget={"model_calls": 14}),
        stream_mode="custom",
    )
    async for event in stream:
        if event["type"] == "plan_step" and (event["step"], event["status"]) == (0, "completed"):
            (flow.workspace / "release").touch()
    assert await flow.statuses() == ["completed", "completed"]
    assert (await flow.outcome()).usage["model_calls"] == 13


async def test_a_step_is_warned_of_its_share(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"))
    flow.step("alpha", *POLLS, *POLLS, succeeds())
    flow.sums_up(text("All."))
    await flow.run(budget={"model_calls": 12})
    requests = flow.asked(is_step("alpha"))
    warned = ["Most of this run" in r.last["content"] for r in requests]
    assert warned == [False] * 8 + [True]
    assert "model calls (8 of 10)" in requests[-1].last["content"]


@pytest.mark.parametrize(
    ("limits", "spent", "room"),
    [
        ({}, {}, 3),
        ({"model_calls": 10.0}, {"model_calls": 8.0}, 2),
        ({"model_calls": 10.0}, {"model_calls": 10.0}, 1),
        ({"tokens": 10_000.0}, {"tokens": 1_000.0}, 1),
        ({"tokens": 11_000.0}, {"tokens": 1_000.0}, 2),
    ],
)
def test_no_more_steps_than_can_be_paid_for(
    limits: dict[str, float], spent: dict[str, float], room: int
) -> None:
    """Before a step has ended, five calls like the planner's are taken to be one."""
    usage: Usage = {**no_usage(), "input_tokens": 1_000, "model_calls": 1}
    assert room_for(Ledger(limits, spent), plan_of("a"), usage, 3) == room


def test_a_step_is_taken_to_need_what_the_others_did() -> None:
    plan: Plan = plan_of("a", "b", "c")
    plan["steps"][0]["result"] = {
        "text": "",
        "files": [],
        "tokens": 400,
        "usage": {"input_tokens": 400, "output_tokens": 0, "cached_tokens": 0, "model_calls": 2},
    }
    usage: Usage = {**no_usage(), "input_tokens": 10_000, "model_calls": 3}
    assert room_for(Ledger({"tokens": 11_000.0}, {"tokens": 10_000.0}), plan, usage, 3) == 2


async def test_a_budget_holds_over_a_crash(flow: ScriptedFlow) -> None:
    """What a killed process had spent counts in the one that goes on."""
    flow.plans(makes(free("alpha"), free("beta")))
    alpha = flow.step("alpha", *POLLS[:2], calls(call("hold", path="held", line="begun")))
    flow.step("beta", succeeds("Beta is done."))
    chosen: dict[str, Any] = {"budget": {"model_calls": 12}, "max_replans": 0}
    async with process(flow, "Do it.", **chosen) as worker:
        await until(flow, "held")
        worker.kill()
        await worker.wait()
    alpha.always(call("poll"))
    flow.sums_up(text("Not all."))
    outcome = await flow.invoke(None, **chosen)
    assert len(flow.asked(is_step("alpha"))) == 5, "its share of ten, those before included"
    assert outcome.usage["model_calls"] == 8
    assert await flow.statuses() == ["blocked", "completed"]
    assert outcome.stop_reason == "budget"
