"""Which calls run side by side."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from manus.tools.session import EVERYTHING, Resource, ResourceLocks
from manus.tools.workspace import WORKSPACE

PAIRS = [
    (Resource("a"), Resource("a"), True),
    (Resource("a"), Resource("b"), False),
    (Resource("a", write=False), Resource("a", write=False), False),
    (Resource("a", write=False), Resource("a"), True),
    (Resource(WORKSPACE), Resource("workspace/x.py"), True),
    (Resource("workspace/x"), Resource("workspace/x/y"), True),
    (Resource("workspace/x"), Resource("workspace/xy"), False),
    (Resource(EVERYTHING), Resource("browser", write=False), True),
    (Resource(EVERYTHING, write=False), Resource("browser", write=False), False),
]


def test_two_resources() -> None:
    for one, other, collide in PAIRS:
        assert one.collides(other) is other.collides(one) is collide, (one, other)


async def test_one_that_stops_waiting_lets_the_others_in() -> None:
    locks, inside, done = ResourceLocks(), list[str](), asyncio.Event()

    async def work(name: str) -> None:
        async with locks.hold([Resource(name)]):
            inside.append(name)
            await done.wait()

    async def settled() -> list[str]:
        """Who is inside, once every task has gone as far as it can."""
        for _ in range(20):
            await asyncio.sleep(0)
        return inside

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work("a"))
        waiting = tasks.create_task(work(EVERYTHING))
        tasks.create_task(work("b"))
        assert await settled() == ["a"]
        waiting.cancel()
        assert await settled() == ["a", "b"]
        done.set()


_TOUCH = st.builds(Resource, st.sampled_from(["*", "w", "w/a", "w/b", "x"]), st.booleans())


@settings(max_examples=40, deadline=None)
@given(calls=st.lists(st.frozensets(_TOUCH, max_size=3), max_size=8))
def test_all_get_in_and_those_that_collide_in_order(calls: list[frozenset[Resource]]) -> None:
    locks, begun, inside = ResourceLocks(), list[int](), list[int]()

    async def call(number: int) -> None:
        async with locks.hold(calls[number]):
            for other in inside:
                assert not any(a.collides(b) for a in calls[number] for b in calls[other])
            inside.append(number)
            begun.append(number)
            for _ in range(number % 3):
                await asyncio.sleep(0)
            inside.remove(number)

    async def everything() -> None:
        await asyncio.wait_for(asyncio.gather(*map(call, range(len(calls)))), 60)

    asyncio.run(everything())
    assert sorted(begun) == list(range(len(calls)))
    for earlier in range(len(calls)):
        for later in range(earlier + 1, len(calls)):
            if any(a.collides(b) for a in calls[earlier] for b in calls[later]):
                assert begun.index(earlier) < begun.index(later)
