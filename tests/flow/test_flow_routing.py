"""The routers of the flow, as tables, and its drawing."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from syrupy.assertion import SnapshotAssertion

from manus.graph import build_flow
from manus.graph.routing import route_after_execute_step, route_after_plan
from manus.state.errors import SettingsError, UsageError
from tests.flow.test_plan import plan_of


@pytest.mark.parametrize(
    ("stop_reason", "approval", "label"),
    [
        (None, "not_needed", "ready"),
        (None, "given", "ready"),
        (None, "wanted", "to_approve"),
        (None, "rejected", "rejected"),
        ("error", "wanted", "error"),
        ("plan_incomplete", "wanted", "cancelled"),
    ],
)
def test_after_plan(stop_reason: Any, approval: Any, label: str) -> None:
    state: Any = {"stop_reason": stop_reason, "run": {"approval": approval}}
    assert route_after_plan(state) == label


@pytest.mark.parametrize(
    ("batch", "statuses", "replans_left", "label"),
    [
        ({"steps": [0, 1], "failed": []}, {"s0": "in_progress", "s1": "in_progress"}, 2, [0, 1]),
        ({"steps": [0, 1], "failed": []}, {"s0": "completed", "s1": "in_progress"}, 2, "ended"),
        ({"steps": [0], "failed": []}, {"s0": "blocked"}, 2, "ended"),
        ({"steps": [9], "failed": []}, {}, 2, "ended"),
        ({"steps": [], "failed": [0]}, {"s0": "blocked"}, 2, "blocked"),
        ({"steps": [], "failed": [0]}, {"s0": "blocked"}, 0, "complete"),
        ({"steps": [], "failed": [0], "over": "tokens"}, {"s0": "blocked"}, 2, "complete"),
        ({"steps": [], "failed": []}, {}, 2, "complete"),
    ],
)
def test_after_execute_step(
    batch: dict[str, Any], statuses: dict[str, str], replans_left: int, label: Any
) -> None:
    state: Any = {
        "batch": {"began": 0, **batch},
        "plan": plan_of(("a", []), ("b", [])[:2], **statuses),
        "run": {"replans_left": replans_left, "executors": ["manus"]},
        "messages": [HumanMessage("Do it.", id=str(uuid.uuid4()))],
    }
    chosen = route_after_execute_step(state)
    assert (chosen if isinstance(chosen, str) else [send.arg["step"] for send in chosen]) == label


def test_drawing(snapshot: SnapshotAssertion) -> None:
    assert build_flow(("manus", "swe")).get_graph().draw_mermaid() == snapshot


def test_the_drawing_shows_the_agent_inside_a_step() -> None:
    drawing = build_flow().get_graph(xray=True).draw_mermaid()
    assert "stuck_check" in drawing
    assert "summarize" in drawing


def test_executors_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match="There is no profile `nobody`"):
        build_flow(("nobody",))
    with pytest.raises(UsageError, match="named `manus`"):
        build_flow(("manus", "Manus"))
    with pytest.raises(UsageError, match="at least one"):
        build_flow(())
