"""The plan's text, queries on a plan, and tables for the routers of the flow."""

import uuid
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from manus.graph import build_flow
from manus.graph.routing import route_after_execute_step, route_after_plan
from manus.state.errors import SettingsError, UsageError
from manus.state.plan import (
    Plan,
    executor_for,
    find_cycle,
    find_hindered_steps,
    format_plan,
    ready_steps,
)
from manus.state.plan_changes import create, fold_plan, mark

VACATION = """\
Plan: Summer Vacation Plan (ID: vacation_plan)
==============================================

Progress: 1/3 steps completed (33.3%)
Status: 1 completed, 1 in progress, 0 blocked, 1 not started

Steps:
0. [✓] Book flight tickets
1. [→] Pack luggage
   Notes: Remember to bring sunscreen
2. [ ] Reserve hotel"""


def build_plan(*steps: str | tuple[str, list[int]], **statuses: str) -> Plan:
    """Return a plan of texts, or of texts with dependencies; `s1="blocked"` sets a status."""
    new_steps = [
        {"text": step} if isinstance(step, str) else {"text": step[0], "depends_on": step[1]}
        for step in steps
    ]
    plan = create("p", "Plan", new_steps)  # type: ignore[arg-type]
    for name, status in statuses.items():
        plan = mark(plan, int(name[1:]), status)  # type: ignore[arg-type]
    return plan


def test_the_text_is_that_of_the_contract() -> None:
    steps = ("Book flight tickets", "Pack luggage", "Reserve hotel")
    plan = create("vacation_plan", "Summer Vacation Plan", [{"text": step} for step in steps])
    plan = mark(plan, 0, "completed")
    plan = mark(plan, 1, "in_progress", "Remember to bring sunscreen")
    assert format_plan(plan) == VACATION


CHAIN = ("a", "b", "c")
STAR: tuple[tuple[str, list[int]], ...] = (("a", []), ("b", []), ("c", [0, 1]))


READY = [
    (build_plan(*CHAIN), [0]),
    (build_plan(*CHAIN, s0="completed"), [1]),
    (build_plan(*CHAIN, s0="in_progress"), [0]),  # interrupted: nothing is executing it any more
    (build_plan(*CHAIN, s0="blocked"), []),
    (build_plan(*STAR), [0, 1]),
    (build_plan(*STAR, s0="completed"), [1]),
    (build_plan(*STAR, s0="completed", s1="completed"), [2]),
    (build_plan(*STAR, s0="blocked"), [1]),
    (build_plan(*CHAIN, s0="completed", s1="completed", s2="completed"), []),
]
CYCLES: list[tuple[list[list[int]], list[int] | None]] = [
    ([[], [0], [1]], None),
    ([[1], [2], []], None),  # a later step may be ready first
    ([[0]], [0, 0]),
    ([[1], [0]], [0, 1, 0]),
    ([[], [2], [3], [1]], [1, 2, 3, 1]),
    ([[], [0], [0], [1, 2]], None),
]
HINDERED: list[tuple[Plan, dict[int, int]]] = [
    (build_plan(*CHAIN), {}),
    (build_plan(*CHAIN, s0="blocked"), {1: 0, 2: 0}),
    (build_plan(*STAR, s0="blocked"), {2: 0}),
    (build_plan(("a", []), ("b", []), ("c", [0]), ("d", [1]), s0="blocked"), {2: 0}),
]


def test_ready_steps_cycles_and_hindered_steps(subtests: pytest.Subtests) -> None:
    for plan, ready in READY:
        with subtests.test(plan=plan, ready=ready):
            assert ready_steps(plan) == ready, format_plan(plan)
    for depends_on, cycle in CYCLES:
        with subtests.test(depends_on=depends_on, cycle=cycle):
            assert find_cycle(depends_on) == cycle
    for plan, hindered in HINDERED:
        with subtests.test(plan=plan, hindered=hindered):
            assert find_hindered_steps(plan) == hindered, format_plan(plan)


