"""Limits on the programs of a run: total memory and number of processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil

from manus.config.safety_settings import SandboxSettings
from manus.sandbox.memory import measure_memory

_POLL_SECONDS = 0.25
"""Seconds between two checks."""


class Limits:
    """The limits on a run's programs, which are killed if they exceed one."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._exceeded = ""

    def take_notice(self) -> str:
        """Return a note on why programs were killed since the last call; empty if none were."""
        reason = self._exceeded
        self._exceeded = ""
        return f"\n[killed by the sandbox: {reason}]" if reason else ""

    @asynccontextmanager
    async def watch(self, root: int) -> AsyncIterator[None]:
        """Enforce the limits on a process and its descendants for the length of a block."""
        task = asyncio.create_task(self._enforce_periodically(root))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _enforce_periodically(self, root: int) -> None:
        while not self._exceeded:
            await asyncio.sleep(_POLL_SECONDS)
            await asyncio.to_thread(self._enforce, root)

    def _enforce(self, root: int) -> None:
        """Kill the processes if they exceed a limit, and record the limit."""
        try:
            top = psutil.Process(root)
            family = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        memory = measure_memory(family) // 1_000_000
        reason = ""
        if memory > self._settings.memory_megabytes:
            limit = self._settings.memory_megabytes
            reason = f"more than {limit:,} MB of memory (`sandbox.memory_megabytes`)"
        elif len(family) > self._settings.processes:
            reason = f"more than {self._settings.processes} processes (`sandbox.processes`)"
        self._exceeded = reason
        if reason:
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.kill()
