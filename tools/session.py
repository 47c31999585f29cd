"""The live things of one run: its workspace, journal and locks, and whatever its tools keep open.

A session is found by a key, is closed when its run ends, and can be built again after a resume.
Nothing in it is shared with another run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from langchain_core.messages import BaseMessage

from manus.state.context import Context
from manus.state.profile import Profile
from manus.state.safety_settings import ApproveMode
from manus.state.settings import Settings
from manus.tools.archive import Archive
from manus.tools.journal import Journal
from manus.tools.locks import ResourceLocks
from manus.tools.reach import Reach
from manus.tools.workspace import Workspace

log = logging.getLogger("manus")


class Closeable(Protocol):
    """Something that must be closed: a shell, a browser, a connection."""

    async def close(self) -> None:
        """End it; never raises for something that has ended already."""


T = TypeVar("T", bound=Closeable)


class Session:
    """One run's registry of live things."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        profile: Profile | None = None,
        context: Context | None = None,
        settings: Settings | None = None,
        journal: Journal | None = None,
        archive: Archive | None = None,
    ) -> None:
        self.workspace = workspace
        self.profile = profile
        self.context = context or Context()
        self.settings = settings or Settings()
        self.journal = journal or Journal(None)
        self.archive = archive or Archive()
        self.locks = ResourceLocks()
        self.reach = Reach()
        self.complete: Callable[[str, list[BaseMessage]], Awaitable[str]] | None = None
        """Asks the model of a role; set by whoever has models, None where there is none."""
        self.page_is_prompted = False
        """The next-step prompt shows the browser's page, so that its results need not."""
        self.waiting = False
        """A person has been asked; the run goes on when the answer comes."""
        self.asked: dict[str, str] = {}
        """Digests of the calls that a person was asked to approve, by the tasks that wait."""
        self._live: dict[str, Closeable] = {}
        self._making: dict[str, asyncio.Lock] = {}

    @property
    def approve_mode(self) -> ApproveMode:
        """Which calls a person is asked about."""
        return self.context.approve or self.settings.approve.mode

    async def obtain(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """The live thing of that name, made when it is first asked for."""
        async with self._making.setdefault(name, asyncio.Lock()):
            if name not in self._live:
                self._live[name] = await make()
            return self._live[name]  # type: ignore[return-value]

    def peek(self, name: str) -> Any:
        """The live thing of that name, or None if nobody has asked for it yet."""
        return self._live.get(name)

    async def discard(self, name: str) -> None:
        """Close the live thing of that name, so that the next use makes a new one."""
        thing = self._live.pop(name, None)
        if thing is None:
            return
        try:
            await thing.close()
        except Exception:  # a thing that cannot be closed must not keep the others open
            log.warning("%s could not be closed", name, exc_info=True)

    async def release(self) -> None:
        """Close the live things, the newest first."""
        for name in reversed(list(self._live)):
            await self.discard(name)

    async def close(self) -> None:
        """Close everything, the newest first."""
        await self.release()
        await asyncio.to_thread(self.journal.close)
