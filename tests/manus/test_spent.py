"""Tokens and money on the command line, while a run works and when it has ended."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.cells import cell_len

from manus.plan_view import PlanView
from manus.screen import Screen
from manus.state.plan import StepResult
from tests.flow.test_plan import plan_of
from tests.manus.emulator import shown

PRICES = """
currency = "€"

[prices.scripted]
input = 1.0
cached = 0.1
output = 10.0
"""


class Terminal(io.StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


def used(count: int, cost: float | None = None) -> dict[str, Any]:
    spent: dict[str, Any] = {"input_tokens": count, "output_tokens": 0, "model_calls": 1}
    return spent if cost is None else {**spent, "cost": cost}


def test_a_step_that_is_worked_on_again_adds_to_what_it_had() -> None:
    stream = io.StringIO()
    view = PlanView(Screen(stream))
    plan = plan_of("a")
    earlier: Any = {**used(50), "cached_tokens": 0}
    plan["steps"][0]["result"] = StepResult(text="", files=[], tokens=50, usage=earlier)
    view.know(plan, used(150))
    event = {"step": 0, "notes": "", "executor": "manus"}
    view.on_step({**event, "status": "in_progress", "spent": used(50)})
    view.on_action({"step": 0, "event": {"type": "thought", "text": "Hm.", "spent": used(7)}})
    view.on_step({**event, "status": "completed"})
    assert "57 tokens" in stream.getvalue().splitlines()[-1]


def test_the_plan_shows_it_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used stays whole where the text of a step has to be cut."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    screen = Screen(stream)
    view = PlanView(screen)
    plan = plan_of("宽" * 60, "short")
    view.on_plan({"type": "plan", "why": "made", "plan": plan, "spent": used(900, 0.001)})
    for index in (0, 1):
        event = {"step": index, "status": "in_progress", "notes": "", "executor": "manus"}
        view.on_step({**event, "spent": used(0)})
        action = {"type": "thought", "text": "Hm.", "spent": used(1_000, 0.0123)}
        view.on_action({"step": index, "event": action})
    screen.release()
    last = shown(stream.getvalue().replace("\n", "\r\n")).splitlines()
    assert "Progress: 0/2 steps completed (0.0%), 2,900 tokens, $0.0256" in last
    first = next(line for line in last if line.startswith("0. "))
    assert first.endswith("… (1,000 tokens, $0.0123)")
    assert "1. [→] short (1,000 tokens, $0.0123)" in last
    assert all(cell_len(line) <= 80 for line in last)
