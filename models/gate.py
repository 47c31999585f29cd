"""Which model calls of a run and its steps are under way side by side, and which wait for them.

A call's reply can be larger than was expected. So calls go side by side only as long as all of
them fit what is left even at their largest; one that does not waits until it fits, or until it is
the only one. Then a limit is overspent by one call at most, whatever the replies are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

log = logging.getLogger("manus")

Amounts = Mapping[str, float]
Answer = Literal["go", "wait", "stand aside"]
"""What a call that wants to go is told. `wait`: nobody passes it; `stand aside`: others may."""


@dataclass(eq=False, slots=True)
class Turn:
    """One call that wants to go."""

    ask: Callable[[], Answer]
    answer: asyncio.Future[None]


class Gate:
    """The calls of one tree of runs; those that wait are let through in the order they came.

    Who waits holds nothing that a call under way needs, and a call under way ends by itself.
    """

    def __init__(self) -> None:
        self._under_way: dict[int, Amounts] = {}
        self._waiting: list[Turn] = []
        self._numbers = 0

    @property
    def is_free(self) -> bool:
        """Whether no call is under way."""
        return not self._under_way

    def largest(self, kind: str) -> float:
        """What all calls under way use of a kind at most."""
        return sum(most.get(kind, 0.0) for most in self._under_way.values())

    def let_in(self, most: Amounts) -> int:
        """A call goes; it is known by this number until it has left."""
        self._numbers += 1
        self._under_way[self._numbers] = most
        return self._numbers

    def leave(self, number: int) -> None:
        """A call has ended, and what it used is booked."""
        del self._under_way[number]
        self.look()

    async def pass_through(self, ask: Callable[[], Answer]) -> None:
        """Wait until `ask`, which lets the call in when it can go, says so.

        What `ask` raises is raised here. When the wait is cancelled, the call is not let in, or it
        is in already: whoever let it in has to see to that.
        """
        turn = Turn(ask, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        try:
            self.look()
            if not turn.answer.done():
                log.info("a model call waits: beside those under way it could overspend the budget")
            await turn.answer
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self.look()

    def look(self) -> None:
        """Something has changed: let in whoever can go now."""
        for turn in list(self._waiting):
            if turn not in self._waiting or turn.answer.done():
                continue
            try:
                answer = turn.ask()
            except Exception as error:  # noqa: BLE001 - it belongs to the call, which raises it
                self._waiting.remove(turn)
                turn.answer.set_exception(error)
                continue
            if answer == "wait":
                break
            if answer == "go":
                self._waiting.remove(turn)
                turn.answer.set_result(None)
