"""The drawing of the agent graph: a change of its shape is seen in review."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from manus.graph import build_agent
from manus.graph.profiles import PROFILES
from manus.state.agent import StopReason
from tests.helpers.agent import TESTER


def test_the_drawing(snapshot: SnapshotAssertion) -> None:
    assert build_agent(TESTER).get_graph().draw_mermaid() == snapshot


async def test_it_is_the_same_when_asked_for_asynchronously() -> None:
    graph = build_agent(TESTER)
    assert (await graph.aget_graph()).draw_mermaid() == graph.get_graph().draw_mermaid()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_the_same_drawing(profile: str) -> None:
    drawn = build_agent(profile).get_graph().draw_mermaid()
    assert drawn == build_agent(TESTER).get_graph().draw_mermaid()


@pytest.mark.parametrize(
    "reason", ["terminated", "answered", "max_steps", "budget", "stuck", "error"]
)
def test_every_reason_to_end_is_on_an_edge(reason: StopReason) -> None:
    edges = build_agent(TESTER).get_graph().edges
    ends = ", ".join(str(edge.data) for edge in edges if edge.target == "__end__")
    assert reason in ends.split(", ")
