"""Changes of a plan: what is kept, and which changes are invalid."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.state.errors import PlanError
from manus.state.plan import Plan, StepResult, find_cycle
from manus.state.plan_changes import (
    create,
    fold_plan,
    fold_plans,
    mark,
    merge_edit,
    revise,
    start_first,
    update,
)
from tests.flow.test_plan import build_plan

RESULT = StepResult(text="42", files=["a.txt"], tokens=7)


def texts(*steps: str) -> list[Any]:
    return [{"text": step} for step in steps]


def depends(plan: Plan) -> list[list[int]]:
    return [step["depends_on"] for step in plan["steps"]]


def test_steps_depend_on_the_previous_one_by_default() -> None:
    steps: Any = [
        {"text": "a"},
        {"text": "b"},
        {"text": "c", "depends_on": []},
        {"text": "d", "depends_on": [2, 0, 2]},
    ]
    assert depends(create("p", "P", steps)) == [[], [0], [], [0, 2]]


def test_update_keeps_the_data_of_unchanged_steps_that_moved() -> None:
    plan = build_plan("a", "b", "c", s0="completed")
    plan = fold_plan(plan, [{"step": 0, "notes": "n", "result": RESULT}])
    moved = update(plan, None, texts("x", "a", "b2"))
    assert [s["status"] for s in moved["steps"]] == ["not_started", "completed", "not_started"]
    assert (moved["steps"][1]["notes"], moved["steps"][1]["result"]) == ("n", RESULT)
    assert moved["steps"][2]["notes"] == ""
    assert plan["steps"][0]["text"] == "a"  # the old plan is unchanged
    # a step after a blocked one depends on the step before that
    plan = build_plan("a", "b", s0="completed", s1="blocked")
    assert depends(update(plan, None, texts("a", "b", "instead of b"))) == [[], [0], [0]]
    # but one that depends on the blocked step explicitly still does, unless it moved
    plan = build_plan("a", "b", "c", "d", s0="completed", s1="blocked")
    assert depends(update(plan, None, texts("a", "b", "c", "d"))) == [[], [0], [1], [2]]
    assert depends(update(plan, None, texts("a", "d", "b", "c"))) == [[], [0], [1], [2]]


def test_a_revision_keeps_completed_steps_even_if_they_are_left_out() -> None:
    plan = build_plan("a", "b", "c", s0="completed", s1="blocked")
    revised = revise(plan, [{"text": "b2"}, {"text": "c", "depends_on": [0]}])
    assert [(s["text"], s["status"]) for s in revised["steps"]] == [
        ("a", "completed"),
        ("b2", "not_started"),
        ("c", "not_started"),
    ]
    assert depends(revised) == [[], [0], [1]]
    assert [s["text"] for s in revised["dropped"]] == ["b"]
    # a step with the same text as a completed one is still to be done
    plan = build_plan("check", "repair", "check", s0="completed", s1="blocked")
    steps = revise(plan, texts("fix", "check"))["steps"]
    is_completed = [(step["text"], step["status"] == "completed") for step in steps]
    assert is_completed == [("check", True), ("fix", False), ("check", False)]


UNFIT: list[tuple[Callable[[], object], str]] = [
    (lambda: create("p", "P", []), "A plan needs at least one step"),
    (lambda: create("p", "P", texts("a", " ")), "Step 1 is empty"),
    (lambda: mark(build_plan("a", "b"), 2, "completed"), "the plan has steps 0 to 1"),
    (lambda: mark(build_plan("a"), -1, "completed"), "the plan has only step 0"),
    (
        lambda: mark(build_plan("a"), 0, "done"),  # type: ignore[arg-type]
        "'not_started', 'in_progress', 'completed' or 'blocked'",
    ),
    (lambda: build_plan(("a", [4]), "b"), "Step 0 depends on step 4, which does not exist"),
    (lambda: build_plan(("a", [1]), "b"), "0 → 1 → 0"),
    (lambda: build_plan(("a", []), ("b", [1])), "1 → 1"),
    (lambda: merge_edit(build_plan("a"), {"title": "x"}), "an object with `steps`"),
    (lambda: merge_edit(build_plan("a"), {"steps": [1]}), "an object with `steps`"),
]


def test_invalid_changes_are_reported(subtests: pytest.Subtests) -> None:
    for change, message in UNFIT:
        is_refused = pytest.raises(PlanError, match=re.escape(message))
        with subtests.test(message=message), is_refused:
            change()


def test_a_person_may_send_back_texts_or_whole_steps() -> None:
    plan = fold_plan(build_plan("a", "b", s0="completed"), [{"step": 0, "result": RESULT}])
    edited = merge_edit(plan, {"steps": ["a", {"text": "b", "status": "blocked"}, "a"]})
    assert [s["status"] for s in edited["steps"]] == ["completed", "blocked", "not_started"]
    assert edited["steps"][0]["result"] == RESULT
    assert (edited["id"], edited["title"]) == ("p", "Plan")
    moved = merge_edit(plan, {"steps": ["a", "between", "b"]})
    assert depends(moved) == [[], [0], [1]], "its dependencies move with it"


def test_whole_steps_that_have_moved_wait_for_the_same_steps(subtests: pytest.Subtests) -> None:
    plan = build_plan(("a", []), ("b", []), ("c", [0]), ("d", [1]))
    a, b, c, d = plan["steps"]
    before: list[tuple[list[Any], list[list[int]]]] = [
        (["z", a, b, c, d], [[], [0], [], [1], [2]]),
        ([b, a, c, d], [[], [0], [1], [0]]),
        ([a, b, d], [[], [], [1]]),
        ([a, b, c, {**d, "depends_on": [2]}], [[], [], [0], [2]]),
        (["z", a, b, c, {**d, "depends_on": [3]}], [[], [0], [], [1], [3]]),
        ([a, b, c, d, "e"], [[], [], [0], [1], [3]]),
    ]
    for steps, expected in before:
        with subtests.test(steps=steps, expected=expected):
            assert depends(merge_edit(plan, {"steps": steps})) == expected


def test_plans_are_folded_by_id_without_changing_the_old_ones() -> None:
    plans = {"p": build_plan("a")}
    assert fold_plans(plans, [{"q": build_plan("b")}, {"p": None}]).keys() == {"q"}
    assert plans.keys() == {"p"}


def test_the_first_unfinished_step_is_started_once() -> None:
    plan = build_plan("a", "b", "c", s0="completed")
    started = start_first(plan)
    assert [s["status"] for s in started["steps"]] == ["completed", "in_progress", "not_started"]
    assert start_first(started) is started
    result = mark(mark(started, 1, "completed"), 2, "completed")
    assert start_first(result) is result


writes = st.lists(
    st.one_of(
        st.builds(
            lambda i, s: {"step": i, "status": s},
            st.integers(0, 2),
            st.sampled_from(["completed", "blocked", "in_progress"]),
        ),
        st.builds(
            lambda steps: {"steps": [*steps, "z", "zz", "zzz"]},
            st.lists(st.sampled_from("abc"), max_size=4),
        ),
    ),
    max_size=6,
)


@given(writes, writes)
def test_writes_fold_alike_in_one_batch_and_in_two(first: list[Any], second: list[Any]) -> None:
    plan = build_plan("a", "b", "c")
    assert fold_plan(fold_plan(plan, first), second) == fold_plan(plan, [*first, *second])


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), st.data())
def test_an_update_never_creates_a_cycle(steps: list[str], data: Any) -> None:
    plan = build_plan(("a", []), ("b", [0]), ("c", [0]), ("d", [1, 2]), s1="blocked")
    order = data.draw(st.permutations(steps))
    assert find_cycle(depends(update(plan, None, texts(*order)))) is None
