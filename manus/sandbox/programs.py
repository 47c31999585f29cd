"""The programs of one sandbox, and the looks at what they have written."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from manus.sandbox.child import Child
from manus.sandbox.freeze import send, stop
from manus.sandbox.look import Look

log = logging.getLogger("manus")

_IDLE_PROCESSES = 3
"""Number of processes of a shell without jobs: bash, and those of bubblewrap."""


class Programs:
    """The programs in a sandbox; some may have ended."""

    def __init__(self, look: Look | None) -> None:
        self._look = look
        self._children: list[Child] = []
        self._closed: dict[bool, dict[Path, int]] = {}
        """What was read-only for the newest programs, by whether they may write git's data."""
        self._frozen: frozenset[int] | None = frozenset()
        """The processes that stay stopped until the next call; None if programs are running."""
        self.has_servers = False
        """Whether programs of the user, which are not stopped, share the sandbox."""

    @property
    def roots(self) -> list[int]:
        """Return the ids of the running programs, without their descendants."""
        # a process that has not been waited for keeps its id
        return [child.pid for child in self._children if child.returncode is None]

    def register(self, child: Child) -> None:
        """Record a program that has been started in the sandbox."""
        self._children = [each for each in self._children if each.returncode is None]
        self._children.append(child)

    def note_closed(self, paths: Iterable[Path], *, writes_git: bool) -> None:
        """Record what is read-only for a program that is about to start. Blocking."""
        inodes = {path: path.stat().st_ino for path in paths}
        if (earlier := self._closed.get(writes_git)) is not None:  # of programs that still run
            inodes = dict(inodes.items() & earlier.items())
        self._closed[writes_git] = inodes

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[list[str]]:
        """Look after the programs of a block at what they have written; yield a list for notes."""
        notes = [await asyncio.to_thread(self._begin)]
        try:
            yield notes
        finally:
            work = asyncio.ensure_future(asyncio.to_thread(self._finish))
            try:
                notes.append(await asyncio.shield(work))
            except asyncio.CancelledError:
                await work
                raise

    def _begin(self) -> str:
        """Look at what jobs have written since the last call, and resume a stopped shell."""
        notes = ""
        if self._frozen is None or self.has_servers:
            notes = self._finish()
        elif self._look is not None:
            self._look.accept()  # the changes of the user
        send(self._frozen or (), signal.SIGCONT)
        self._frozen = None
        return notes

    def _finish(self) -> str:
        """Look while the programs are stopped, and return notes for the model. Blocking."""
        if self._look is None:
            return ""
        processes = stop(self.roots)
        try:
            notes = self._look.look(self._closed.values())
        finally:
            if len(processes) <= _IDLE_PROCESSES:
                self._frozen = processes  # a shell without jobs
            else:
                send(processes, signal.SIGCONT)
        self._closed.pop(True, None)  # programs that may write git's data end with their call
        return notes

    def end(self) -> None:
        """Kill all programs, and look for the last time. Blocking."""
        if self._look is None:
            return
        send(stop(self.roots), signal.SIGKILL)
        if notes := self._look.finish():
            log.warning("%s", notes.strip())
