"""What ends a run, as a table."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.nodes.turn.stop_conditions import Facts, ending_of
from manus.state.agent import StopReason
from manus.state.usage import Budget, Usage, budget_used_up, no_usage

CALL = {"name": "bash", "args": {}, "id": "1", "type": "tool_call"}
ANSWER = AIMessage("42")
BESIDE = AIMessage("Let me look.", tool_calls=[CALL])
EMPTY = AIMessage(" \n")
DONE = {"status": "success"}


def facts(**known: Any) -> Facts:
    usual = {
        "special": None,
        "message": BESIDE,
        "text_ends": True,
        "step": 1,
        "max_steps": 20,
        "budget": None,
        "stuck": False,
    }
    return Facts(**{**usual, **known})


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, None),
        ({"special": DONE}, "terminated"),
        ({"message": ANSWER}, "answered"),
        ({"message": ANSWER, "text_ends": False}, None),
        ({"message": EMPTY}, None),
        ({"message": None}, None),
        ({"step": 19}, None),
        ({"step": 20}, "max_steps"),
        ({"step": 21}, "max_steps"),
        ({"budget": "tokens"}, "budget"),
        ({"stuck": True}, "stuck"),
        # what was reached counts more than what cut it short
        ({"special": DONE, "step": 20}, "terminated"),
        ({"special": DONE, "budget": "tokens"}, "terminated"),
        ({"special": DONE, "stuck": True}, "terminated"),
        ({"message": ANSWER, "step": 20}, "answered"),
        ({"message": ANSWER, "budget": "tokens"}, "answered"),
        ({"message": ANSWER, "text_ends": False, "step": 20}, "max_steps"),
        ({"stuck": True, "step": 20}, "stuck"),
        ({"budget": "tokens", "step": 20}, "max_steps"),
    ],
)
def test_the_reason(known: dict[str, Any], reason: StopReason | None) -> None:
    assert ending_of(facts(**known)) == reason


def used(**amounts: Any) -> Usage:
    return {**no_usage(), **amounts}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("budget", "usage", "words"),
    [
        (Budget(), used(input_tokens=10**9, seconds=1e9, tool_calls=10**6), None),
        (Budget(tokens=100), used(input_tokens=60, output_tokens=39), None),
        (Budget(tokens=1100), used(input_tokens=1060, output_tokens=40), "tokens (1,100 of 1,100)"),
        (Budget(cost=0.5), used(), None),
        (Budget(cost=0.5), used(cost=0.625), "cost (0.62 of 0.50)"),
        (Budget(seconds=5), used(seconds=4.99), None),
        (Budget(seconds=5), used(seconds=5.25), "seconds (5.25 of 5.00)"),
        (Budget(tool_calls=3), used(tool_calls=2), None),
        (Budget(tool_calls=3), used(tool_calls=3), "tool calls (3 of 3)"),
        (Budget(tool_calls=0), used(), "tool calls (0 of 0)"),
        (Budget(model_calls=2), used(model_calls=2), "model calls (2 of 2)"),
    ],
)
def test_the_budget(budget: Budget, usage: Usage, words: str | None) -> None:
    assert budget_used_up(budget, usage) == words
