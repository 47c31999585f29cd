"""The live things of one run: its workspace and journal, and whatever its tools keep open.

What its calls use at the same time, and to whom they may send, is known here, too.

A session is found by a key, is closed when its run ends, and can be built again after a resume.
Nothing in it is shared with another run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from langchain_core.messages import BaseMessage

from manus.prompts import approval as prompts
from manus.state.agent import ToolTask
from manus.state.context import Context
from manus.state.outside import addresses_in, as_seen
from manus.state.profile import Profile
from manus.state.safety_settings import is_covered
from manus.state.settings import Settings
from manus.tools.archive import Archive
from manus.tools.journal import Journal
from manus.tools.web.egress import Entry, is_loopback, literal_address, parse_entry
from manus.tools.workspace import Workspace

log = logging.getLogger("manus")

EVERYTHING = "*"
HOST = "host"
"""What rules about hosts begin with: `host(example.org)`."""


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


class Reach:
    """To whom a run may send what it made up itself. What makes it ask less ends with the process.

    Once it has read text from outside, it asks before it sends anything of its own making to a host
    that the user has not named: an address that it has not read, text that it types, what a
    program sends.
    """

    def __init__(self) -> None:
        self.outside = False
        """Whether text from outside has been read; else every host is free."""
        self.has_seen_page = False
        """Whether a page from outside was shown in a prompt."""
        self.named: tuple[str, ...] = ()
        """The hosts that the user has named, in the settings or in words."""
        self.wanted: dict[str, tuple[str, ...]] = {}
        """The hosts that were held back when a call was made before, by its digest."""
        self._entries: list[Entry] = []
        self._rules: tuple[str, ...] = ()
        self._used: set[str] = set()
        self._admitted: tuple[str, ...] = ()
        self._seen: set[str] = set()
        self._held: list[str] = []

    def begin(self, task: ToolTask, settings: Settings, *, free: bool) -> None:
        """Take over what holds for a call, and for those to come."""
        # what a server says of its tools stands in each request
        servers = any(s.enabled and not s.trust for s in settings.mcp.values())
        self.outside = not free and (servers or self.has_seen_page or task.get("outside", False))
        trusted = (*settings.egress.allow, *(s.host for s in settings.secrets.values()))
        self.named = (*trusted, *task.get("named", ()))
        self._entries = [replace(parse_entry(name), port=None) for name in self.named]
        self._rules = (*settings.approve.allow, *task.get("approved", ()))

    def read(self, text: str, of: str = "") -> None:
        """Take note of the addresses in a text from outside: whoever wrote them knows them.

        `of`: the page's address. A page of this machine, which the agent may have made, is none.
        """
        parts = urlsplit(of)
        if parts.scheme != "file" and not is_loopback(parts.hostname or ""):
            self._seen |= addresses_in(text)

    def has_read(self, address: str) -> bool:
        """Whether that very address stood in a text from outside."""
        return as_seen(address) in self._seen

    def is_new(self, host: str) -> bool:
        """Whether something is sent to a host for the first time, and nobody has named it."""
        if not self.outside:
            self._used.add(host)
        if host in self._used or host in self._admitted or is_loopback(host):
            return False
        address = literal_address(host)
        if any(entry.covers(host, 0, address) for entry in self._entries):
            return False
        return not is_covered(self._rules, HOST, [host])

    def hold(self, host: str) -> str:
        """Why a program may not connect to a host; empty if it may."""
        if not self.is_new(host):
            return ""
        self._held.append(host)
        return prompts.held(host)

    @contextmanager
    def admitting(self, hosts: Iterable[str], call: str) -> Iterator[None]:
        """Let programs connect to these hosts for the length of a block.

        What the call of that digest wanted in vain is kept in mind.
        """
        self._held, self._admitted = [], tuple(hosts)
        try:
            yield
        finally:
            if self._held:
                self.wanted[call] = tuple(dict.fromkeys([*self._admitted, *self._held]))
            self._held, self._admitted = [], ()


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
        self.serve(profile, context or Context(), settings or Settings())
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
