"""A person and the plan: it is approved, edited, rejected or abandoned, at any time."""

from typing import Any

import pytest
from langgraph.types import Command

from manus.nodes.planning.approval import read_decision
from manus.state.errors import PlanError, UsageError
from tests.flow.helpers import ScriptedFlow, is_step, makes, revises, succeeds
from tests.flow.test_plan import build_plan
from tests.helpers.agent import thread_config
from tests.helpers.child import REQUEST, start_run
from tests.server import call, hang, text

PLAN = build_plan("a", "b")


ANSWERS: list[tuple[Any, str, str]] = [
    ("yes", "approve", ""),
    ([{"type": "accept", "args": None}], "approve", ""),
    ({"decisions": [{"type": "approve"}]}, "approve", ""),
    ({"decisions": [{"type": "reject", "message": "too long"}]}, "reject", "too long"),
    ("No, use trains.", "reject", "use trains."),
    ("reject: too long", "reject", "too long"),
    ("Nothing by plane, please.", "reject", "Nothing by plane, please."),
    ("cancel", "cancel", ""),
]
EDITED = {"type": "edit", "edited_action": {"name": "plan", "args": {"steps": ["z"]}}}
AS_TEXT = {"type": "edit", "edited_action": {"name": "plan", "args": {"steps": '["z", "a"]'}}}
EDITS: list[tuple[Any, list[str]]] = [
    ("edit 1: c", ["a", "c"]),
    ("edit\na\n\n x\nb", ["a", "x", "b"]),
    ("Edit step 0: take the train\nat nine", ["take the train\nat nine", "b"]),
    ({"decisions": [EDITED]}, ["z"]),
    ({"decisions": [AS_TEXT]}, ["z", "a"]),
]
UNFIT: list[tuple[Any, str]] = [
    ("edit 7: c", "Step 7 does not exist"),
    ({"type": "maybe"}, "`approve`, `edit`"),
]


def test_answers(subtests: pytest.Subtests) -> None:
    for answer, kind, reason in ANSWERS:
        with subtests.test(answer=answer, kind=kind):
            decision = read_decision(answer, PLAN)
            assert (decision.kind, decision.reason, decision.plan) == (kind, reason, PLAN)
    for answer, texts in EDITS:
        with subtests.test(answer=answer, texts=texts):
            decision = read_decision(answer, PLAN)
            assert decision.kind == "edit"
            assert [s["text"] for s in decision.plan["steps"]] == texts
    for answer, message in UNFIT:
        with subtests.test(answer=answer), pytest.raises(PlanError, match=message):
            read_decision(answer, PLAN)


async def test_rejections_are_not_replans_and_the_run_can_be_abandoned(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"), *[revises("alpha")] * 3, makes("beta"))
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    await flow.run(approve_plan=True)
    for _ in range(3):
        outcome = await flow.invoke(Command(resume="no"), approve_plan=True)
        assert outcome.stop_reason == "interrupted"
    assert (await flow.values())["run"]["replans_left"] == 2
    outcome = await flow.invoke(Command(resume="cancel"), approve_plan=True)
    assert (outcome.status, outcome.stop_reason) == ("idle", "plan_incomplete")
    assert flow.requests_for(is_step("alpha")) == []
    assert (await flow.run(request="Another.")).stop_reason == "completed"


T = thread_config("t")


async def test_between_two_steps(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "delta"))
    flow.step("").always(succeeds("It is 42."))
    flow.sums_up(text("All."))
    stop: dict[str, Any] = {"context": flow.context(), "interrupt_before": ["execute_step"]}
    await flow.graph.ainvoke({"request": "Do it."}, T, **stop)
    while (await flow.statuses())[0] != "completed":
        await flow.graph.ainvoke(None, T, **stop)
    plan: Any = await flow.plan()
    plan["steps"][1]["text"] = "[Second] gamma"
    steps = [*plan["steps"][:2], "then", {**plan["steps"][2], "depends_on": [2]}]
    await flow.graph.aupdate_state(T, {"plan": {**plan, "steps": steps}})
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert len(flow.requests_for(is_step("alpha"))) == 1
    assert [(s["text"], s["executor"]) for s in (await flow.plan())["steps"]] == [
        ("alpha", "tester"),
        ("[Second] gamma", "second"),
        ("then", "tester"),
        ("delta", "tester"),
    ]
    assert "It is 42." in flow.requests_for(is_step("gamma"))[0].text


WRONG: list[tuple[Any, str]] = [
    ("plan", "plan"),
    ({"plan": {"steps": []}}, "step"),
    ({"plan": {"steps": [{"text": "a", "status": "done"}]}}, "status"),
    ({"plan": {"step": 9, "status": "completed"}}, "9"),
    ({"run": "x"}, "run"),
    ({"messages": [5]}, "messages"),
    ({"usage": {"seconds": "long"}}, "usage"),
    ({"colour": "red"}, "colour"),
]


async def test_invalid_edits_are_rejected_and_not_stored(
    flow: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    flow.plans(makes("alpha"))
    await flow.run(approve_plan=True)
    before = await flow.graph.aget_state(T)
    for values, pattern in WRONG:
        with subtests.test(values=values, pattern=pattern):
            with pytest.raises(ValueError, match=pattern) as refused:  # a server replies 400
                await flow.graph.aupdate_state(T, values)
            assert isinstance(refused.value, UsageError | PlanError)
    after = await flow.graph.aget_state(T)
    assert (after.config, after.values) == (before.config, before.values)


async def test_during_a_run_the_plan_cannot_be_edited(flow: ScriptedFlow) -> None:
    """An accepted edit is always stored: the run could not see it, so it is rejected."""
    flow.plans(makes("alpha"))
    flow.step("alpha", call("ask_human", inquire="Now?"), succeeds())
    flow.sums_up(text("All."))
    stream = flow.graph.astream({"request": "Do it."}, T, context=flow.context())
    async for _ in stream:
        with pytest.raises(UsageError, match="still running"):
            await flow.graph.aupdate_state(T, {"plan": {"step": 0, "notes": "n"}})
    await flow.graph.aupdate_state(T, {"plan": {"step": 0, "notes": "n"}})
    assert (await flow.invoke(Command(resume="yes"))).stop_reason == "completed"


async def test_an_edit_after_a_kill_and_completed_work_are_kept(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "gamma"))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha."))
    beta = flow.step("beta", hang())
    with start_run(flow, REQUEST):
        await flow.server.wait_async(4, 60)
    await flow.graph.aupdate_state(T, {"plan": {"step": 2, "text": "delta"}})
    assert (await flow.plan())["steps"][1]["notes"], "it may have started before"
    beta.script(succeeds())
    flow.step("delta", succeeds())
    flow.sums_up(text("All."))
    assert (await flow.invoke(None)).stop_reason == "completed"
    assert [s["text"] for s in (await flow.plan())["steps"]] == ["alpha", "beta", "delta"]
    assert flow.lines("a") == ["1"]
    assert len(flow.requests_for(is_step("alpha"))) == 2
