"""Calls side by side: as many as fit even at their largest; the others wait for their turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manus.models.purse import Purse
from manus.state.budget import Budget
from manus.state.errors import BudgetError
from tests.nodes.test_purse import family, reply, used


@dataclass
class Call:
    """A call that ends when it is told to, and has then used `size` tokens."""

    purse: Purse
    estimate: float
    most: float
    size: int
    is_under_way: bool = False
    end: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    async def make(self) -> None:
        async with self.purse.call({"tokens": self.estimate}, {"tokens": self.most}) as paid:
            self.is_under_way = True
            try:
                await self.end.wait()
                paid.append(reply(self.size))
            finally:
                self.is_under_way = False

    async def begin(self) -> Call:
        self.task = asyncio.create_task(self.make())
        await settled()
        return self

    async def finish(self) -> None:
        self.end.set()
        await settled()

    @property
    def state(self) -> str:
        assert self.task is not None
        if not self.task.done():
            return "under way" if self.is_under_way else "waits"
        if self.task.cancelled():
            return "cancelled"
        return "refused" if isinstance(self.task.exception(), BudgetError) else "done"


async def settled() -> None:
    """Let every task come as far as it can."""
    for _ in range(8):
        await asyncio.sleep(0)


async def calls(*made: Call) -> list[Call]:
    return [await call.begin() for call in made]


def states(made: list[Call]) -> list[str]:
    return [call.state for call in made]


async def test_far_from_the_limit_nobody_waits() -> None:
    _, steps = family(3_000, "0", "1", "2")
    made = await calls(*[Call(step, 10, 200, 10) for step in [*steps, *steps]])
    assert states(made) == ["under way"] * 6
    for call in made:
        await call.finish()
    assert states(made) == ["done"] * 6


async def test_near_it_they_go_one_after_another() -> None:
    _, steps = family(300, "0", "1", "2")
    made = await calls(*[Call(step, 10, 200, 200) for step in steps])
    assert states(made) == ["under way", "waits", "waits"]
    await made[0].finish()
    assert states(made) == ["done", "under way", "waits"]
    await made[1].finish()
    assert states(made) == ["done", "done", "refused"], "400 of 300 are used"


async def test_a_small_one_does_not_pass_a_large_one_that_waits() -> None:
    """Else a large one would wait for ever where small ones come all the time."""
    _, (one, two, three) = family(300, "0", "1", "2")
    made = await calls(Call(one, 10, 150, 10), Call(two, 10, 200, 10), Call(three, 10, 20, 10))
    assert states(made) == ["under way", "waits", "waits"]
    await made[0].finish()
    assert states(made) == ["done", "under way", "under way"]
    for call in made:
        await call.finish()


async def test_calls_of_one_run_wait_for_each_other() -> None:
    """Two fit by their estimates; the third finds no room, and may find it later."""
    purse = Purse(Budget(tokens=100))
    made = await calls(*[Call(purse, size, size, 10) for size in (80, 20, 30)])
    assert states(made) == ["under way", "under way", "waits"]
    await made[0].finish()
    assert states(made) == ["done", "under way", "under way"]
    for call in made:
        await call.finish()
    assert purse.ledger.spent["tokens"] == 30


async def test_one_that_waits_for_room_in_its_own_share_lets_others_pass() -> None:
    _, (one, two) = family(1_000, "0", "1")
    made = await calls(Call(one, 400, 400, 10), Call(one, 400, 400, 10), Call(two, 50, 50, 10))
    assert states(made) == ["under way", "waits", "under way"]
    await made[0].finish()
    assert states(made)[1] == "under way"
    for call in made:
        await call.finish()


async def test_one_that_waits_can_be_cancelled() -> None:
    whole, steps = family(300, "0", "1", "2")
    made = await calls(*[Call(step, 10, 200, 50) for step in steps])
    assert made[1].task is not None
    made[1].task.cancel()
    await settled()
    assert states(made) == ["under way", "cancelled", "waits"]
    await made[0].finish()
    assert states(made) == ["done", "cancelled", "under way"]
    await made[2].finish()
    assert steps[1].ledger.promised == {}
    whole.close("1", used(0))
    assert whole.ledger.promised.keys() == {"0", "2"}


async def test_cancelled_at_the_moment_it_was_let_in() -> None:
    _, (one, two) = family(200, "0", "1")
    made = await calls(Call(one, 10, 200, 10), Call(two, 10, 200, 10))
    assert made[1].task is not None
    made[0].end.set()
    await asyncio.sleep(0)  # the first has left, the second does not know yet that it may go
    made[1].task.cancel()
    await settled()
    assert states(made) == ["done", "cancelled"]
    third = await Call(two, 10, 200, 10).begin()
    assert third.state == "under way"
    await third.finish()


async def test_a_time_limit_ends_the_wait() -> None:
    _, (one, two) = family(200, "0", "1")
    first = await Call(one, 10, 200, 10).begin()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Call(two, 10, 200, 10).make()
    await first.finish()
    assert first.state == "done"


async def test_a_step_that_ends_lets_others_go_on() -> None:
    """What it had is not known after a crash; once it has ended, what it left over is free."""
    whole, (_, two, three) = family(300, "0", "1", "2")
    made = await calls(Call(two, 10, 150, 10), Call(three, 10, 100, 10))
    assert states(made) == ["under way", "waits"]
    whole.close("0", used(10))
    await settled()
    assert states(made) == ["under way", "under way"]
    for call in made:
        await call.finish()


SIZES = st.integers(0, 400)
ESTIMATES = st.integers(0, 60)
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(0, 2), SIZES, ESTIMATES, SIZES),
        st.tuples(st.sampled_from(["finish", "cancel", "close"]), st.integers(0, 9)),
    ),
    max_size=40,
)


@settings(max_examples=120, deadline=None)
@given(OPS)
def test_in_any_order_it_is_overspent_by_one_call_at_most(ops: list[tuple[str, ...]]) -> None:
    asyncio.run(_in_order(ops))


async def _in_order(ops: list[tuple[str, ...]]) -> None:
    limit = 300
    whole, steps = family(limit, "0", "1", "2")
    made: list[Call] = []
    closed: set[int] = set()
    for op in ops:
        if op[0] == "begin":
            _, step, *sizes = op
            size, estimate, more = map(int, sizes)
            if int(step) not in closed:
                most = max(size, estimate) + more
                made.append(await Call(steps[int(step)], estimate, most, size).begin())
        elif op[0] == "close":
            await _close(int(op[1]) % 3, whole, steps, made, closed)
        else:
            await _end(op, made)
        check(made, limit)
    while under_way := [call for call in made if call.is_under_way]:
        await under_way[0].finish()
        check(made, limit)
    assert not [call for call in made if call.state == "waits"], "nobody waits for nobody"
    check(made, limit)


async def _close(
    step: int, whole: Purse, steps: list[Purse], made: list[Call], closed: set[int]
) -> None:
    """End a step that has nothing more to do."""
    own = [call for call in made if call.purse is steps[step]]
    if step not in closed and all(call.state not in ("waits", "under way") for call in own):
        closed.add(step)
        whole.close(str(step), used(sum(call.size for call in own if call.state == "done")))
        await settled()


async def _end(op: tuple[str, ...], made: list[Call]) -> None:
    going = [call for call in made if call.state in ("waits", "under way")]
    if not going:
        return
    call = going[int(op[1]) % len(going)]
    if op[0] == "finish" and call.is_under_way:
        await call.finish()
    elif op[0] == "cancel" and call.task is not None:
        call.task.cancel()
        await settled()


def check(made: list[Call], limit: int) -> None:
    """However large the calls under way become, one of them at most is too much."""
    spent = sum(call.size for call in made if call.state == "done")
    under_way = [call.most for call in made if call.is_under_way]
    largest = max([*(call.size for call in made if call.state == "done"), 0])
    assert spent <= limit + largest
    if len(under_way) > 1:
        assert spent + sum(under_way) <= limit
