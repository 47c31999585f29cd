"""Steps side by side: which ones, how long it takes, and where each conversation is kept."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command, StateSnapshot

from manus.graph.outcome import question_of
from manus.state.errors import UsageError
from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.helpers.agent import thread_config
from tests.server import call, text

THREE = (free("alpha"), free("beta"), free("gamma"), free("join", 0, 1, 2))


async def test_independent_steps_are_at_work_at_the_same_time(flow: ScriptedFlow) -> None:
    """Each waits until all three have begun: one after the other, they would wait for ever."""
    here = asyncio.Barrier(3)
    loop = asyncio.get_running_loop()

    def meet(_: Any) -> Any:
        asyncio.run_coroutine_threadsafe(here.wait(), loop).result(20)
        return succeeds()

    flow.plans(makes(*THREE))
    for name in ("alpha", "beta", "gamma"):
        flow.step(name, meet)
    flow.step("join", text("Joined."))
    flow.sums_up(text("All."))
    began = loop.time()
    outcome = await flow.run()
    assert (outcome.status, outcome.stop_reason) == ("finished", "completed")
    assert await flow.statuses() == ["completed"] * 4
    assert outcome.usage["seconds"] <= loop.time() - began, "no time is counted twice"


async def test_two_questions_are_answered_apart(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma")))
    flow.step("alpha", call("ask_human", inquire="Red?"), succeeds("Alpha."))
    flow.step("beta", call("ask_human", inquire="Blue?"), succeeds("Beta."))
    flow.step("gamma", call("append", path="g", line="once"), succeeds("Gamma."))
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert outcome.stop_reason == "interrupted"
    by_question = {question_of(q): q.id for q in outcome.questions}
    assert set(by_question) == {"Red?", "Blue?"}
    snapshot = await flow.graph.aget_state(thread_config("t"), subgraphs=True)
    inside = [task.state for task in snapshot.tasks if task.interrupts][0]  # noqa: RUF015
    assert isinstance(inside, StateSnapshot), "a step at work can be looked into"
    assert "Your step is number 0: alpha" in inside.values["messages"][0].text
    assert inside.next == ("act",)
    with pytest.raises(UsageError, match="have the run go on first"):  # or gamma's result is lost
        await flow.graph.aupdate_state(thread_config("t"), {"plan": {"step": 2, "notes": "n"}})
    outcome = await flow.invoke(Command(resume={by_question["Blue?"]: "navy"}))
    assert [question_of(q) for q in outcome.questions] == ["Red?"]
    outcome = await flow.invoke(Command(resume={outcome.questions[0].id: "crimson"}))
    assert outcome.stop_reason == "completed"
    assert flow.lines("g") == ["once"]
    [said] = [r.text for r in flow.asked(is_step("alpha")) if "crimson" in r.text]
    assert "navy" not in said
    assert len(flow.asked(is_planner)) == 1
