"""The live things of one run: its workspace and journal, and whatever its tools keep open.

What its calls use at the same time is known here, too.

A session is found by a key, is closed when its run ends, and can be built again after a resume.
Nothing in it is shared with another run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from langchain_core.messages import BaseMessage

from manus.config.context import Context
from manus.config.profile import Profile
from manus.config.settings import Settings
from manus.execution.archive import Archive
from manus.execution.egress_guard import EgressGuard
from manus.execution.git_guard import GitGuard
from manus.execution.journal import Journal
from manus.execution.siblings import Siblings
from manus.execution.workspace import Workspace

if TYPE_CHECKING:
    from manus.execution.decisions import QuestionSlot
    from manus.execution.shared_files import SharedFiles

log = logging.getLogger("manus")

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a call uses: a name with `/` between its levels, read only or changed.

    `workspace` covers `workspace/a.py`; `*` covers everything. Two calls that only read share.
    """

    name: str
    write: bool = True

    def collides(self, other: Resource) -> bool:
        """Whether the two may not be at work at the same time."""
        outer, inner = sorted((f"{self.name}/", f"{other.name}/"), key=len)
        is_covered = EVERYTHING in (self.name, other.name) or inner.startswith(outer)
        return is_covered and (self.write or other.write)


class ResourceLocks:
    """Lets calls in, in the order they came, as soon as nothing before them collides.

    First come first served keeps the call order of one message where it matters, and taking all
    resources of a call at once leaves no room for a deadlock.
    """

    def __init__(self) -> None:
        self._tickets: list[tuple[frozenset[Resource], asyncio.Event]] = []

    @asynccontextmanager
    async def hold(self, resources: Iterable[Resource]) -> AsyncIterator[None]:
        """Wait for the resources, and keep them for the block."""
        ticket = (frozenset(resources), asyncio.Event())
        self._tickets.append(ticket)
        self._admit()
        try:
            await ticket[1].wait()
            yield
        finally:
            self._tickets.remove(ticket)
            self._admit()

    def _admit(self) -> None:
        for place, (resources, admitted) in enumerate(self._tickets):
            earlier = (t for before, _ in self._tickets[:place] for t in before)
            if not any(mine.collides(theirs) for theirs in earlier for mine in resources):
                admitted.set()


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
        trusts_folder: bool = True,
    ) -> None:
        """`trusts_folder`: a person trusts the files that the workspace held before the run."""
        self.workspace = workspace
        self.serve(profile, context or Context(), settings or Settings())
        self.journal = journal or Journal(None)
        self.archive = archive or Archive()
        self.locks = ResourceLocks()
        self.downloads: frozenset[str] = frozenset()
        """Files in the workspace that earlier runs have downloaded."""
        self.egress_guard = EgressGuard(workspace.root, trusts_folder=trusts_folder)
        self.git_guard = GitGuard()
        self.is_in_other_graph = False
        """Whether the agent is a node of a graph that is not ours."""
        self.siblings = Siblings()
        """The calls of the message that is being carried out."""
        self.complete: Callable[[str, list[BaseMessage]], Awaitable[str]] | None = None
        """Asks the model of a role; set by whoever has models, None where there is none."""
        self.page_is_prompted = False
        """The next-step prompt shows the browser's page, so that its results need not."""
        self.waiting = False
        """A person has been asked; the run goes on when the answer comes."""
        self.approved: list[str] = []
        """Rules about calls that a person has approved so far."""
        self.question_slot: QuestionSlot | None = None
        """Shared by all sessions of a run that is served to chat UIs."""
        self.asked: dict[str, str] = {}
        """Digests of the calls that a person was asked to approve, by the tasks that wait."""
        self.shared: SharedFiles | None = None
        """Files that agents change side by side in this run; None while only one is at work."""
        self._live: dict[str, Closeable] = {}
        self._making: dict[str, asyncio.Lock] = {}

    def serve(self, profile: Profile | None, context: Context, settings: Settings) -> None:
        """Take over what holds for a run."""
        self.profile, self.context, self.settings = profile, context, settings
        self.approve_mode = context.approve or settings.approve.mode
        """Which calls a person is asked about."""
        self.max_observe = context.max_observe or (profile.max_observe if profile else 10_000)
        """Characters of an observation that the model sees."""

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
