"""The live resources of one run: its workspace, its journal, and what its tools keep open.

A session is closed when its run ends, and is recreated on a resume. It shares nothing with other
runs. It also holds the locks of the resources that concurrent calls use.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from langchain_core.messages import BaseMessage

from manus.calls.egress_guard import EgressGuard, RunningCall
from manus.calls.siblings import Siblings, collide
from manus.config.run_settings import RunSettings, resolve_settings
from manus.config.settings import Settings
from manus.sandbox.egress import EgressRules
from manus.sandbox.egress_proxy import EgressProxy
from manus.sandbox.sandbox import Sandbox, open_sandbox
from manus.threads.archive import Archive
from manus.threads.journal import Journal
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.calls.decisions import QuestionSlot
    from manus.calls.shared_files import SharedFiles
    from manus.state.agent import Refusal
    from manus.threads.snapshots.thread_files import ThreadFiles


log = logging.getLogger("manus")

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a call reads or changes: a name whose levels are separated by `/`.

    `workspace` covers `workspace/a.py`; `*` covers everything. Calls that only read can share it.
    """

    name: str
    write: bool = True

    def collides(self, other: Resource) -> bool:
        """Return whether two calls with these resources must not run concurrently."""
        outer, inner = sorted((f"{self.name}/", f"{other.name}/"), key=len)
        is_covered = EVERYTHING in (self.name, other.name) or inner.startswith(outer)
        return is_covered and (self.write or other.write)


class AskedCall(NamedTuple):
    """A call about which a person was asked."""

    digest: str = ""
    """Identifies the call; empty if its tool asked, which has been approved."""
    place: str = ""
    """Where it would have acted, such as the address of a page."""
    rules: tuple[str, ...] = ()
    """The rules about similar calls that the question offered."""
    tool: str = ""
    """The tool of the call, which may be a call of an agent inside the task's own call."""


class ResourceLocks:
    """Locks of resources, granted in order of arrival as soon as no earlier holder conflicts.

    This keeps the order of the calls in a message where it matters. All resources of a call are
    acquired at once, so deadlocks are impossible.
    """

    def __init__(self) -> None:
        self._tickets: list[tuple[frozenset[Resource], asyncio.Event]] = []

    @asynccontextmanager
    async def hold(self, resources: Iterable[Resource]) -> AsyncIterator[None]:
        """Acquire the resources, and hold them for the block."""
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
        for position, (resources, admitted) in enumerate(self._tickets):
            earlier: set[Resource] = set()
            for held_resources, _ in self._tickets[:position]:
                earlier |= held_resources
            if not collide(resources, earlier):
                admitted.set()


class Closeable(Protocol):
    """A resource that must be closed: a shell, a browser, a connection."""

    async def close(self) -> None:
        """Close the resource; do nothing if it is already closed."""


T = TypeVar("T", bound=Closeable)


class Session:
    """The registry of a run's live resources."""

    is_in_other_graph = False
    """Whether the agent is a node of a graph of the embedding program."""
    complete: Callable[[str, list[BaseMessage]], Awaitable[str]] | None = None
    """Calls the model of a role; None if there are no models."""
    page_is_prompted = False
    """Whether the next-step prompt shows the browser's page, so that observations need not."""
    waiting = False
    """Whether the run is interrupted until the user answers."""
    lost_calls = ""
    """The note for the model about effects that the stored state does not contain."""
    question_slot: QuestionSlot | None = None
    """The slot shared by all sessions of a run that is served to chat UIs."""
    files: ThreadFiles | None = None
    """Records the workspace's files for the thread; None if recording is disabled."""
    owns_files = True
    """Whether `files` are closed with this session; those of an outer run are not."""
    shared: SharedFiles | None = None
    """Files that agents change concurrently in this run; None if there is one agent."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: RunSettings | None = None,
        journal: Journal | None = None,
        archive: Archive | None = None,
        trusts_folder: bool = True,
        has_files: bool = True,
    ) -> None:
        """Create a session.

        `has_files`: there were files in the workspace before the run; `trusts_folder`: they are
        trusted.
        """
        self.workspace = workspace
        self.settings = settings or resolve_settings(Settings())
        self.journal = journal or Journal(None)
        self.archive = archive or Archive()
        self.locks = ResourceLocks()
        self.downloads: frozenset[str] = frozenset()
        """Files in the workspace that earlier runs downloaded."""
        self.running_calls: list[RunningCall] = []
        self.egress_guard = EgressGuard(
            trusts_folder=trusts_folder, has_files=has_files, running_calls=self.running_calls
        )
        self.guarded_facts: list[Any] = []
        """The facts about a call that the guards received last."""
        self.siblings = Siblings()
        """The calls in the message that is being executed."""
        self.recorded_calls: list[str] = []
        """Keys of journaled results that the state should contain, until it has been checked."""
        self.approved: list[str] = []
        """Rules that the user has approved so far."""
        self.refused: list[Refusal] = []
        """Calls that were refused so far."""
        self.asked: dict[str, AskedCall] = {}
        """The calls that wait for an answer, by task id."""
        self.described: set[str] = set()
        """Lower-case names of the tools on demand that the history describes."""
        self._resources: dict[str, Closeable] = {}
        self._creation_locks: dict[str, asyncio.Lock] = {}

    async def obtain(self, name: str, create: Callable[[], Awaitable[T]]) -> T:
        """Return the live resource with a name; create it on first use."""
        async with self._creation_locks.setdefault(name, asyncio.Lock()):
            if name not in self._resources:
                self._resources[name] = await create()
            return self._resources[name]  # type: ignore[return-value]

    def peek(self, name: str) -> Any:
        """Return the live resource with a name, or None if it does not exist."""
        return self._resources.get(name)

    async def discard(self, name: str) -> None:
        """Close the live resource with a name, so that the next use creates a new one."""
        resource = self._resources.pop(name, None)
        if resource is None:
            return
        try:
            await resource.close()
        except Exception:  # a failure must not keep other resources open
            log.warning("%s could not be closed", name, exc_info=True)

    async def release(self) -> None:
        """Close the live resources, the newest first."""
        for name in reversed(list(self._resources)):
            await self.discard(name)

    async def close(self) -> None:
        """Close everything, the newest first."""
        await self.release()
        if self.files is not None and self.owns_files:
            await self.files.close()
        await asyncio.to_thread(self.journal.close)


async def get_egress_proxy(session: Session) -> EgressProxy:
    """Return the proxy of a session; start it on first use."""

    async def make() -> EgressProxy:
        proxy = await EgressProxy.start(EgressRules(session.settings.egress))
        proxy.rules.has_sandbox = session.settings.sandbox.kind != "none"
        proxy.guard = session.egress_guard
        return proxy

    return await session.obtain("egress", make)


async def get_sandbox(session: Session) -> Sandbox:
    """Return the sandbox of a session; open it on first use.

    Raises:
        ToolUnavailableError: see `open_sandbox`.
    """
    settings = session.settings

    async def create() -> Sandbox:
        proxy = await get_egress_proxy(session)
        workspace = session.workspace
        writes = session.files.writes if session.files is not None else None
        sandbox = await open_sandbox(
            settings.sandbox,
            workspace.root,
            proxy,
            workspace.records,
            writes,
            workspace.approved_writes,
        )
        if sandbox.kind != "bubblewrap":  # programs can read files of the machine
            session.egress_guard.has_files = True
        return sandbox

    return await session.obtain("sandbox", create)
