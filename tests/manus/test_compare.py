"""Steps read from a state, and two runs brought side by side."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.compare import compare, where_they_part


def said(text: str, *calls: tuple[str, dict[str, Any]], tokens: int = 0) -> AIMessage:
    made = [{"name": n, "args": a, "id": f"{n}{i}"} for i, (n, a) in enumerate(calls)]
    usage: Any = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    return AIMessage(text, tool_calls=made, usage_metadata=usage if tokens else None)


def came(call: str, text: str, status: Any = "success") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call, status=status)


def state(*messages: AnyMessage, workspace: str = "/w", **more: Any) -> dict[str, Any]:
    asked = HumanMessage("Do it.", id="r")
    run = {"request_id": "r", "workspace": workspace}
    return {"messages": [asked, *messages], "run": run, **more}


def shell(command: str, answer: str) -> tuple[AnyMessage, AnyMessage]:
    return said("", ("bash", {"command": command})), came("bash0", answer)


def test_the_place_of_the_workspace_does_not_count() -> None:
    one = state(*shell("ls /one/x", "/one/x/a"), workspace="/one")
    two = state(*shell("ls /two/x", "/two/x/a"), workspace="/two")
    assert [row.sameness for row in compare(one, two).rows] == ["same"]


def test_one_step_more_does_not_put_the_rest_out_of_line() -> None:
    one = state(*shell("a", ""), *shell("c", ""), *shell("d", ""))
    two = state(*shell("a", ""), *shell("b", ""), *shell("c", ""), *shell("e", ""))
    found = compare(one, two, names=("one", "two"))
    assert [row.sameness for row in found.rows] == ["same", "right", "same", "calls"]
    assert "step 2" in where_they_part(found)
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
    assert said in where_they_part(found)


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
