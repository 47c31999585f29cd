"""The ledger: what is promised and spent never exceeds what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.ledger import Ledger


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


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 60), st.floats(0, 1)), max_size=40))
def test_who_keeps_to_its_promise_never_overspends(acts: list[tuple[int, float, float]]) -> None:
    ledger = Ledger({"tokens": 100.0})
    for who, wanted, part in acts:
        name = str(who)
        if name in ledger.promised:
            ledger.commit(name, {"tokens": part * ledger.promised[name]["tokens"]})
        else:
            ledger.reserve(name, {"tokens": wanted})
        open_ = sum(share["tokens"] for share in ledger.promised.values())
        assert ledger.spent.get("tokens", 0.0) + open_ <= 100.0 + 1e-9
