"""The purse: a call is made only if there is room for it, in its own share and in the whole."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.models.purse import Purse
from manus.models.reply_figures import Reply
from manus.state.agent import Usage, no_usage
from manus.state.budget import Budget
from manus.state.errors import BudgetError
from manus.state.ledger import Ledger, as_budget


def reply(tokens: int) -> Reply:
    return Reply(AIMessage("x"), tokens, 0, 0, estimated=False, seconds=0.1)


def used(tokens: int) -> Usage:
    return {**no_usage(), "input_tokens": tokens, "model_calls": 1}


async def spend(purse: Purse, estimate: float, tokens: int) -> None:
    """A call that was taken to need so many tokens, and took so many."""
    async with purse.call({"tokens": estimate, "model_calls": 1}) as paid:
        paid.append(reply(tokens))


def family(limit: int, *shares: str) -> tuple[Purse, list[Purse]]:
    """The purse of a flow and those of its steps, each with an equal share."""
    whole = Purse(Budget(tokens=limit))
    ledger = Ledger({"tokens": float(limit)})
    for place, who in enumerate(shares):
        ledger.share(who, len(shares) - place)
    whole.open(ledger.account(), batch=1)
    steps = []
    for who in shares:
        step = Purse(Budget(**as_budget(ledger.promised[who])))
        step.draw_on(whole, who)
        steps.append(step)
    return whole, steps


async def test_without_limits_anything_goes() -> None:
    purse = Purse(Budget(seconds=1))
    await spend(purse, 1e9, 10**9)
    assert purse.budget == Budget(seconds=1)


async def test_the_only_call_under_way_may_use_more_than_is_left() -> None:
    purse = Purse(Budget(tokens=100))
    await spend(purse, 70, 70)
    await spend(purse, 70, 70)
    with pytest.raises(BudgetError, match=r"tokens \(140 of 100\)"):
        await spend(purse, 1, 1)


async def test_a_call_that_failed_has_used_nothing() -> None:
    purse = Purse(Budget(tokens=100))
    with pytest.raises(RuntimeError):
        async with purse.call({"tokens": 100}):
            raise RuntimeError("the server is down")
    await spend(purse, 100, 100)


async def test_the_state_has_the_last_word() -> None:
    purse = Purse(Budget(tokens=100))
    await spend(purse, 10, 10)
    purse.sync(used(95))
    async with purse.call({"tokens": 5}):
        pass
    purse.sync(used(100))
    with pytest.raises(BudgetError):
        await spend(purse, 1, 1)


class TestSteps:
    async def test_each_keeps_to_its_share(self) -> None:
        whole, (one, other) = family(200, "0", "1")
        await spend(one, 90, 90)
        with pytest.raises(BudgetError, match=r"tokens \(90 of 100\)"):
            await spend(one, 20, 20)
        await spend(other, 100, 100)
        assert whole.ledger.free("tokens") == 0

    async def test_what_one_leaves_over_the_other_can_have(self) -> None:
        whole, (one, other) = family(200, "0", "1")
        await spend(one, 20, 20)
        whole.close("0", used(20))
        assert other.budget.tokens == 180
        await spend(other, 150, 150)
        assert whole.ledger.free("tokens") == 30

    async def test_what_one_used_too_much_the_others_do_not_have(self) -> None:
        """The estimate was too low; nobody goes beyond its share for that."""
        whole, (one, _, third) = family(300, "0", "1", "2")
        await spend(one, 90, 150)
        whole.close("0", used(150))
        assert whole.ledger.free("tokens") == 0
        await spend(third, 100, 100)
        with pytest.raises(BudgetError):
            await spend(third, 1, 1)

    async def test_the_last_one_may_use_more_than_is_left(self) -> None:
        whole, (one, other) = family(200, "0", "1")
        whole.close("0", used(100))
        await spend(other, 90, 90)
        await spend(other, 90, 90)
        assert whole.ledger.free("tokens") == 0
        del one

    async def test_a_step_that_goes_on_after_a_crash(self) -> None:
        """The whole is not told what siblings used that had ended; it counts all of their share."""
        whole, (_, other) = family(200, "0", "1")
        other.sync(used(60))
        assert whole.ledger.free("tokens") == 0
        assert other.budget.tokens == 100
        await spend(other, 40, 40)
        with pytest.raises(BudgetError):
            await spend(other, 1, 1)

    async def test_promises_are_opened_once_a_batch(self) -> None:
        whole, (one, _) = family(200, "0", "1")
        await spend(one, 10, 10)
        whole.close("0", used(10))
        whole.open(Ledger({"tokens": 200.0}, promised={"0": {"tokens": 100.0}}).account(), batch=1)
        assert "0" not in whole.ledger.promised
        whole.open(Ledger({"tokens": 200.0}, promised={"0": {"tokens": 100.0}}).account(), batch=2)
        assert whole.ledger.promised == {"0": {"tokens": 100.0}}


@pytest.mark.parametrize("sizes", [[10] * 12, [5, 60, 5, 60], [49, 1, 49, 2]])
async def test_calls_of_any_order_never_use_more_than_the_whole(sizes: list[Any]) -> None:
    """Three steps in turn, each call as large as it was taken to be."""
    whole, steps = family(150, "0", "1", "2")
    spent = 0
    for number, size in enumerate(sizes * 3):
        try:
            await spend(steps[number % 3], size, size)
        except BudgetError:
            continue
        spent += size
    assert spent <= 150
    assert spent >= 150 - 3 * max(sizes)
    del whole
