"""A person in the loop: the plan is approved, edited, rejected or left before anything is done."""

from typing import Any

import pytest
from langgraph.types import Command

from manus.nodes.planning.approval import read_decision
from manus.state.errors import PlanError
from tests.flow.helpers import ScriptedFlow, is_step, makes, revises, succeeds
from tests.flow.test_plan import plan_of
from tests.server import text

PLAN = plan_of("a", "b")


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
EDITS: list[tuple[Any, list[str]]] = [
    ("edit 1: c", ["a", "c"]),
    ("edit\na\n\n x\nb", ["a", "x", "b"]),
    ("Edit step 0: take the train\nat nine", ["take the train\nat nine", "b"]),
    ({"decisions": [EDITED]}, ["z"]),
]
UNFIT: list[tuple[Any, str]] = [
    ("edit 7: c", "There is no step 7"),
    ({"type": "maybe"}, "`approve`, `edit`"),
]


def test_answers() -> None:
    for answer, kind, reason in ANSWERS:
        decision = read_decision(answer, PLAN)
        assert (decision.kind, decision.reason, decision.plan) == (kind, reason, PLAN)
    for answer, texts in EDITS:
        decision = read_decision(answer, PLAN)
        assert decision.kind == "edit"
        assert [s["text"] for s in decision.plan["steps"]] == texts
    for answer, said in UNFIT:
        with pytest.raises(PlanError, match=said):
            read_decision(answer, PLAN)


async def test_rejections_are_no_replans_and_the_run_can_be_left(flow: ScriptedFlow) -> None:
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
    assert flow.asked(is_step("alpha")) == []
    assert (await flow.run(request="Another.")).stop_reason == "completed"
