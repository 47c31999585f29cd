"""Limits of time: what counts is what a run has worked, over every pause."""

from langgraph.types import Command

from manus.state.usage import Budget
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import call, text

T = thread_config("t")


async def test_the_time_that_a_person_takes_does_not_count(agent: ScriptedAgent) -> None:
    budget = Budget(seconds=10_000)
    await agent.run(call("ask_human", inquire="Why?"), budget=budget)
    [waiting] = agent.graph.runs._waiting.values()
    waiting.session._clock -= 1_000_000  # so long ago was the question asked
    outcome = await agent.invoke(Command(resume="So."), text("Done."), budget=budget)
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert outcome.usage["seconds"] < 10_000


async def test_the_time_before_a_pause_counts(agent: ScriptedAgent) -> None:
    """Nine tenths of it were used up, so what comes after the pause is the last word."""
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
