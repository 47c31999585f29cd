"""The time of a run without its pauses, as places between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from manus.run_report.words import offset

_TICKS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800),
)
_MOST_TICKS = 6
_SHORTEST = 0.5
_SHORT = 10
"""Seconds below which tenths of them are told."""


class Clock:
    """Counts from the beginning of a run; it stands still while nothing was at work."""

    def __init__(
        self, began: datetime, ended: datetime, pauses: Sequence[tuple[datetime, datetime]] = ()
    ) -> None:
        self._began = began
        self._pauses = list(pauses)
        self.length = max(self.seconds(ended), 0.001)
        """Seconds."""

    def seconds(self, when: datetime) -> float:
        """Seconds of work up to a moment."""
        passed = (when - self._began).total_seconds()
        for begin, end in self._pauses:
            if when > begin:
                passed -= (min(when, end) - begin).total_seconds()
        return max(passed, 0.0)

    def place(self, when: datetime) -> float:
        """A moment's place between the beginning, 0, and the end, 1."""
        return min(self.seconds(when) / self.length, 1.0)

    def label(self, when: datetime) -> str:
        """A moment as a time since the beginning."""
        return self.label_of(self.seconds(when))

    def label_of(self, seconds: float) -> str:
        """Seconds since the beginning; of a short run with its tenths."""
        if self.length >= _SHORT:
            return offset(seconds)
        if self.length < _SHORTEST:
            return f"{1000 * seconds:.0f} ms"
        return f"{seconds:.1f}".removesuffix(".0") + " s"

    @property
    def pauses(self) -> list[tuple[float, float]]:
        """Where the clock stood still, and for how many seconds."""
        return [(self.place(b), (e - b).total_seconds()) for b, e in self._pauses]

    def ticks(self) -> list[float]:
        """Round seconds, as many as can be read beside each other."""
        step = next((t for t in _TICKS if self.length / t <= _MOST_TICKS), _TICKS[-1])
        return [step * i for i in range(int(self.length / step) + 1)]
