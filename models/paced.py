"""A stream whose parts are waited for only so long each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


class SilentStreamError(TimeoutError):
    """A stream that had begun, of which no other part came."""


async def paced(source: AsyncIterator[T], limit: float | None) -> AsyncGenerator[T, None]:
    """The parts of a stream; the source is closed when nobody wants more of them.

    LangChain's client does this with `asyncio.wait_for`, which before Python 3.12 drops a
    cancellation that comes together with a part: a run that was told to stop would go on.

    Raises:
        SilentStreamError: a part did not come within `limit` seconds.
    """
    async with aclosing(source) as parts:  # type: ignore[type-var]
        while True:
            try:
                async with asyncio.timeout(limit) as clock:
                    part = await anext(parts)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if not clock.expired():
                    raise
                raise SilentStreamError(f"no part came within {limit:g} s") from error
            yield part
