"""Waiting for a page no longer than it deserves.

Most calls to a page take no time limit of their own, and a page whose script runs for ever never
answers any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class PageStuckError(Exception):
    """The page did not answer in time."""


async def within(seconds: float, awaitable: Awaitable[T]) -> T:
    """What the awaitable gives, if it gives it in time.

    Raises:
        PageStuckError: it does not.
    """
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise PageStuckError(f"no answer within {seconds:g} s") from None
