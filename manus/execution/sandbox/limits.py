"""What the programs of a run may take of the machine: memory and processes, summed over all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil

from manus.config.safety_settings import SandboxSettings
from manus.execution.sandbox.memory import used_bytes

_SECONDS = 0.25
"""Between two looks."""


class Limits:
    """Watches programs while they work, and ends those that take too much."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._exceeded = ""

    def take(self) -> str:
        """A line on why programs were ended since the last call; empty if none was."""
        said, self._exceeded = self._exceeded, ""
        return f"\n[ended by the sandbox: {said}]" if said else ""

    @asynccontextmanager
    async def watching(self, root: int) -> AsyncIterator[None]:
        """Hold a process and all below it to the limits for the length of a block."""
        task = asyncio.create_task(self._watch(root))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, root: int) -> None:
        while not self._exceeded:
            await asyncio.sleep(_SECONDS)
            await asyncio.to_thread(self._look, root)

    def _look(self, root: int) -> None:
        """End what takes too much, having noted which limit it was."""
        try:
            top = psutil.Process(root)
            family = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        memory = used_bytes(family) // 1_000_000
        said = ""
        if memory > self._settings.memory_megabytes:
            limit = self._settings.memory_megabytes
            said = f"more than {limit:,} MB of memory (`sandbox.memory_megabytes`)"
        elif len(family) > self._settings.processes:
            said = f"more than {self._settings.processes} processes (`sandbox.processes`)"
        self._exceeded = said
        if said:
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.kill()
