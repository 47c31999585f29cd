"""The routers of the flow, as tables, and its drawing."""

import uuid
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from manus.graph import build_flow
from manus.graph.routing import route_after_execute_step, route_after_plan
from manus.state.errors import SettingsError, UsageError
from manus.state.plan_changes import fold_plan
from tests.flow.test_plan import plan_of

AFTER_PLAN = [
    (None, "not_needed", "ready"),
    (None, "given", "ready"),
    (None, "wanted", "to_approve"),
    (None, "rejected", "rejected"),
    ("error", "wanted", "error"),
    ("plan_incomplete", "wanted", "cancelled"),
]


def test_after_plan() -> None:
    for reason, approval, label in AFTER_PLAN:
        state: Any = {"stop_reason": reason, "run": {"approval": approval}, "plan": plan_of("a")}
        assert route_after_plan(state) == label


AT_WORK = {"s0": "in_progress"}
BLOCKED = {"s0": "blocked"}
ENDED = {"s0": "blocked", "s1": "completed"}


AFTER_STEP: list[tuple[dict[str, str], dict[str, Any], Any]] = [
    ({}, {}, "ready_steps"),
    ({**AT_WORK, "s1": "in_progress"}, {}, [0, 1]),
    ({**AT_WORK, "s1": "completed"}, {}, "ended"),
    ({**AT_WORK, "s1": "blocked"}, {}, "ended"),
    (BLOCKED, {}, "blocked"),
    (BLOCKED, {"revised": ["a"]}, "ready_steps"),
    (BLOCKED, {"replans_left": 0}, "ready_steps"),
    (ENDED, {"replans_left": 0}, "complete"),
    (ENDED, {"revised": ["a"]}, "complete"),
    ({}, {"over": "tokens"}, "complete"),
    (BLOCKED, {"over": "tokens"}, "complete"),
    ({"s0": "completed", "s1": "completed"}, {}, "complete"),
]


def test_after_execute_step() -> None:
    for statuses, run, label in AFTER_STEP:
        plan = plan_of(("a", []), ("b", []), **statuses)
        state: Any = {
            "plan": fold_plan(plan, [{"step": i, "began": 7} for i in range(2)]),
            "run": {"replans_left": 2, "revised": [], "executors": ["manus"], **run},
            "messages": [HumanMessage("Do it.", id=str(uuid.uuid4()))],
        }
        chosen = route_after_execute_step(state)
        assert (
            chosen if isinstance(chosen, str) else [send.arg["step"] for send in chosen]
        ) == label


def test_executors_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match="profile `nobody`"):
        build_flow(("nobody",))
    with pytest.raises(UsageError, match="named `manus`"):
        build_flow(("manus", "Manus"))
    with pytest.raises(UsageError, match="at least one"):
        build_flow(())
