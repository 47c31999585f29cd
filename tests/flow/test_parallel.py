"""Steps side by side: which ones, how long it takes, and where each conversation is kept."""

import asyncio
from typing import Any

from langgraph.types import Command, StateSnapshot

from manus.graph.outcome import question_of
from manus.state.plan import at_work
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


async def test_no_more_at_once_than_allowed(flow: ScriptedFlow) -> None:
    flow.plans(makes(*(free(f"part{i}") for i in range(5))))
    for i in range(5):
        flow.step(f"part{i}", succeeds())
    flow.sums_up(text("All."))
    together: list[list[int]] = []
    stream = flow.graph.astream(
        {"request": "Do it."},
        thread_config("t"),
        context=flow.context(max_parallel_steps=2),
        stream_mode="values",
    )
    async for values in stream:
        steps = at_work(values["plan"]) if values.get("plan") else []
        if steps and (not together or together[-1] != steps):
            together.append(steps)
    assert together == [[0, 1], [2, 3], [4]]


async def test_each_step_has_a_conversation_of_its_own(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha done."))
    flow.step("beta", succeeds("Beta done."))
    flow.sums_up(text("All."))
    await flow.run()
    plan = await flow.plan()
    histories = []
    for step in plan["steps"]:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": step["space"]}}
        histories.append((await flow.graph.aget_state(config)).values["messages"])
    assert [len(history) for history in histories] == [5, 3]
    assert "Your step is number 0: alpha" in histories[0][0].text
    assert "Your step is number 1: beta" in histories[1][0].text
    assert [m.type for m in await flow.messages()] == ["human", "ai"]
    for request in flow.asked(is_step("beta")):
        assert "Alpha done" not in request.text


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
    outcome = await flow.invoke(Command(resume={by_question["Blue?"]: "navy"}))
    assert [question_of(q) for q in outcome.questions] == ["Red?"]
    outcome = await flow.invoke(Command(resume={outcome.questions[0].id: "crimson"}))
    assert outcome.stop_reason == "completed"
    assert flow.lines("g") == ["once"]
    [said] = [r.text for r in flow.asked(is_step("alpha")) if "crimson" in r.text]
    assert "navy" not in said
    assert len(flow.asked(is_planner)) == 1


async def test_files_are_told_to_the_step_that_made_them(flow: ScriptedFlow) -> None:
    (flow.workspace / "old.txt").write_text("was there")
    flow.plans(makes(free("alpha"), free("beta"), free("later", 0, 1)))
    flow.step("alpha", call("append", path="a.txt", line="1"), succeeds())
    flow.step("beta", call("append", path="sub_b.txt", line="1"), succeeds())
    flow.step("later", call("append", path="a.txt", line="2"), succeeds())
    flow.sums_up(text("All."))
    await flow.run()
    files = [step["result"]["files"] for step in (await flow.plan())["steps"] if step["result"]]
    assert files == [["a.txt"], ["sub_b.txt"], ["a.txt"]]
