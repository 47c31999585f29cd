"""Dependencies between the calls of one message.

Each call is a separate task, so they are coordinated here. A call waits for earlier calls that use
the same resource. If one of those has failed, the call is not executed; while one waits for the
user, the call stays pending.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from manus.state.agent import ToolTask
from manus.state.text import one_line

if TYPE_CHECKING:
    from manus.calls.session import Resource

CallState = Literal["running", "done", "failed", "waiting"]

_MAX_ARGUMENTS = 100
"""Maximum length of the arguments in the description of a call."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The resources that a call uses."""

    resources: frozenset[Resource]
    """Calls with colliding resources do not run concurrently."""
    read_only: bool = False
    """Whether the call changes nothing."""
    relies_on: frozenset[Resource] = frozenset()
    """Resources that it expects in the state that earlier calls in the message leave."""

    def runs_after(self, earlier: Needs) -> bool:
        """Return whether the call waits until an earlier one has ended."""
        return collide(self.resources, earlier.resources)

    def is_held_by(self, earlier: Needs) -> bool:
        """Return whether the call waits while an earlier one waits for the user."""
        return self.runs_after(earlier) and collide(self.relies_on, earlier.relies_on)

    def is_ruled_out_by(self, earlier: Needs) -> bool:
        """Return whether the call must not be executed after an earlier one has failed.

        Reads are always allowed, and a failed read has no consequences.
        """
        return self.is_held_by(earlier) and not (self.read_only or earlier.read_only)


def collide(resources: Collection[Resource], other_resources: Collection[Resource]) -> bool:
    """Return whether any two of the resources collide."""
    return any(resource.collides(other) for resource in resources for other in other_resources)


def describe_call(name: str, args: Mapping[str, Any]) -> str:
    """Describe a call in a few words."""
    rendered = one_line(json.dumps(args, ensure_ascii=False, default=str), _MAX_ARGUMENTS)
    return f"`{name}` with {rendered}"


@dataclass(slots=True, eq=False)
class Sibling:
    """A call, as the later calls of its message see it."""

    description: str
    """The call in a few words."""
    needs: Callable[[], Needs]
    state: CallState = "running"
    cause: str = ""
    """The failed call that prevented this one from being executed."""
    message: ToolMessage | None = None
    """The tool message."""
    handoff: Command[Any] | None = None
    """The command with which its tool hands over to another node."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)


class Siblings:
    """The calls in the newest message.

    `unfinished` are the ids of the calls that will be executed; None if all will. `settled`
    contains the outcome of calls that have ended in another process.
    """

    def __init__(
        self,
        settled: Mapping[str, Sibling] | None = None,
        unfinished: Collection[str] | None = (),
    ) -> None:
        self._calls: dict[str, Sibling] = {}
        self._started: dict[str, asyncio.Event] = {}
        self._unfinished = unfinished
        for call_id, sibling in (settled or {}).items():
            sibling.finished.set()
            self._calls[call_id] = sibling

    def start(self, task: ToolTask, description: str, needs: Needs) -> Sibling:
        """Register a call, so that later ones can wait for it."""
        sibling = Sibling(description, lambda: needs)
        if "calls" in task:  # otherwise no other call refers to it
            self._calls[task["id"]] = sibling
            self._start_event(task["id"]).set()
        return sibling

    async def wait_for_turn(self, task: ToolTask, needs: Needs) -> str:
        """Wait for the earlier calls in the message that use the same resources.

        Return a description of the failed call that prevents this one from being executed; empty if
        there is none.

        Raises:
            GraphInterrupt: an earlier call waits for a person. The interrupt has no question; the
                task stays pending, and runs again when the person has answered.
        """
        cause = ""
        is_held = False
        calls = task.get("calls", ())
        for call_id in itertools.takewhile(lambda other: other != task["id"], calls):
            sibling = await self._find(call_id)
            if sibling is None or not needs.runs_after(sibling.needs()):
                continue
            await sibling.finished.wait()
            if sibling.state == "failed" and needs.is_ruled_out_by(sibling.needs()):
                cause = cause or sibling.cause or sibling.description
            elif sibling.state == "waiting":
                is_held = is_held or needs.is_held_by(sibling.needs())
        if is_held and not cause:
            raise GraphInterrupt(())
        return cause

    async def wait_for_error(self, task: ToolTask) -> str:
        """Wait for all earlier calls in the message; return a description of the first that failed.

        Raises:
            GraphInterrupt: one waits for a person, as in `wait_for_turn`.
        """
        calls = task.get("calls", ())
        for call_id in itertools.takewhile(lambda other: other != task["id"], calls):
            sibling = await self._find(call_id)
            if sibling is None:
                continue
            await sibling.finished.wait()
            if sibling.state == "waiting":
                raise GraphInterrupt(())
            if sibling.message is not None and sibling.message.status == "error":
                return sibling.description
        return ""

    async def wait_for_all(self, task: ToolTask) -> dict[str, Sibling]:
        """Wait until the other calls in the message have ended; return all of them by id.

        Raises:
            GraphInterrupt: one waits for a person, as in `wait_for_turn`.
        """
        siblings: dict[str, Sibling] = {}
        for call_id in task.get("calls", ()):
            sibling = await self._find(call_id)
            if sibling is not None:
                await sibling.finished.wait()
                siblings[call_id] = sibling
        if any(sibling.state == "waiting" for sibling in siblings.values()):
            raise GraphInterrupt(())
        return siblings

    async def _find(self, call_id: str) -> Sibling | None:
        """Return an earlier call once it has started; None if it is unknown whether it will."""
        if self._unfinished is None or call_id in self._unfinished:
            await self._start_event(call_id).wait()
        return self._calls.get(call_id)

    def _start_event(self, call_id: str) -> asyncio.Event:
        return self._started.setdefault(call_id, asyncio.Event())
