"""A stream whose parts are waited for only so long, and that can be cancelled at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from manus.models.paced import SilentStreamError, paced


class Source:
    """Gives parts when it is told to, and knows whether it was closed."""

    def __init__(self) -> None:
        self.parts: asyncio.Queue[int] = asyncio.Queue()
        self.wanted = asyncio.Event()
        self.closed = False

    async def stream(self) -> AsyncIterator[int]:
        """Its parts."""
        try:
            while True:
                self.wanted.set()
                yield await self.parts.get()
        finally:
            self.closed = True


async def collected(source: Source, limit: float | None, into: list[int]) -> None:
    async for part in paced(source.stream(), limit):
        into.append(part)


@pytest.mark.parametrize("limit", [None, 60.0])
async def test_a_cancellation_that_comes_with_a_part_is_not_lost(limit: float | None) -> None:
    source, found = Source(), list[int]()
    task = asyncio.create_task(collected(source, limit, found))
    await source.wanted.wait()
    await asyncio.sleep(0)  # it waits for the part now
    source.parts.put_nowait(1)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=30)
    assert done == {task}
    assert task.cancelled()
    assert found == []
    assert source.closed


async def test_a_part_that_does_not_come_is_not_waited_for() -> None:
    source, found = Source(), list[int]()
    source.parts.put_nowait(1)
    with pytest.raises(SilentStreamError, match=r"within 0\.05 s"):
        await collected(source, 0.05, found)
    assert found == [1]
    assert source.closed


async def test_a_consumer_may_take_its_time() -> None:
    source = Source()
    source.parts.put_nowait(1)
    source.parts.put_nowait(2)
    stream = paced(source.stream(), 0.05)
    assert await anext(stream) == 1
    await asyncio.sleep(0.1)  # longer than a part may take: its time begins when it is wanted
    assert await anext(stream) == 2
    await stream.aclose()
    assert source.closed


async def test_an_error_of_the_source_is_its_own() -> None:
    async def broken(wrong: bool) -> AsyncIterator[int]:
        if wrong:
            raise TimeoutError("of the source")
        yield 1

    with pytest.raises(TimeoutError, match="of the source") as caught:
        await anext(paced(broken(wrong=True), 60))
    assert not isinstance(caught.value, SilentStreamError)
