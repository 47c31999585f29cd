"""What endpoints have taught by refusing: how each wants to be asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from manus.models.endpoints import Key, key_of
from manus.models.origins import Back, origin_of
from manus.state.model_settings import ModelSettings

KEPT = 3600.0
"""Seconds for which a lesson holds. Then it is learned again, at the price of one refused request:
a server may have been started anew, with tools or with another template."""

Lesson = Literal["no tools", "wants thoughts", "wants excuses", "refuses sealed"]
"""Its model cannot call tools; what its model thought must come back with the history; each call
must have a signature, and those of other models have none; what it gives signed or encrypted it
does not take back."""


class Lessons:
    """What each endpoint has taught lately, for the whole process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._learned: dict[tuple[Key, Lesson], float] = {}

    def learn(self, endpoint: ModelSettings, lesson: Lesson) -> None:
        """An endpoint has said so."""
        self._learned[key_of(endpoint), lesson] = self._clock()

    def knows(self, endpoint: ModelSettings, lesson: Lesson) -> bool:
        """Whether an endpoint has said so lately."""
        when = self._learned.get((key_of(endpoint), lesson))
        return when is not None and self._clock() - when < KEPT

    def forget(self) -> None:
        """Know nothing of any endpoint."""
        self._learned.clear()

    def is_prompted(self, endpoint: ModelSettings) -> bool:
        """Whether tools are to be described to a model in words."""
        if endpoint.tool_calling == "auto":
            return self.knows(endpoint, "no tools")
        return endpoint.tool_calling == "prompted"

    def back_to(self, endpoint: ModelSettings) -> Back:
        """How what the model thought goes back to an endpoint."""
        chosen = endpoint.send_reasoning
        wanted, refused = (self.knows(endpoint, it) for it in ("wants thoughts", "refuses sealed"))
        return Back(
            origin_of(endpoint),
            text=wanted if chosen is None else chosen,
            as_given=chosen is True,  # one that has to tell says under which name, too
            sealed=not refused if chosen is None else chosen,
            excused=chosen is not False and self.knows(endpoint, "wants excuses"),
        )


lessons = Lessons()
