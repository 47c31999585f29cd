"""Going round in circles, section 4 of the contract: every rule, and what is none."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.nodes.turn.loop_detection import Finding, find_circle
from manus.tools.result import Image, Observation

Made = tuple[str, dict[str, Any], str]

_ids = itertools.count()


def step(*made: Made, text: str = "", errors: bool = False) -> list[AnyMessage]:
    """An assistant message with calls (name, arguments, observation), and their tool messages."""
    ids = [str(next(_ids)) for _ in made]
    calls = [
        {"name": name, "args": args, "id": id_, "type": "tool_call"}
        for (name, args, _), id_ in zip(made, ids, strict=True)
    ]
    status = "error" if errors else "success"
    answers = [
        ToolMessage(seen, tool_call_id=id_, name=name, status=status)
        for (name, _, seen), id_ in zip(made, ids, strict=True)
    ]
    return [AIMessage(text, tool_calls=calls), *answers]


def joined(steps: Iterable[list[AnyMessage]]) -> list[AnyMessage]:
    return [message for one in steps for message in one]


def found_in(*steps: list[AnyMessage], threshold: int = 2) -> Finding | None:
    return find_circle(joined(steps), threshold)


def kind_in(*steps: list[AnyMessage], threshold: int = 2) -> str | None:
    finding = found_in(*steps, threshold=threshold)
    return finding.kind if finding is not None else None


def ls(seen: str = "a b") -> list[AnyMessage]:
    return step(("bash", {"command": "ls"}, seen))


def test_no_history_is_no_circle() -> None:
    assert find_circle([]) is None
    assert find_circle([HumanMessage("Hello.")]) is None


class TestRepeatedCalls:
    def test_the_third_call_with_the_same_observation_is_one(self) -> None:
        assert kind_in(ls(), ls()) is None
        assert kind_in(ls(), ls(), ls()) == "call"

    def test_it_names_the_call_and_what_came_of_it(self) -> None:
        finding = found_in(ls(), ls(), ls())
        assert finding is not None
        assert all(word in finding.what for word in ("`bash`", "ls", "3 times", "a b"))
        assert finding.calls == ({"name": "bash", "args": {"command": "ls"}},)

    def test_the_order_of_keys_makes_no_difference(self) -> None:
        one = {"path": "a", "range": {"from": 1, "to": 2}}
        other = {"range": {"to": 2, "from": 1}, "path": "a"}
        again = [step(("view", args, "text")) for args in (one, other, one)]
        assert json.dumps(one) != json.dumps(other)
        assert kind_in(*again) == "call"

    def test_nor_does_the_letter_case_of_the_tool(self) -> None:
        assert kind_in(*(step((name, {}, "x")) for name in ("Bash", "bash", "BASH"))) == "call"

    def test_what_is_said_beside_the_calls_makes_no_difference(self) -> None:
        assert kind_in(*(step(("bash", {}, "x"), text=said) for said in "abc")) == "call"

    def test_an_error_three_times_is_one_however_it_is_worded(self) -> None:
        tries = [step(("bash", {}, f"failed ({n})"), errors=True) for n in range(3)]
        assert kind_in(*tries[:2]) is None
        assert kind_in(*tries) == "error"

    def test_an_error_is_not_an_observation_of_the_same_words(self) -> None:
        good, bad = step(("bash", {}, "x")), step(("bash", {}, "x"), errors=True)
        assert kind_in(good, bad, good) is None

    def test_other_repetitions_in_between_change_nothing(self) -> None:
        pwd = ("bash", {"command": "pwd"}, "/")
        assert kind_in(ls(), step(pwd), ls(), step(pwd), ls()) == "call"

    def test_each_call_of_a_message_counts(self) -> None:
        tries = [
            step(("read", {"path": "a"}, "text"), ("bash", {"n": n}, "no"), errors=True)
            for n in range(3)
        ]
        assert kind_in(*tries) == "error"

    def test_three_times_in_one_message_count_too(self) -> None:
        assert kind_in(step(*[("bash", {"command": "ls"}, "a")] * 3)) == "call"

    def test_a_malformed_call_again_and_again_is_one(self) -> None:
        def malformed(number: int) -> list[AnyMessage]:
            bad = {"name": "bash", "args": "{", "id": str(number), "error": None}
            asked = AIMessage("", invalid_tool_calls=[{**bad, "type": "invalid_tool_call"}])
            return [asked, ToolMessage("No.", tool_call_id=str(number), status="error")]

        assert kind_in(malformed(1), malformed(2)) is None
        assert kind_in(malformed(1), malformed(2), malformed(3)) == "error"

    def test_pictures_are_compared_too(self) -> None:
        def shot(number: int, data: str) -> list[AnyMessage]:
            call = {"name": "shot", "args": {}, "id": str(number), "type": "tool_call"}
            seen = Observation("page", (Image(data),)).content()
            return [AIMessage("", tool_calls=[call]), ToolMessage(seen, tool_call_id=str(number))]

        assert kind_in(shot(1, "aa"), shot(2, "bb"), shot(3, "cc")) is None
        assert kind_in(shot(1, "aa"), shot(2, "aa"), shot(3, "aa")) == "call"


class TestCycles:
    @pytest.mark.parametrize("length", [2, 3, 4, 5])
    def test_a_cycle_three_times_over_is_one_and_names_all_its_calls(self, length: int) -> None:
        round_ = [step(("bash", {"n": n}, f"seen {n}")) for n in range(length)]
        finding = found_in(*round_ * 3)
        assert finding is not None
        assert finding.kind == "cycle"
        assert [call["args"]["n"] for call in finding.calls] == list(range(length))

    @pytest.mark.parametrize("length", [2, 3, 4, 5])
    def test_twice_over_is_none(self, length: int) -> None:
        round_ = [step(("bash", {"n": n}, f"seen {n}")) for n in range(length)]
        assert found_in(*round_ * 2) is None

    def test_a_cycle_of_errors_is_one(self) -> None:
        round_ = [step(("bash", {"n": n}, "no"), errors=True) for n in range(2)]
        assert kind_in(*round_ * 3) == "cycle"

    def test_a_cycle_in_which_something_changes_is_none(self) -> None:
        def rounds() -> Iterable[list[AnyMessage]]:
            for n in range(4):
                yield step(("edit", {"line": n}, "edited"))
                yield step(("bash", {"command": "make test"}, f"{n} failed"))

        assert kind_in(*rounds()) is None

    def test_one_call_over_and_over_is_no_cycle(self) -> None:
        assert kind_in(*[ls()] * 6) == "call"


class TestTexts:
    def test_the_third_time_is_one(self) -> None:
        assert kind_in(step(text="I think.")) is None
        assert kind_in(*[step(text="I think.")] * 2) is None
        assert kind_in(*[step(text="I think.")] * 3) == "text"

    @pytest.mark.parametrize("threshold", [1, 2, 3, 5])
    def test_the_threshold_counts_the_earlier_ones(self, threshold: int) -> None:
        said = step(text="I think.")
        assert kind_in(*[said] * threshold, threshold=threshold) is None
        assert kind_in(*[said] * (threshold + 1), threshold=threshold) == "text"

    def test_they_need_not_be_next_to_each_other(self) -> None:
        steps = [step(text=said) for said in ("A.", "B.", " A.\n", "C.", "A.")]
        assert kind_in(*steps) == "text"

    def test_only_the_newest_counts(self) -> None:
        assert kind_in(*[step(text="A.")] * 2, step(text="B.")) is None

    def test_a_phrase_beside_different_calls_is_none(self) -> None:
        steps = [step(("bash", {"n": n}, f"seen {n}"), text="Let me look.") for n in range(6)]
        assert kind_in(*steps, threshold=1) is None

    def test_nor_beside_the_same_call_whose_observation_changes(self) -> None:
        steps = [step(("poll", {}, f"{n} %"), text="Let me wait.") for n in range(6)]
        assert kind_in(*steps, threshold=1) is None

    def test_beside_the_same_call_with_the_same_observation_it_is_one(self) -> None:
        again = step(("bash", {}, "x"), text="Let me look.")
        assert kind_in(again, again, threshold=1) == "text"

    def test_unless_something_new_came_in_between(self) -> None:
        look = step(("view", {"path": "a"}, "text"), text="Let me look.")
        edit = step(("edit", {"path": "b"}, "edited"))
        assert kind_in(look, edit, look, threshold=1) is None


class TestSilence:
    def test_three_messages_with_nothing_in_them_are_one(self) -> None:
        assert kind_in(*[step(text="")] * 2) is None
        assert kind_in(*[step(text=" \n")] * 3) == "silence"

    def test_they_have_to_be_in_a_row(self) -> None:
        assert kind_in(step(), step(), step(text="Hm."), step()) is None

    def test_a_call_is_not_silent(self) -> None:
        assert kind_in(step(), step(), ls()) is None


class TestWhatIsNone:
    def test_polling_whose_observation_changes(self) -> None:
        assert kind_in(*(ls(f"{n} files") for n in range(20))) is None

    def test_polling_that_stands_still_at_last_is_one(self) -> None:
        assert kind_in(*(ls(f"{n} files") for n in (1, 2, 3, 3, 3))) == "call"

    def test_one_tool_over_a_list_of_items(self) -> None:
        assert kind_in(*(step(("read", {"path": f"{n}"}, "same")) for n in range(20))) is None

    def test_a_view_repeated_after_an_edit(self) -> None:
        view = step(("view", {"path": "a"}, "text of a"))
        edits = [step(("edit", {"line": n}, "edited")) for n in range(4)]
        assert kind_in(view, edits[0], view, edits[1], view, edits[2], view) is None

    def test_a_failing_test_run_between_different_edits(self) -> None:
        test = step(("bash", {"command": "make test"}, "1 failed"), errors=True)
        edits = [step(("edit", {"line": n}, "edited")) for n in range(4)]
        assert kind_in(test, edits[0], test, edits[1], test) is None

    def test_but_edits_that_all_fail_are_no_progress(self) -> None:
        test = step(("bash", {"command": "make test"}, "1 failed"), errors=True)
        edits = [step(("edit", {"line": n}, "no such text"), errors=True) for n in range(3)]
        assert kind_in(test, edits[0], test, edits[1], test) == "error"


_CALL = st.tuples(st.sampled_from(["read", "edit"]), st.integers(0, 2), st.sampled_from("xy"))
_HISTORY = st.lists(st.lists(_CALL, max_size=2), max_size=12)


def built(history: list[list[tuple[str, int, str]]], text: str = "") -> list[AnyMessage]:
    return joined(
        step(*((name, {"n": n, "m": 0}, seen) for name, n, seen in calls), text=text)
        for calls in history
    )


def reordered(message: AnyMessage) -> AnyMessage:
    if not isinstance(message, AIMessage):
        return message
    calls = [{**c, "args": dict(reversed(c["args"].items()))} for c in message.tool_calls]
    return message.model_copy(update={"tool_calls": calls})


@given(_HISTORY)
def test_the_order_of_keys_never_matters(history: list[list[tuple[str, int, str]]]) -> None:
    messages = built(history, text="So.")
    expected = find_circle(messages)
    found = find_circle([reordered(message) for message in messages])
    assert (found and found.kind) == (expected and expected.kind)


@given(_HISTORY)
def test_what_is_new_is_never_a_circle(history: list[list[tuple[str, int, str]]]) -> None:
    new = step(("bash", {"command": "never before"}, "never seen"))
    assert find_circle([*built(history), *new]) is None


@given(_HISTORY, st.sampled_from(["", "Again."]))
def test_the_same_step_three_times_in_a_row_is_always_a_circle(
    history: list[list[tuple[str, int, str]]], text: str
) -> None:
    assert find_circle([*built(history), *joined([ls()] * 3)]) is not None
    assert find_circle([*built(history), *joined([step(text=text)] * 3)]) is not None


@given(st.lists(st.integers(), unique=True, min_size=1, max_size=15))
def test_a_list_of_items_is_never_a_circle(items: list[int]) -> None:
    work = [step(("read", {"item": item}, "same"), text="Next.") for item in items]
    assert find_circle(joined(work), duplicate_threshold=1) is None
