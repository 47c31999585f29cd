"""Reading a thread over and over while another process works on it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from manus.run_report.gather import gather
from manus.run_report.trail import Trail, TrailReader
from manus.threads import is_being_worked_on

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.watch.board import Board

_PAUSE = 0.5
"""Seconds between two looks at the store."""
_SHARE = 4
"""So many times as long as a look takes is waited for the next one, at least."""
_LOCK_PAUSE = 2.0
"""Seconds between two looks whether somebody works on the thread: it is held for a moment then."""


class Follower:
    """Puts a thread on a board, and again whenever there is something new in it."""

    def __init__(self, store: Store, thread_id: str, board: Board) -> None:
        self._store = store
        self._thread_id = thread_id
        self._board = board
        self._reader = TrailReader(store.saver, thread_id)
        self._is_running: bool | None = None
        self._looked = float("-inf")

    async def follow(self) -> None:
        """Look again and again; never returns.

        Raises:
            StorageError: the store cannot be read any more.
        """
        while True:
            began = time.monotonic()
            await self.look()
            # the longer the thread, the less often: the run itself needs the processor
            await asyncio.sleep(max(_PAUSE, _SHARE * (time.monotonic() - began)))

    async def look(self) -> None:
        """Look once."""
        trail, changed = await self._reader.read()
        was_running, self._is_running = self._is_running, await self._at_work(trail, changed)
        if changed or was_running != self._is_running:
            facts = await asyncio.to_thread(
                gather, trail, place=self._store.place, is_running=self._is_running, is_live=True
            )
            self._board.put(facts)

    async def _at_work(self, trail: Trail, changed: bool) -> bool:
        """Whether a process is at work on the thread."""
        if not trail.root:
            return False
        now = time.monotonic()
        known = self._is_running
        if known is not None and not changed and now - self._looked < _LOCK_PAUSE:
            return known
        if known and changed and now - self._looked < _LOCK_PAUSE and not _may_have_ended(trail):
            return True
        self._looked = now
        return await is_being_worked_on(self._store, self._thread_id)


def _may_have_ended(trail: Trail) -> bool:
    newest = trail.root[-1]
    return newest.values.get("stop_reason") is not None or not newest.writes
