"""The drawing of the agent graph: a change of its shape is seen in review."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from manus.graph import build_agent
from manus.state.agent import StopReason
from tests.helpers.agent import TESTER


def test_the_drawing(snapshot: SnapshotAssertion) -> None:
    assert build_agent(TESTER).get_graph().draw_mermaid() == snapshot


@pytest.mark.parametrize(
    "reason", ["terminated", "answered", "max_steps", "budget", "stuck", "error"]
)
def test_every_reason_to_end_is_on_an_edge(reason: StopReason) -> None:
    edges = build_agent(TESTER).get_graph().edges
    ends = ", ".join(str(edge.data) for edge in edges if edge.target == "__end__")
    assert reason in ends.split(", ")
