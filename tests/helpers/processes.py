"""What tests ask of processes that a tool has started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psutil


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, and fail if it does not come."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def lives(pid: int | str) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
