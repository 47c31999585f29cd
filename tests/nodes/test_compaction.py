"""What is taken out of a history, and what stays whole."""

from __future__ import annotations

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from manus.nodes.context.compaction import SUMMARY, cut_of, turns_of, writes_of
from manus.state.messages import append_messages
from tests.helpers.agent import assert_paired


def turn(number: int, *, answered: int = 2) -> list[AnyMessage]:
    """An assistant message with two calls, so many of them answered."""
    ids = [f"{number}a", f"{number}b"]
    calls = [{"id": one, "name": "look", "args": {}} for one in ids]
    answers = [ToolMessage("seen", tool_call_id=one, id=f"t{one}") for one in ids[:answered]]
    return [AIMessage("", tool_calls=calls, id=f"a{number}"), *answers]


def user(number: int) -> HumanMessage:
    return HumanMessage(f"request {number}", id=f"u{number}")


def one(_: BaseMessage) -> float:
    return 1.0


def test_the_oldest_turns_go_as_a_whole_until_there_is_room() -> None:
    history = [user(1), *turn(1), *turn(2), user(2), *turn(3), *turn(4), *turn(5), *turn(6)]
    assert len(turns_of(history)) == 6
    cut = cut_of(history, 15, one)
    assert cut is not None
    assert [m.id for m in cut.evicted] == ["a1", "t1a", "t1b", "a2", "t2a", "t2b"]
    assert [m for m in cut.kept if isinstance(m, HumanMessage)] == [user(1), user(2)]
    after = append_messages(list(history), [writes_of(cut, "notes")])
    assert [m.id for m in after][:3] == ["u1", "a1", "u2"]
    assert isinstance(after[1], SystemMessage)
    assert_paired(after)


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_the_last_turns_stay_whole_however_little_room_there_is(kept: int) -> None:
    history = [user(1), *turn(1), *turn(2), *turn(3), *turn(4), *turn(5)]
    cut = cut_of(history, 0, one, kept)
    assert cut is not None
    assert cut.kept == [user(1), *(m for n in range(6 - kept, 6) for m in turn(n))]


@pytest.mark.parametrize("answered", [0, 1])
def test_a_turn_whose_calls_are_open_stays_whole(answered: int) -> None:
    still_open = turn(2, answered=answered)
    history = [user(1), *turn(1), *still_open, *turn(3), *turn(4), *turn(5)]
    cut = cut_of(history, 0, one, 1)
    assert cut is not None
    assert cut.kept == [user(1), *still_open, *turn(5)]


def test_where_nothing_can_go_nothing_does() -> None:
    assert cut_of([user(1)], 0, one) is None
    assert cut_of([user(1), *turn(1), *turn(2), *turn(3)], 0, one) is None
    assert cut_of([user(1), *turn(1), *turn(2)], 100, one, 1) is None


def test_the_notes_of_before_are_replaced_by_the_new_ones() -> None:
    notes = SystemMessage("head\n- a [#1]", id="a0", additional_kwargs={SUMMARY: True})
    history = [user(1), notes, *turn(1), *turn(2)]
    cut = cut_of(history, 0, one, 1)
    assert cut is not None
    assert (cut.notes, cut.place, notes in cut.kept) == (["- a [#1]"], "a0", False)
    after = append_messages(list(history), [writes_of(cut, "new")])
    assert [m.text for m in after if isinstance(m, SystemMessage)] == ["new"]
    assert_paired(after)
