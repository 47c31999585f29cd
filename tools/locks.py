"""Which calls may run side by side: those that do not touch the same resource."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

EVERYTHING = "*"
WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a call uses: a name with `/` between its levels, read only or changed.

    `workspace` covers `workspace/a.py`; `*` covers everything. Two calls that only read share.
    """

    name: str
    write: bool = True

    def collides(self, other: Resource) -> bool:
        """Whether the two may not be at work at the same time."""
        if not (self.write or other.write):
            return False
        return _covers(self.name, other.name) or _covers(other.name, self.name)


def _covers(outer: str, inner: str) -> bool:
    return outer in (EVERYTHING, inner) or inner.startswith(outer + "/")


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