CHOSEN = [
    ("[browser] x", "", "browser"),
    ("[BROWSER] x", "", "browser"),
    ("[swe] x", "", "SWE"),
    ("[nobody] x", "", "manus"),
    ("x", "", "manus"),
    ("[0] then [browser] x", "", "browser"),
    ("[swe] x", "browser", "SWE"),
    ("x", "Browser", "browser"),
    ("[nobody] x", "browser", "browser"),
    ("x", "nobody", "manus"),
]


def test_the_executor_of_a_step(subtests: pytest.Subtests) -> None:
    for text, names, executor in CHOSEN:
        with subtests.test(text=text, names=names):
            step = build_plan(text)["steps"][0]
            step["executor"] = names
            assert executor_for(step, ["manus", "browser", "SWE"]) == executor, (text, names)


HYPHENS = [
    ("[data-analysis] x", ["manus", "data_analysis"], "data_analysis"),
    ("[Data-Analysis] x", ["manus", "data_analysis"], "data_analysis"),
    ("[my_agent] x", ["manus", "my-agent"], "my-agent"),
    ("[my-agent] x", ["manus", "my_agent", "My-Agent"], "My-Agent"),
    ("[a-b_c] x", ["manus", "a_b_c", "a-b-c"], "manus"),  # ambiguous
]


@pytest.mark.parametrize(("text", "names", "executor"), HYPHENS)
def test_a_hyphen_stands_for_an_underscore(text: str, names: list[str], executor: str) -> None:
    assert executor_for(build_plan(text)["steps"][0], names) == executor


AFTER_PLAN = [
    (None, "not_needed", "ready"),
    (None, "given", "ready"),
    (None, "wanted", "to_approve"),
    (None, "rejected", "rejected"),
    ("error", "wanted", "error"),
    ("plan_incomplete", "wanted", "cancelled"),
]


def test_after_plan(subtests: pytest.Subtests) -> None:
    for reason, approval, label in AFTER_PLAN:
        with subtests.test(reason=reason, approval=approval):
            state: Any = {
                "stop_reason": reason,
                "run": {"approval": approval},
                "plan": build_plan("a"),
            }
            assert route_after_plan(state) == label


AT_WORK = {"s0": "in_progress"}
BLOCKED = {"s0": "blocked"}
ENDED = {"s0": "blocked", "s1": "completed"}


AFTER_STEP: list[tuple[dict[str, str], dict[str, Any], Any]] = [
    ({}, {}, "ready_steps"),
    ({**AT_WORK, "s1": "in_progress"}, {}, [0, 1]),
    ({**AT_WORK, "s1": "completed"}, {}, "ended"),
    ({**AT_WORK, "s1": "blocked"}, {}, "ended"),
    (BLOCKED, {}, "blocked"),
    (BLOCKED, {"revised": ["a"]}, "ready_steps"),
    (BLOCKED, {"replans_left": 0}, "ready_steps"),
    (ENDED, {"replans_left": 0}, "complete"),
    (ENDED, {"revised": ["a"]}, "complete"),
    ({}, {"over": "tokens"}, "complete"),
    (BLOCKED, {"over": "tokens"}, "complete"),
    ({"s0": "completed", "s1": "completed"}, {}, "complete"),
]


def test_after_execute_step(subtests: pytest.Subtests) -> None:
    for statuses, run, label in AFTER_STEP:
        with subtests.test(statuses=statuses, run=run):
            plan = build_plan(("a", []), ("b", []), **statuses)
            state: Any = {
                "plan": fold_plan(plan, [{"step": i, "began": 7} for i in range(2)]),
                "run": {"replans_left": 2, "revised": [], "executors": ["manus"], **run},
                "messages": [HumanMessage("Do it.", id=str(uuid.uuid4()))],
            }
            route = route_after_execute_step(state)
            assert (
                route if isinstance(route, str) else [send.arg["step"] for send in route]
            ) == label


def test_invalid_executors() -> None:
    with pytest.raises(SettingsError, match="Profile `nobody`"):
        build_flow(("nobody",))
    with pytest.raises(UsageError, match="named `manus`"):
        build_flow(("manus", "Manus"))
    with pytest.raises(UsageError, match="at least one"):
        build_flow(())
