"""What came of a run, read from a snapshot."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from manus.graph.outcome import Outcome, outcome_of, question_of
from manus.state.usage import Usage

USAGE: Usage = {
    "input_tokens": 1200,
    "output_tokens": 34,
    "cached_tokens": 0,
    "model_calls": 3,
    "tool_calls": 5,
    "seconds": 1.23456,
}
ENDED = {
    "status": "finished",
    "stop_reason": "terminated",
    "success": True,
    "output": "Done.",
    "results": ["Step 1: bash → a"],
    "usage": USAGE,
}
ASKED = Interrupt({"kind": "question", "question": "Which?"}, id="1")
STUCK = Interrupt({"kind": "stuck", "question": "What now?"}, id="2")


def snapshot(
    values: dict[str, Any],
    *waiting: Interrupt,
    at: tuple[str, ...] = (),
    tasks: tuple[PregelTask, ...] = (),
) -> StateSnapshot:
    return StateSnapshot(
        values=values,
        next=at,
        config={"configurable": {"thread_id": "t"}},
        metadata=None,
        created_at=None,
        parent_config=None,
        tasks=tasks,
        interrupts=waiting,
    )


def test_a_run_that_has_ended() -> None:
    assert outcome_of(snapshot(ENDED)) == Outcome(
        "t", "finished", "terminated", True, "Done.", ["Step 1: bash → a"], USAGE
    )


@pytest.mark.parametrize(
    ("waiting", "output"),
    [((ASKED,), "Which?"), ((STUCK,), "What now?"), ((ASKED, STUCK), "Which?\nWhat now?")],
)
def test_a_run_that_waits(waiting: tuple[Interrupt, ...], output: str) -> None:
    found = outcome_of(snapshot({**ENDED, "status": "executing"}, *waiting, at=("act",)))
    assert (found.stop_reason, found.success) == ("interrupted", False)
    assert found.output == output
    assert found.questions == waiting


def test_a_run_that_broke_off() -> None:
    """What is there of the run before it is not what came of it."""
    found = outcome_of(snapshot({**ENDED, "status": "running"}, at=("think",)))
    assert (found.status, found.stop_reason, found.success) == ("running", None, False)


def test_a_run_whose_last_task_no_checkpoint_has_taken_up() -> None:
    done = PregelTask("1", "stuck_check", ())
    found = outcome_of(snapshot({**ENDED, "status": "thinking"}, tasks=(done,)))
    assert (found.stop_reason, found.success) == (None, False)


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ({"question": "Which?"}, "Which?"),
        ({"inquire": "Which?"}, "Which?"),
        ({"tool": "bash"}, "{'tool': 'bash'}"),
        ("Which?", "Which?"),
        (7, "7"),
    ],
)
def test_the_question_of_an_interrupt(value: Any, question: str) -> None:
    assert question_of(Interrupt(value, id="1")) == question


class TestJson:
    def test_its_fields(self) -> None:
        shown = outcome_of(snapshot(ENDED)).as_json()
        assert shown == {
            "thread_id": "t",
            "status": "finished",
            "stop_reason": "terminated",
            "success": True,
            "output": "Done.",
            "results": ["Step 1: bash → a"],
            "usage": {
                "input_tokens": 1200,
                "output_tokens": 34,
                "model_calls": 3,
                "tool_calls": 5,
                "seconds": 1.235,
            },
        }
