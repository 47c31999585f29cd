"""Steps read from a state, and two runs brought side by side."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.compare import compare, where_they_part
from manus.trace.model import Step
from manus.trace.reading import run_of_state


def said(text: str, *calls: tuple[str, dict[str, Any]], tokens: int = 0) -> AIMessage:
    made = [{"name": n, "args": a, "id": f"{n}{i}"} for i, (n, a) in enumerate(calls)]
    usage: Any = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    return AIMessage(text, tool_calls=made, usage_metadata=usage if tokens else None)


def steps_of(values: dict[str, Any]) -> list[Step]:
    return run_of_state(values).steps


def came(call: str, text: str, status: Any = "success") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call, status=status)


def state(*messages: AnyMessage, workspace: str = "/w", **more: Any) -> dict[str, Any]:
    asked = HumanMessage("Do it.", id="r")
    run = {"request_id": "r", "workspace": workspace}
    return {"messages": [asked, *messages], "run": run, **more}


def shell(command: str, answer: str) -> tuple[AnyMessage, AnyMessage]:
    return said("", ("bash", {"command": command})), came("bash0", answer)


def test_a_step_is_a_thought_with_its_calls_and_what_came_of_them() -> None:
    both = said("I do two.", ("bash", {"command": "ls"}), ("look", {"a": 1}), tokens=9)
    values = state(both, came("look1", "seen", "error"), came("bash0", "a.txt"), said("Done."))
    first, last = steps_of(values)
    assert (first.number, first.thought) == (1, "I do two.")
    assert first.tokens is not None
    assert first.tokens.total == 10
    assert [(c.name, c.observation, c.is_error) for c in first.calls] == [
        ("bash", "a.txt", False),
        ("look", "seen", True),
    ]
    assert (last.number, last.thought, last.calls, last.tokens) == (2, "Done.", [], None)


def test_only_the_newest_run_counts_and_its_steps_keep_their_numbers() -> None:
    values = state(*shell("old", "x"), earlier=["Step 1: …", "Step 2: …"])
    values["messages"] += [HumanMessage("More.", id="r2"), *shell("new", "y")]
    values["run"]["request_id"] = "r2"
    [step] = steps_of(values)
    assert (step.number, step.calls[0].args["command"]) == (3, "new")


def test_the_place_of_the_workspace_does_not_count() -> None:
    one = state(*shell("ls /one/x", "/one/x/a"), workspace="/one")
    two = state(*shell("ls /two/x", "/two/x/a"), workspace="/two")
    assert [row.sameness for row in compare(one, two).rows] == ["same"]


def test_one_step_more_does_not_put_the_rest_out_of_line() -> None:
    one = state(*shell("a", ""), *shell("c", ""), *shell("d", ""))
    two = state(*shell("a", ""), *shell("b", ""), *shell("c", ""), *shell("e", ""))
    found = compare(one, two, names=("one", "two"))
    assert [row.sameness for row in found.rows] == ["same", "right", "same", "calls"]
    assert found.parted is found.rows[1]
    back = compare(two, one, names=("two", "one"))
    assert [row.sameness for row in back.rows] == ["same", "left", "same", "calls"]


@pytest.mark.parametrize(
    ("one", "two", "sameness", "said"),
    [
        (shell("ls", "a"), shell("ls", "b"), ["result"], "step 1"),
        (shell("a", ""), shell("b", ""), ["calls"], "step 1"),
        ((said("Yes."),), (said("No."),), ["calls"], "step 1"),
        ((said("Yes."),), (said("Yes."),), ["same"], "the same"),
        ((), (), [], "the same"),
    ],
)
def test_where_two_runs_part(one: Any, two: Any, sameness: list[str], said: str) -> None:
    found = compare(state(*one), state(*two))
    assert [row.sameness for row in found.rows] == sameness
    assert (found.parted is None) == (sameness != ["calls"])
    assert said in where_they_part(found)


def test_figures() -> None:
    usage = {"model_calls": 2, "tool_calls": 1, "input_tokens": 10, "output_tokens": 3}
    one = state(*shell("a", ""), usage={**usage, "cached_tokens": 4, "seconds": 1.5})
    two = state(usage={**usage, "cached_tokens": 0, "seconds": 2.5, "cost": 0.01})
    assert compare(one, two).figures() == [
        ("steps", 1, 0),
        ("model calls", 2, 2),
        ("tool calls", 1, 1),
        ("tokens in", 10, 10),
        ("cached", 4, 0),
        ("tokens out", 3, 3),
        ("seconds", 1.5, 2.5),
        ("cost", 0, 0.01),
    ]
    assert "cost" not in [name for name, _, _ in compare(one, one).figures()]


def plan(*steps: tuple[str, str]) -> dict[str, Any]:
    made: list[dict[str, Any]] = [
        {
            "text": text,
            "executor": "",
            "status": status,
            "notes": "",
            "depends_on": [],
            "result": {"text": "In /w/x.", "files": [], "tokens": 7} if status else None,
        }
        for text, status in steps
    ]
    return {"plan": {"id": "p", "title": "P", "steps": made}, "run": {"workspace": "/w"}}


def test_the_steps_of_two_plans() -> None:
    one = plan(("a", "completed"), ("b", "blocked"))
    two = plan(("a", "completed"), ("b", "completed"), ("c", "not_started"))
    found = compare(one, two)
    assert [row.sameness for row in found.rows] == ["same", "result", "right"]
    [_, blocked] = found.left.steps
    assert blocked.tokens is not None
    assert (blocked.number, blocked.tokens.total, blocked.calls[0].is_error) == (1, 7, True)
    assert blocked.calls[0].observation == "[!]\nIn /w/x."
