"""A circuit breaker for each endpoint: one that fails is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodes.models import address_of
from state.errors import ModelError, ModelRefusedError
from state.model_settings import ModelSettings

TOLERATED = 2
"""Failures in a row, each after its retries, that do not open the circuit yet."""
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
"""Seconds for which an endpoint is left alone; doubled each time it fails again."""


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    pause: float = FIRST_PAUSE
    open_until: float = 0.0


class Breaker:
    """Knows which endpoints have failed lately, and which have no tools, for the whole process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: dict[tuple[str, str], _Circuit] = {}
        self._without_tools: set[tuple[str, str]] = set()

    def usable(self, chain: Sequence[ModelSettings]) -> list[ModelSettings]:
        """The endpoints to ask, in order: those that are not left alone, or all if none is left."""
        now = self._clock()
        free = [one for one in chain if self._of(one).open_until <= now]
        return free or list(chain)

    def worked(self, endpoint: ModelSettings) -> None:
        """An endpoint has answered: its failures are forgotten."""
        self._circuits.pop(_key(endpoint), None)

    def failed(self, endpoint: ModelSettings, error: ModelError) -> None:
        """An endpoint has failed for good. What will not pass by itself counts at once."""
        circuit = self._circuits.setdefault(_key(endpoint), _Circuit())
        circuit.failures += 1
        if circuit.failures > TOLERATED or isinstance(error, ModelRefusedError):
            circuit.open_until = self._clock() + circuit.pause
            circuit.pause = min(LONGEST_PAUSE, 2 * circuit.pause)

    def without_tools(self, endpoint: ModelSettings) -> None:
        """An endpoint has said that its model cannot call tools."""
        self._without_tools.add(_key(endpoint))

    def is_prompted(self, endpoint: ModelSettings) -> bool:
        """Whether tools are to be described to a model in words."""
        if endpoint.tool_calling == "auto":
            return _key(endpoint) in self._without_tools
        return endpoint.tool_calling == "prompted"

    def _of(self, endpoint: ModelSettings) -> _Circuit:
        return self._circuits.get(_key(endpoint)) or _Circuit()


def _key(endpoint: ModelSettings) -> tuple[str, str]:
    return address_of(endpoint), endpoint.model or ""


breaker = Breaker()
