"""A circuit breaker for each endpoint: one that fails is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from manus.models.model_names import address_of
from manus.state.errors import ModelError, ModelRefusedError
from manus.state.model_settings import ModelSettings

TOLERATED = 2
"""Failures in a row, each after its retries, that do not open the circuit yet."""
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
"""Seconds for which an endpoint is left alone; doubled each time it fails again."""

Key = tuple[str, str, SecretStr | None]


def key_of(endpoint: ModelSettings) -> Key:
    """What makes an endpoint: an address, a model and a key."""
    return address_of(endpoint), endpoint.model or "", endpoint.api_key


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    pause: float = FIRST_PAUSE
    open_until: float = 0.0
    tried_until: float = 0.0
    """While one call finds out whether the endpoint is there again, the others leave it alone."""


class Breaker:
    """Knows for the whole process which endpoints have failed lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: dict[Key, _Circuit] = {}

    def usable(self, chain: Sequence[ModelSettings]) -> list[ModelSettings]:
        """The endpoints to ask, in order: those that are not left alone, or all if none is left."""
        now = self._clock()
        circuits = [(one, self._of(one)) for one in chain]
        free = [one for one, c in circuits if c.open_until <= now and c.tried_until <= now]
        return free or list(chain)

    def to_ask(self, chain: Sequence[ModelSettings]) -> list[ModelSettings]:
        """As `usable`, for a call that asks the first one now.

        After its pause an endpoint is tried by one call alone; if nothing comes of that, not even
        a failure, by another one after a first pause.
        """
        found = self.usable(chain)
        circuit, now = self._of(found[0]), self._clock()
        if 0.0 < circuit.open_until <= now:
            circuit.tried_until = now + FIRST_PAUSE
        return found

    def worked(self, endpoint: ModelSettings) -> None:
        """An endpoint has answered: its failures are forgotten."""
        self._circuits.pop(key_of(endpoint), None)

    def failed(self, endpoint: ModelSettings, error: ModelError) -> None:
        """An endpoint has failed for good. What any request would meet counts at once."""
        circuit, now = self._circuits.setdefault(key_of(endpoint), _Circuit()), self._clock()
        circuit.failures += 1
        if circuit.open_until > now:
            return  # calls that were under way beside the one that has told already
        tried_in_vain = circuit.open_until > 0.0 and not _is_of_request(error)
        circuit.tried_until = 0.0
        if circuit.failures > TOLERATED or tried_in_vain or _is_lasting(error):
            circuit.open_until = now + circuit.pause
            circuit.pause = min(LONGEST_PAUSE, 2 * circuit.pause)

    def forget(self) -> None:
        """Know of no failure."""
        self._circuits.clear()

    def _of(self, endpoint: ModelSettings) -> _Circuit:
        return self._circuits.get(key_of(endpoint)) or _Circuit()


def _is_lasting(error: ModelError) -> bool:
    """Whether any request would meet it: key, credit, model name, address."""
    return isinstance(error, ModelRefusedError) and not error.of_request


def _is_of_request(error: ModelError) -> bool:
    return isinstance(error, ModelRefusedError) and error.of_request


breaker = Breaker()
