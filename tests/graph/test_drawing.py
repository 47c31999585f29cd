"""The drawing of the agent graph: a change of its shape is seen in review."""

from syrupy.assertion import SnapshotAssertion

from manus.graph import build_agent
from tests.helpers.agent import TESTER


def test_the_drawing(snapshot: SnapshotAssertion) -> None:
    assert build_agent(TESTER).get_graph().draw_mermaid() == snapshot
