"""Steps that ask a person: other steps continue, and questions come when nothing else can run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph._internal import _constants
from langgraph.types import Command, StateSnapshot, interrupt
from pydantic import BaseModel

from manus.calls.base import AgentTool
from manus.calls.result import Observation
from manus.graph import build_flow
from manus.graph.outcome import Outcome, format_question
from manus.graph.state_update import reopen
from manus.nodes import subagent
from manus.pages.trace.reading import read_trace
from tests.flow.helpers import (
    ScriptedFlow,
    free,
    gives_up,
    is_planner,
    is_step,
    makes,
    revises,
    succeeds,
)
from tests.helpers.agent import TESTER, thread_config
from tests.helpers.tools import NoArgs
from tests.server import call, calls, fail, text

T = thread_config("t")


def asks(question: str) -> Any:
    return call("ask_human", inquire=question)


def questions(outcome: Outcome) -> list[str]:
    return [format_question(question) for question in outcome.questions]


async def answer(flow: ScriptedFlow, outcome: Outcome, **answers: str) -> Outcome:
    """Resume the run with answers to the questions that start with these words."""
    by_word = {format_question(q).split("?")[0]: q.id for q in outcome.questions}
    answers_by_id = {by_word[word]: reply for word, reply in answers.items()}
    return await flow.invoke(Command(resume=answers_by_id))


async def restart(flow: ScriptedFlow) -> None:
    """Continue as another process would: without anything that the first one kept open."""
    await flow.graph.close_waiting()
    flow.graph = build_flow((TESTER,), checkpointer=flow.saver)


async def test_a_question_does_not_hold_up_a_branch(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 1), free("delta", 2, 0)))
    once = call("append", path="a", line="once")
    flow.step("alpha", once, asks("Red?"), succeeds("Alpha."))
    flow.step("beta", succeeds("Beta."))
    flow.step("gamma", call("append", path="g", line="once"), succeeds("Gamma."))
    outcome = await flow.run()
    assert (outcome.stop_reason, questions(outcome)) == ("interrupted", ["Red?"])
    assert await flow.statuses() == ["in_progress", "completed", "completed", "not_started"]
    assert flow.requests_for(is_step("delta")) == []
    flow.step("delta", succeeds("Delta."))
    flow.sums_up(text("All."))
    outcome = await answer(flow, outcome, Red="crimson")
    assert outcome.stop_reason == "completed"
    assert (flow.lines("a"), flow.lines("g")) == (["once"], ["once"])
    assert "crimson" in flow.requests_for(is_step("alpha"))[-1].text
    step = (await flow.plan())["steps"][0]
    assert step["result"] is not None
    assert (step["result"]["files"], step["waiting"]) == (["a"], None)
    assert outcome.usage["model_calls"] == 1 + 3 + 1 + 2 + 1 + 1
    [run] = await read_trace(flow.saver, "t")
    stages = [(stage.title, stage.status) for stage in run.stages if stage.kind == "step"]
    assert stages == [(name, "completed") for name in ("alpha", "beta", "gamma", "delta")]
    alpha = run.stages[1].run
    assert alpha is not None
    assert len(alpha.steps) == 3


async def test_the_stream_reports_that_a_step_waits(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")))
    flow.step("alpha", asks("Red?"))
    flow.step("beta", succeeds())
    events = await flow.events()
    [question_event] = [event for event in events if event.get("question")]
    assert (question_event["type"], question_event["step"], question_event["status"]) == (
        "plan_step",
        0,
        "in_progress",
    )
    assert question_event["question"] == "Red?"


def test_the_keys_are_langgraphs() -> None:
    ours = ("CHECKPOINTER", "_RESUMING", "_ANSWERS", "_PARENTS", "_REPLAY")
    theirs = ("CHECKPOINTER", "RESUMING", "RESUME_MAP", "CHECKPOINT_MAP", "REPLAY_STATE")
    assert [getattr(subagent, name) for name in ours] == [
        getattr(_constants, f"CONFIG_KEY_{name}") for name in theirs
    ]


async def test_the_last_branch_asks_at_once(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", asks("Red?"), asks("Blue?"), succeeds())
    outcome = await flow.run()
    assert questions(outcome) == ["Red?"]
    assert (await flow.plan())["steps"][0].get("waiting") is None
    outcome = await answer(flow, outcome, Red="yes")
    assert questions(outcome) == ["Blue?"]
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    assert (await answer(flow, outcome, Blue="no")).stop_reason == "completed"


async def test_questions_come_in_the_order_in_which_they_were_asked(flow: ScriptedFlow) -> None:
    """Those of later rounds come first in the plan."""
    askers = (free("fourth", 6), free("third", 5), free("second", 4), free("first"))
    flow.plans(makes(*askers, free("one"), free("two", 4), free("three", 5)))
    for name in ("first", "second", "third", "fourth"):
        flow.step(name, asks(f"{name}?"))
    for name in ("one", "two", "three"):
        flow.step(name, succeeds())
    config = thread_config("t")
    result = await flow.graph.ainvoke({"request": "Do it."}, config, context=flow.context())
    outcome = await flow.outcome()
    assert questions(outcome) == ["first?", "second?", "third?", "fourth?"]
    assert result["output"] == outcome.output == "first?\nsecond?\nthird?\nfourth?"
    assert [interrupt.id for interrupt in result["__interrupt__"]] == [
        interrupt.id for interrupt in outcome.questions
    ]


async def test_questions_of_one_message_come_in_call_order(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")))
    expected = [f"{number}?" for number in range(6)]
    flow.step("alpha", calls(*(asks(question) for question in expected)), succeeds())
    flow.step("beta", succeeds())
    outcome = await flow.run()
    assert questions(outcome) == expected
    flow.sums_up(text("All."))
    answers_by_id = {
        question.id: f"answer {format_question(question)}" for question in outcome.questions
    }
    assert (await flow.invoke(Command(resume=answers_by_id))).stop_reason == "completed"
    answers = [
        m["content"]
        for m in flow.requests_for(is_step("alpha"))[-1].messages
        if m["role"] == "tool"
    ]
    assert answers == [f"answer {question}" for question in expected]


async def test_an_answer_resumes_its_branch(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 1)))
    flow.step("alpha", asks("Red?"))
    flow.step("beta", asks("Blue?"), succeeds("Beta."))
    outcome = await flow.run()
    assert set(questions(outcome)) == {"Red?", "Blue?"}
    red = {format_question(question): question.id for question in outcome.questions}["Red?"]
    flow.step("gamma", call("append", path="g", line="once"), succeeds("Gamma."))
    outcome = await answer(flow, outcome, Blue="navy")
    assert [(format_question(q), q.id) for q in outcome.questions] == [("Red?", red)]
    assert await flow.statuses() == ["in_progress", "completed", "completed"]
    flow.step("alpha", succeeds("Alpha."))
    flow.sums_up(text("All."))
    outcome = await answer(flow, outcome, Red="crimson")
    assert outcome.stop_reason == "completed"
    [request_text] = [r.text for r in flow.requests_for(is_step("alpha")) if "crimson" in r.text]
    assert "navy" not in request_text
    assert len(flow.requests_for(is_planner)) == 1
    assert flow.lines("g") == ["once"]


class AskTwice(AgentTool):
    """Asks two questions in one call."""

    name: str = "ask_twice"
    description: str = "Ask two questions."
    args_schema: type[BaseModel] = NoArgs

    async def observe(self, **_: Any) -> Observation:
        return Observation(f"{interrupt('One?')} and {interrupt('Two?')}")


async def test_an_answer_is_given_to_one_question_only(flow: ScriptedFlow) -> None:
    """The second question of a call arrives in the same superstep as that of another step."""
    twice = replace(TESTER, tools=(*TESTER.tools, AskTwice))
    flow.graph = build_flow((twice,), checkpointer=flow.saver)
    flow.plans(makes(free("alpha"), free("beta")))
    flow.step("alpha", call("ask_twice"), succeeds())
    flow.step("beta", asks("Blue?"), succeeds())
    outcome = await flow.run(approve="yolo")
    assert set(questions(outcome)) == {"One?", "Blue?"}
    by_word = {format_question(q): q.id for q in outcome.questions}
    outcome = await flow.invoke(Command(resume={by_word["One?"]: "first"}), approve="yolo")
    assert set(questions(outcome)) == {"Two?", "Blue?"}
    by_word = {format_question(q): q.id for q in outcome.questions}
    flow.sums_up(text("All."))
    answers = {by_word["Two?"]: "second", by_word["Blue?"]: "navy"}
    outcome = await flow.invoke(Command(resume=answers), approve="yolo")
    assert outcome.stop_reason == "completed"
    assert "first and second" in flow.requests_for(is_step("alpha"))[-1].text


async def test_another_process_resumes_it(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 1), free("delta", 2)))
    flow.step("alpha", call("append", path="a", line="once"), asks("Red?"))
    flow.step("beta", asks("Blue?"))
    outcome = await flow.run()
    await restart(flow)
    flow.step("beta", succeeds())
    flow.step("gamma", succeeds())
    flow.step("delta", succeeds())
    outcome = await answer(flow, outcome, Blue="navy")
    assert questions(outcome) == ["Red?"]
    await restart(flow)
    assert questions(await flow.invoke(None)) == ["Red?"], "nobody has answered it"
    await restart(flow)
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    outcome = await answer(flow, outcome, Red="crimson")
    assert outcome.stop_reason == "completed"
    assert flow.lines("a") == ["once"]
    assert outcome.usage["model_calls"] == 1 + 3 + 2 + 1 + 1 + 1


@pytest.mark.environ(MANUS_RETRY_FOR="0")
async def test_it_resumes_where_it_stopped_after_the_answer(flow: ScriptedFlow) -> None:
    """When it is interrupted again, and another process resumes it."""
    flow.plans(makes(free("alpha"), free("beta")))
    once = call("append", path="a", line="once")
    flow.step("alpha", asks("Red?"), once)
    flow.step("beta", succeeds())
    outcome = await flow.run()
    away = flow.step("alpha", fail(503))
    outcome = await answer(flow, outcome, Red="crimson")
    assert outcome.waits_for_model
    assert not away.left
    await restart(flow)
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert flow.lines("a") == ["once"]
    assert "crimson" in flow.requests_for(is_step("alpha"))[-1].text


async def checkpoints_with_a_question(flow: ScriptedFlow) -> list[StateSnapshot]:
    """Return the checkpoints at which a step is suspended, newest first."""
    history = [snapshot async for snapshot in flow.graph.aget_state_history(T)]
    with_plan = [snapshot for snapshot in history if snapshot.values.get("plan")]
    return [s for s in with_plan if any(t.get("waiting") for t in s.values["plan"]["steps"])]


async def test_a_fork_asks_again(flow: ScriptedFlow) -> None:
    """A step resumes where it asked, or starts again once another branch has continued it."""
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 1)))
    once = call("append", path="a", line="alpha")
    flow.step("alpha", once, asks("Red?"), succeeds(), once, asks("Blue?"), succeeds())
    flow.step("beta", succeeds())
    flow.step("gamma").always(succeeds())
    await flow.run()
    before_gamma = (await checkpoints_with_a_question(flow))[-1].config
    await flow.graph.ainvoke(None, before_gamma, context=flow.context())
    outcome = await flow.outcome()
    assert (questions(outcome), flow.lines("a")) == (["Red?"], ["alpha"])
    flow.sums_up(text("All."), text("All."))
    assert (await answer(flow, outcome, Red="crimson")).stop_reason == "completed"
    await flow.graph.ainvoke(None, before_gamma, context=flow.context())
    outcome = await flow.outcome()
    assert (questions(outcome), flow.lines("a")) == (["Blue?"], ["alpha", "alpha"])
    assert (await answer(flow, outcome, Blue="navy")).stop_reason == "completed"


async def test_the_plan_is_revised_while_a_step_waits(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")), revises("instead", free("alpha")))
    flow.step("alpha", asks("Red?"), succeeds())
    flow.step("beta", gives_up("No ladder."))
    flow.step("instead", succeeds())
    outcome = await flow.run()
    assert questions(outcome) == ["Red?"]
    assert await flow.statuses() == ["completed", "in_progress"]
    flow.sums_up(text("All."))
    assert (await answer(flow, outcome, Red="crimson")).stop_reason == "completed"
    assert len(flow.requests_for(is_step("alpha"))) == 2, "it resumed where it stopped"


async def test_a_run_may_end_without_the_answer(flow: ScriptedFlow) -> None:
    """And asks again when it is resumed."""
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 1)))
    flow.step("alpha", asks("Red?"), succeeds())
    flow.step("beta", succeeds())
    outcome = await flow.run(budget={"model_calls": 3})
    assert outcome.stop_reason == "budget"
    assert "0. alpha (waits for an answer to: Red?)" in outcome.output
    assert await reopen(flow.graph, T)
    flow.step("gamma", succeeds())
    outcome = await flow.invoke(None)
    assert questions(outcome) == ["Red?"]
    flow.sums_up(text("All."))
    assert (await answer(flow, outcome, Red="crimson")).stop_reason == "completed"


async def test_another_step_may_be_edited_while_one_waits(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma", 0)))
    flow.step("alpha", asks("Red?"), succeeds())
    flow.step("beta", succeeds())
    await flow.run()
    await flow.graph.aupdate_state(T, {"plan": {"step": 2, "text": "rest"}})
    outcome = await flow.invoke(None)
    assert questions(outcome) == ["Red?"]
    flow.step("rest", succeeds())
    flow.sums_up(text("All."))
    assert (await answer(flow, outcome, Red="crimson")).stop_reason == "completed"
    assert len(flow.requests_for(is_step("alpha"))) == 2, "it resumed where it stopped"


async def test_a_waiting_step_restarts_if_its_text_changes(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")))
    flow.step("alpha", asks("Red?"))
    flow.step("beta", succeeds())
    await flow.run()
    await flow.graph.aupdate_state(T, {"plan": {"step": 0, "text": "omega"}})
    flow.step("omega", succeeds())
    flow.sums_up(text("All."))
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert "Red?" not in flow.requests_for(is_step("omega"))[0].text


async def test_a_waiting_step_can_be_inspected(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma")))
    flow.step("alpha", asks("Red?"))
    flow.step("beta", asks("Blue?"))
    flow.step("gamma", succeeds())
    await flow.run()
    snapshot = await flow.graph.aget_state(T, subgraphs=True)
    inside = {format_question(task.interrupts[0]): task.state for task in snapshot.tasks}
    red = inside["Red?"]
    assert isinstance(red, StateSnapshot)
    assert "Your step is number 0: alpha" in red.values["messages"][0].text
    assert red.next == ("act",)


async def test_without_a_checkpointer_it_asks_at_once(flow: ScriptedFlow, tmp_path: Path) -> None:
    """Nothing could be resumed, and nothing may be executed twice."""
    alone = ScriptedFlow(flow.server, tmp_path / "w", None)
    alone.plans(makes(free("alpha"), free("beta"), free("gamma", 1)))
    alone.step("alpha", call("append", path="a", line="once"), asks("Red?"))
    alone.step("beta", succeeds())
    result = await alone.graph.ainvoke({"request": "Do it."}, context=alone.context())
    assert (result["stop_reason"], result["output"]) == ("interrupted", "Red?")
    assert alone.lines("a") == ["once"]
