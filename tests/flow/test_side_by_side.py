"""Calls side by side: a budget is overspent by one of them at most, and far from it none waits."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from manus.state.agent import Usage
from tests.flow.helpers import ScriptedFlow, free, is_step, makes, succeeds
from tests.flow.test_resume import process, until
from tests.server import Request, call, calls, hang, text, tokens
from tests.server.replies import Message

STEPS = ("alpha", "beta", "gamma")
PRICED = """
[prices.scripted]
input = 1.0
output = 10.0
"""


def ends(given: int, said: int) -> Message:
    """A reply that used so many tokens and ends the step."""
    return calls(call("terminate", status="success"), usage=tokens(given, said), delay=0.05)


def plans(flow: ScriptedFlow, *names: str) -> None:
    """A plan of steps that can go to work at once."""
    flow.plans(calls(makes(*map(free, names)), usage=tokens(900, 100)))


def used(usage: Usage) -> int:
    return usage["input_tokens"] + usage["output_tokens"]


def asked(flow: ScriptedFlow) -> int:
    """How often a model was asked for a step."""
    return sum(len(flow.asked(is_step(name))) for name in STEPS)


# what was expected: some 800 tokens given, and 100 said
@pytest.mark.parametrize("sizes", [(600, 20_000), (20_000, 600)])
async def test_tokens_are_overspent_by_one_call_at_most(
    flow: ScriptedFlow, sizes: tuple[int, int]
) -> None:
    plans(flow, *STEPS)
    for name in STEPS:
        flow.step(name, ends(*sizes))
    flow.server.allow_unused()
    outcome = await flow.run(budget={"tokens": 30_000}, max_replans=0)
    assert 30_000 < used(outcome.usage) <= 30_000 + sum(sizes)
    assert outcome.stop_reason == "budget"
    assert asked(flow) == 2


async def test_cost_is_overspent_by_one_call_at_most(flow: ScriptedFlow) -> None:
    (flow.workspace.parent / "manus.toml").write_text(PRICED)
    plans(flow, *STEPS)
    for name in STEPS:
        flow.step(name, ends(600, 20_000))
    flow.server.allow_unused()
    outcome = await flow.run(budget={"cost": 0.30}, max_replans=0)
    assert 0.30 < outcome.usage["cost"] <= 0.30 + 0.2006
    assert asked(flow) == 2


@pytest.mark.parametrize(
    ("budget", "longest"), [({"tokens": 500_000}, ""), ({"cost": 0.2}, "2000"), ({}, "")]
)
async def test_far_from_the_limit_none_waits(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch, budget: dict[str, Any], longest: str
) -> None:
    """No reply is given before all three requests are there."""
    (flow.workspace.parent / "manus.toml").write_text(PRICED)
    if longest:
        monkeypatch.setenv("MANUS_MAX_TOKENS", longest)
    plans(flow, *STEPS)
    meeting = threading.Barrier(3)

    def reply(_: Request) -> Message:
        meeting.wait(30)
        return succeeds()

    for name in STEPS:
        flow.step(name, reply)
    flow.sums_up(text("All."))
    outcome = await flow.run(budget=budget)
    assert outcome.stop_reason == "completed"


async def test_the_rule_holds_over_a_crash(flow: ScriptedFlow) -> None:
    """What both had spent before is known; then one more call is made, and no second one."""
    plans(flow, "alpha", "beta")
    polled = calls(call("poll"), usage=tokens(600, 2_000))
    alpha = flow.step("alpha", polled, hang())
    held = calls(call("hold", path="held", line="begun"), usage=tokens(600, 2_000))
    beta = flow.step("beta", held)
    chosen: dict[str, Any] = {"budget": {"tokens": 30_000}, "max_replans": 0}
    async with process(flow, "Do it.", **chosen) as worker:
        await until(flow, "held")
        await flow.server.arrived(4, 60)
        worker.kill()
        await worker.wait()
    for queue in (alpha, beta):
        queue.script(ends(600, 25_000))
    flow.server.allow_unused()
    outcome = await flow.invoke(None, **chosen)
    assert outcome.stop_reason == "budget"
    assert sorted(await flow.statuses()) == ["blocked", "completed"]
    assert asked(flow) == 4
    assert 30_000 < used(outcome.usage) <= 30_000 + 25_600


async def test_a_run_can_be_cancelled_while_a_call_waits(
    flow: ScriptedFlow, caplog: pytest.LogCaptureFixture
) -> None:
    """And gone on with: what was under way may be billed, what had waited was never sent."""
    caplog.set_level(logging.INFO, "manus")
    plans(flow, "alpha", "beta")
    either = flow.server.when(is_step("a"), hang())
    budget = {"tokens": 100_000}
    run = asyncio.create_task(flow.run(budget=budget))
    async with asyncio.timeout(60):
        while "a model call waits" not in caplog.text or len(flow.server.requests) < 2:
            await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    either.script(succeeds(), succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.invoke(None, budget=budget)
    assert outcome.stop_reason == "completed"
    assert asked(flow) == 3
    assert outcome.usage["model_calls"] == 5
    assert outcome.usage["estimated"]


async def test_time_runs_while_a_call_waits(flow: ScriptedFlow) -> None:
    """Both steps end in time: the one whose call is under way, and the one whose call waits."""
    plans(flow, "alpha", "beta")
    flow.server.when(is_step("a"), hang())
    flow.sums_up(text("None was done."))
    outcome = await flow.run(budget={"tokens": 30_000, "seconds": 6.0}, max_replans=0)
    assert outcome.stop_reason == "budget"
    assert await flow.statuses() == ["blocked", "blocked"]
    assert asked(flow) == 1
    assert outcome.usage["model_calls"] == 3, "the one that was broken off may be billed"
