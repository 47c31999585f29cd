"""A person in the loop: the plan is approved, edited, rejected or left before anything is done."""

from typing import Any

import pytest
from langgraph.types import Command

from manus.nodes.planning.approval import read_decision
from manus.state.errors import PlanError
from tests.flow.helpers import (
    ScriptedFlow,
    is_planner,
    is_step,
    makes,
    revises,
    succeeds,
)
from tests.flow.test_plan import plan_of
from tests.server import text

PLAN = plan_of("a", "b")


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        ("yes", "approve", ""),
        ("OK.", "approve", ""),
        (True, "approve", ""),
        ({"action": "approve"}, "approve", ""),
        ([{"type": "accept", "args": None}], "approve", ""),
        ({"decisions": [{"type": "approve"}]}, "approve", ""),
        ({"decisions": [{"type": "reject", "message": "too long"}]}, "reject", "too long"),
        ("no", "reject", ""),
        ("No, use trains.", "reject", "use trains."),
        ("reject: too long", "reject", "too long"),
        ("Nothing by plane, please.", "reject", "Nothing by plane, please."),
        (False, "reject", ""),
        ({"action": "reject", "reason": "too long"}, "reject", "too long"),
        ("cancel", "cancel", ""),
        ({"action": "cancel"}, "cancel", ""),
    ],
)
def test_answers(answer: Any, kind: str, reason: str) -> None:
    decision = read_decision(answer, PLAN)
    assert (decision.kind, decision.reason, decision.plan) == (kind, reason, PLAN)


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("edit 1: c", ["a", "c"]),
        ("Edit step 0: take the train\nat nine", ["take the train\nat nine", "b"]),
        ({"action": "edit", "step": 1, "text": "c"}, ["a", "c"]),
        ({"action": "edit", "steps": ["a", "x", "b"]}, ["a", "x", "b"]),
        ({"action": "edit", "plan": {**PLAN, "steps": PLAN["steps"][:1]}}, ["a"]),
        ({"steps": ["z"]}, ["z"]),
        (
            {
                "decisions": [
                    {"type": "edit", "edited_action": {"name": "plan", "args": {"steps": ["z"]}}}
                ]
            },
            ["z"],
        ),
        ('{"action": "edit", "steps": ["z"]}', ["z"]),
    ],
)
def test_edits(answer: Any, texts: list[str]) -> None:
    decision = read_decision(answer, PLAN)
    assert decision.kind == "edit"
    assert [s["text"] for s in decision.plan["steps"]] == texts


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("edit 7: c", "There is no step 7"),
        ({"action": "edit"}, "An edit needs"),
        ({"action": "maybe"}, "`approve`, `edit`"),
        ({}, "`approve`, `edit`"),
        ("{broken", "begins like JSON"),
        ({"steps": []}, "at least one step"),
    ],
)
def test_answers_that_do_not_fit(answer: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        read_decision(answer, PLAN)


async def asked(flow: ScriptedFlow) -> Any:
    """The open question."""
    outcome = await flow.outcome()
    assert outcome.stop_reason == "interrupted"
    [question] = outcome.questions
    return question.value


async def test_the_plan_waits_for_approval(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    await flow.run(approve_plan=True)
    question = await asked(flow)
    assert question["kind"] == "plan"
    assert "0. [ ] alpha\n1. [ ] beta" in question["question"]
    assert [s["text"] for s in question["plan"]["steps"]] == ["alpha", "beta"]
    assert len(flow.server.requests) == 1
    outcome = await flow.invoke(Command(resume="yes"), approve_plan=True)
    assert outcome.stop_reason == "completed"
    assert len(flow.asked(is_planner)) == 1


async def test_a_rejected_plan_is_made_anew_with_the_reason(flow: ScriptedFlow) -> None:
    flow.plans(makes("fly"), revises("take the train"))
    flow.step("take the train", succeeds())
    flow.sums_up(text("All."))
    await flow.run(approve_plan=True)
    await flow.invoke(Command(resume="no, nothing by plane"), approve_plan=True)
    assert "nothing by plane" in flow.asked(is_planner)[1].text
    assert "take the train" in (await asked(flow))["question"]
    outcome = await flow.invoke(Command(resume="yes"), approve_plan=True)
    assert outcome.stop_reason == "completed"
    assert flow.asked(is_step("fly")) == []


async def test_rejections_do_not_count_as_replans(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"))
    flow.plans().always(revises("alpha"))
    await flow.run(approve_plan=True)
    for _ in range(3):
        outcome = await flow.invoke(Command(resume="no"), approve_plan=True)
        assert outcome.stop_reason == "interrupted"
    assert (await flow.values())["run"]["replans_left"] == 2


async def test_the_run_is_left(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"), makes("beta"))
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    await flow.run(approve_plan=True)
    outcome = await flow.invoke(Command(resume="cancel"), approve_plan=True)
    assert (outcome.status, outcome.stop_reason) == ("idle", "plan_incomplete")
    assert flow.asked(is_step("alpha")) == []
    assert (await flow.run(request="Another.")).stop_reason == "completed"
