"""The table of stop reasons, and what derives from it."""

from typing import Any, get_args

import pytest

from manus.graph import build_agent
from manus.graph.routing import route_after_stuck_check, route_after_think
from manus.nodes.stop_conditions import final_update
from manus.state.endings import ENDINGS, UNFINISHED, StopReason, get_ending, list_reasons


@pytest.mark.parametrize("reason", get_args(StopReason))
def test_each_reason_has_a_row_that_routers_and_texts_use(reason: StopReason) -> None:
    ending = ENDINGS[reason]
    assert ending.label
    assert ending.headline
    assert ending.why
    state: Any = {"stop_reason": reason, "messages": []}
    expected = reason if "stuck_check" in ending.nodes else "error"
    assert route_after_stuck_check(state) == expected
    assert (route_after_think(state) == reason) == ("think" in ending.nodes)
    end = final_update(reason, None, "text", 7, "tokens 5 of 5")
    assert (end["status"], end["success"]) == (ending.status, ending.status == "finished")
    assert end["output"].startswith("text")
    assert "{" not in end["output"]


def test_the_drawing_has_an_edge_for_each_reason() -> None:
    drawing = build_agent().get_graph()
    for node in ("think", "stuck_check"):
        labels = {
            label
            for edge in drawing.edges
            if edge.source == node and edge.target == "__end__"
            for label in str(edge.data).split(", ")
        }
        assert labels == set(list_reasons(node))


def test_a_reason_of_a_later_release_is_shown_as_it_is() -> None:
    assert get_ending("exploded", success=False).label == "exploded"
    assert get_ending(None, success=None) is UNFINISHED
    assert get_ending("terminated", success=False).label == "no success"
