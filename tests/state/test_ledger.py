"""The ledger: what is promised and spent never exceeds what there is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from manus.state.budget import Budget
from manus.state.ledger import Ledger, as_budget

LIMIT = 100.0


def test_reserve_commit_refund() -> None:
    ledger = Ledger({"tokens": 100, "cost": 1.0})
    assert ledger.reserve("a", {"tokens": 60})
    assert not ledger.reserve("b", {"tokens": 50, "cost": 0.1})
    assert ledger.free("cost") == 1.0, "a refused promise takes nothing"
    assert ledger.reserve("b", {"tokens": 40})
    ledger.commit("a", {"tokens": 10})
    assert ledger.free("tokens") == 50
    ledger.refund("b")
    assert ledger.free("tokens") == 90
    assert ledger.free("seconds") == float("inf")


def test_a_promise_is_made_once() -> None:
    ledger = Ledger({"tokens": 100})
    ledger.reserve("a", {"tokens": 1})
    with pytest.raises(ValueError, match="a promise already"):
        ledger.reserve("a", {"tokens": 1})


def test_shares_of_what_is_free() -> None:
    ledger = Ledger({"tokens": 91, "cost": 1.0}, spent={"tokens": 30})
    assert ledger.share("a", 2) == {"tokens": 30, "cost": 0.5}
    assert ledger.share("b", 1) == {"tokens": 31, "cost": 0.5}
    assert ledger.free("tokens") == 0


def test_who_needs_more_can_have_what_nobody_else_was_promised() -> None:
    ledger = Ledger({"tokens": 100})
    ledger.share("a", 2)
    ledger.share("b", 1)
    assert ledger.limit_of("b", "tokens") == 50
    ledger.commit("a", {"tokens": 10})
    assert ledger.limit_of("b", "tokens") == 90
    ledger.note("b", {"tokens": 70})
    assert (ledger.limit_of("b", "tokens"), ledger.free("tokens")) == (90, 20)


def test_the_state_holds_all_of_it() -> None:
    ledger = Ledger({"tokens": 100}, {"tokens": 5})
    ledger.share("0", 2)
    again = Ledger.of(ledger.account())
    assert (again.free("tokens"), again.promised) == (ledger.free("tokens"), ledger.promised)
    again.commit("0", {"tokens": 1})
    assert "0" in ledger.promised, "a ledger that is made again is one of its own"


def test_a_budget_fills_in_what_it_does_not_set() -> None:
    settings = Budget(tokens=100, seconds=5)
    assert Budget(tokens=10, cost=1).over(settings) == Budget(tokens=10, cost=1, seconds=5)
    assert Budget().over(settings) == settings
    assert Budget(tokens=7, seconds=5).limits() == {"tokens": 7.0}


def test_a_share_of_nothing_is_still_a_budget() -> None:
    share = {"tokens": 0.0, "cost": 0.0, "model_calls": 0.0, "tool_calls": 0.0}
    assert Budget(**as_budget(share, -1.0)).tokens == 1


class Sharing(RuleBasedStateMachine):
    """Several draw on one ledger, and ask before each call; one call may be larger than said."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger({"tokens": LIMIT})
        self.done = 0.0
        self.used: dict[str, float] = {}
        self.too_much = 0.0

    @precondition(lambda self: len(self.used) < 4)
    @rule(name=st.integers(0, 9), wanted=st.floats(0, 150))
    def reserve(self, name: int, wanted: float) -> None:
        who = str(name)
        if who in self.used:
            return
        fits = wanted <= self.ledger.free("tokens")
        assert self.ledger.reserve(who, {"tokens": wanted}) is fits
        if fits:
            self.used[who] = 0.0

    @precondition(lambda self: self.used)
    @rule(data=st.data(), part=st.floats(0, 1))
    def call(self, data: st.DataObject, part: float) -> None:
        """A call that keeps to what its caller may use, that of others left over included."""
        who = data.draw(st.sampled_from(sorted(self.used)))
        room = max(0.0, self.ledger.limit_of(who, "tokens") - self.used[who])
        self.used[who] += part * room
        self.ledger.note(who, {"tokens": self.used[who]})

    @precondition(lambda self: self.used and not self.too_much)
    @rule(data=st.data(), more=st.floats(0, 50))
    def call_too_large(self, data: st.DataObject, more: float) -> None:
        """The one call that was under way when there was no more room."""
        who = data.draw(st.sampled_from(sorted(self.used)))
        room = max(0.0, self.ledger.limit_of(who, "tokens") - self.used[who])
        self.used[who] += room + more
        self.too_much = more
        self.ledger.note(who, {"tokens": self.used[who]})

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        who = data.draw(st.sampled_from(sorted(self.used)))
        before = self.ledger.free("tokens")
        unused = max(0.0, self.ledger.promised[who]["tokens"] - self.used[who])
        self.ledger.commit(who, {"tokens": self.used[who]})
        self.done += self.used.pop(who)
        if not self.too_much:
            assert self.ledger.free("tokens") == pytest.approx(before + unused)

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def refund(self, data: st.DataObject) -> None:
        unused = sorted(who for who, used in self.used.items() if not used)
        if not unused:
            return
        who = data.draw(st.sampled_from(unused))
        self.ledger.refund(who)
        del self.used[who]

    @invariant()
    def never_more_than_there_is(self) -> None:
        promised = self.ledger.promised
        open_ = sum(max(promised[who]["tokens"], used) for who, used in self.used.items())
        assert set(promised) == set(self.used)
        assert self.done + open_ <= LIMIT + self.too_much + 1e-6
        assert self.ledger.spent.get("tokens", 0.0) == pytest.approx(self.done)


Sharing.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestSharing = Sharing.TestCase


@given(st.integers(1, 6), st.floats(1, 1e6), st.floats(0, 1))
def test_shares_together_are_all_there_is(parts: int, limit: float, spent: float) -> None:
    ledger = Ledger({"cost": limit}, {"cost": spent * limit})
    shares = [ledger.share(str(n), parts - n)["cost"] for n in range(parts)]
    assert sum(shares) == pytest.approx(limit - spent * limit)
    assert ledger.free("cost") == pytest.approx(0, abs=1e-6 * limit)
