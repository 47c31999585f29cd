"""The usage of a run, counted for every model call: by role, with cost where prices are known."""

import asyncio
from pathlib import Path

import pytest
from langgraph.types import Command

from manus.state.usage import Budget, Usage, sum_usage
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import call, calls, fail, text, tokens

POLL = calls(call("poll"), usage=tokens(1_000, 10, cached=400))
CONSULT = calls(call("consult", path="said", line="Who?"), usage=tokens(2_000, 20))
ANSWER = text("Me.", usage=tokens(300, 3))
DONE = text("Done.", usage=tokens(4_000, 40))
PRICES = """
[prices.scripted]
input = 1.0
cached = 0.25
output = 2.0
"""


def assert_sums(usage: Usage) -> None:
    """Assert that every breakdown of the usage has the same total."""
    roles = sum_usage(*usage["roles"].values())
    for name in ("input_tokens", "output_tokens", "cached_tokens", "model_calls"):
        assert roles[name] == usage[name]
    assert roles.get("cost") == pytest.approx(usage.get("cost"))


async def test_cached_input_has_a_price_of_its_own(consulter: ScriptedAgent) -> None:
    Path("manus.toml").write_text(PRICES)
    usage = (await consulter.run(POLL, CONSULT, ANSWER, DONE)).usage
    assert usage["roles"]["main"]["model_calls"] == 3
    assert usage["roles"]["extract"]["input_tokens"] == 300
    assert usage["cached_tokens"] == 400
    costs = [600 + 400 * 0.25 + 10 * 2, 2_300 + 23 * 2, 4_000 + 40 * 2]
    assert usage["cost"] == pytest.approx(sum(costs) / 1e6)
    assert_sums(usage)


async def test_a_second_run_starts_at_zero(consulter: ScriptedAgent) -> None:
    with pytest.raises(ValueError, match=r"`scripted` has no price.*\[prices"):
        await consulter.run(budget={"cost": 1.0})
    assert not consulter.server.requests
    await consulter.run(CONSULT, ANSWER, POLL, DONE)
    failed = await consulter.run(fail(401), request="Again.")
    assert (failed.stop_reason, failed.results) == ("error", [])
    assert failed.usage["model_calls"] == 0
    filtered = text("No.", usage=tokens(500, 5), finish_reason="content_filter")
    usage = (await consulter.run(POLL, filtered, request="And again.")).usage
    assert (usage["model_calls"], usage["input_tokens"]) == (2, 1_500), "it was billed"
    assert_sums(usage)


async def test_concurrent_runs_do_not_share_one(
    consulter: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """Fault 15, also for the calls that tools make: each finds the ledger of its own task."""
    server = consulter.server
    server.when(lambda r: len(r.messages) == 1).always(ANSWER)
    server.when(lambda r: len(r.messages) == 3).always(CONSULT)
    server.always(DONE)
    names = [f"t{n}" for n in range(5)]
    outcomes = await asyncio.gather(*(consulter.run(thread=name) for name in names))
    for outcome in outcomes:
        with subtests.test(outcome=outcome):
            assert_sums(outcome.usage)
            assert outcome.usage["roles"]["extract"]["model_calls"] == 1
            assert outcome.usage["input_tokens"] == 6_300


class TestLimits:
    async def test_no_call_is_made_once_a_limit_is_reached(self, consulter: ScriptedAgent) -> None:
        """Only calls in progress at that moment can exceed it."""
        ask = call("consult", path="said", line="Who?")
        consulter.server.script(ask, ANSWER, ask)
        outcome = await consulter.invoke({"request": "Do it."}, budget=Budget(model_calls=3))
        assert outcome.usage["model_calls"] == 3
        assert outcome.stop_reason == "budget"

    async def test_no_tool_call_is_asked_for_at_the_limit(self, agent: ScriptedAgent) -> None:
        """Calls of one message are in progress together."""
        many = [call("append", path="a", line=str(n)) for n in range(5)]
        outcome = await agent.run(calls(*many), text("Written."), budget=Budget(tool_calls=3))
        assert outcome.usage["tool_calls"] == 5
        last = agent.server.requests[-1]
        assert "tools" not in last.body
        assert "What next?" not in last.last["content"], "which could request a call"
        assert outcome.output.startswith("Written.")

    async def test_the_last_call_of_a_budget_is_for_the_answer(self, agent: ScriptedAgent) -> None:
        Path("manus.toml").write_text(PRICES)
        step = calls(call("poll"), usage=tokens(50_000, 0))
        last = text("Half of it is done.", usage=tokens(50_000, 0))
        outcome = await agent.run(step, step, last, budget=Budget(cost=0.11))
        assert outcome.stop_reason == "budget"
        head, why = outcome.output.split("\n\nTerminated: Budget used up: ")
        assert head == "Half of it is done."
        assert why == "cost (0.10 of 0.11)"
        assert "tools" not in agent.server.requests[-1].body


T = thread_config("t")


async def test_the_time_that_a_person_takes_does_not_count(agent: ScriptedAgent) -> None:
    budget = Budget(seconds=10_000)
    await agent.run(call("ask_human", inquire="Why?"), budget=budget)
    [waiting] = agent.graph.active_runs._waiting.values()
    waiting.ledger._counted_at -= 1_000_000  # the question was asked this long ago
    waiting.ledger._synced_at -= 1_000_000
    outcome = await agent.invoke(Command(resume="So."), text("Done."), budget=budget)
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert outcome.usage["seconds"] < 10_000


async def test_the_time_before_a_pause_counts(agent: ScriptedAgent) -> None:
    """Nine tenths of it were used, so the reply after the pause is the last one."""
    budget = Budget(seconds=10_000)
    agent.server.script(call("poll"))
    context, stop = agent.context(budget=budget), {"interrupt_after": ["stuck_check"]}
    await agent.graph.ainvoke({"request": "Do it."}, T, context=context, **stop)
    usage = {**(await agent.values())["usage"], "seconds": 9_500.0}
    await agent.graph.aupdate_state(T, {"usage": usage}, as_node="stuck_check")
    await agent.graph.close_waiting()
    outcome = await agent.invoke(None, text("So far."), budget=budget)
    assert outcome.stop_reason == "budget"
    assert outcome.output.startswith("So far.\n\nTerminated: Budget used up: seconds (9,50")
    assert "tools" not in agent.server.requests[-1].body
