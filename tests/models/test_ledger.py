"""The ledger of a run and of the runs nested in it."""

import asyncio

import pytest

from manus.models.ledger import UsageLedger
from manus.state.errors import BudgetError
from manus.state.usage import Budget, Spending, no_usage


def spending(role: str, tokens: int, **options: float) -> Spending:
    entry = Spending(
        role=role, input_tokens=tokens, output_tokens=0, cached_tokens=0, model_calls=1
    )
    return {**entry, **options}  # type: ignore[typeddict-item]


def test_a_call_is_recorded_for_the_run_and_its_node() -> None:
    ledger = UsageLedger(Budget(tokens=100))
    entries = ledger.start(no_usage())
    ledger.book(spending("main", 40, cost=0.25))
    assert entries == [spending("main", 40, cost=0.25)]
    assert (ledger.used["input_tokens"], ledger.used["cost"]) == (40, 0.25)
    usage = ledger.count(entries, {**no_usage(), "input_tokens": 2, "seconds": 5.0})
    assert (usage["input_tokens"], usage["model_calls"]) == (42, 1)
    assert usage["roles"]["main"]["input_tokens"] == 40
    assert usage["seconds"] >= 5.0


@pytest.mark.parametrize(
    ("limits", "room", "over"),
    [
        pytest.param(Budget(tokens=41), True, None, id="tokens left"),
        pytest.param(Budget(tokens=40), False, "tokens (40 of 40)", id="tokens"),
        pytest.param(Budget(cost=0.25), False, "cost (0.25 of 0.25)", id="cost"),
        pytest.param(Budget(model_calls=1), False, "model calls (1 of 1)", id="model calls"),
        pytest.param(Budget(tool_calls=0), True, None, id="a last call without tools is allowed"),
    ],
)
def test_a_reached_limit_forbids_another_call(limits: Budget, room: bool, over: str | None) -> None:
    ledger = UsageLedger(limits)
    ledger.book(spending("main", 40, cost=0.25))
    assert ledger.over == over
    if room:
        ledger.check()
        return
    with pytest.raises(BudgetError) as caught:
        ledger.check()
    assert caught.value.over == over


def test_a_nested_run_counts_against_the_limits_of_the_outermost() -> None:
    outer = UsageLedger(Budget(tokens=100))
    inner = UsageLedger(Budget(tokens=5), UsageLedger(outer=outer))
    inner.book(spending("main", 60))
    assert (inner.limits, inner.over) == (Budget(tokens=100), None)
    inner.sync(no_usage())  # a node of the nested run starts
    assert outer.used["input_tokens"] == 60
    inner.restore({**no_usage(), "input_tokens": 40, "seconds": 900.0})
    assert outer.over == inner.over == "tokens (100 of 100)"
    assert outer.used["seconds"] < 900, "the outermost run counts the time"


async def test_concurrent_nodes_have_their_own_entries() -> None:
    ledger = UsageLedger()
    has_started = asyncio.Barrier(3)

    async def work(role: str) -> list[Spending]:
        entries = ledger.start()
        await has_started.wait()
        ledger.book(spending(role, 1))
        return entries

    booked = await asyncio.gather(*map(work, ("a", "b", "c")))
    assert [[entry["role"] for entry in entries] for entries in booked] == [["a"], ["b"], ["c"]]
    assert ledger.used["model_calls"] == 3
