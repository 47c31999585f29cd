"""The time of a run without its idle intervals, and what is drawn along it."""

from __future__ import annotations

from datetime import UTC, datetime

from manus.trace.model import Run

_TICKS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800),
)
_MOST_TICKS = 6
_THINNEST = 0.2
"""Share of the width, in percent, that the shortest bar has."""


class Clock:
    """Counts from the beginning of a run; it stands still while nothing was at work."""

    def __init__(self, run: Run) -> None:
        self._began = run.began or datetime.now(UTC)
        self._idle = run.idle
        self.length = max(self.seconds(run.ended), 0.001)
        """Seconds."""

    def seconds(self, when: datetime | None) -> float:
        """Seconds of work up to a moment; 0 where it is not known."""
        if when is None:
            return 0.0
        passed = (when - self._began).total_seconds()
        for begin, end in self._idle:
            if when > begin:
                passed -= (min(when, end) - begin).total_seconds()
        return max(passed, 0.0)

    def between(self, begin: datetime | None, end: datetime | None) -> float:
        """Seconds of work between two moments."""
        return max(self.seconds(end) - self.seconds(begin), 0.0)

    def place(self, when: datetime | None) -> float:
        """A moment's place between the beginning, 0, and the end, 1."""
        return min(self.seconds(when) / self.length, 1.0)

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Where the clock stood still, and for how many seconds."""
        return [(self.place(b), (e - b).total_seconds()) for b, e in self._idle]

    @property
    def ticks(self) -> list[float]:
        """Round seconds, as many as can be read beside each other."""
        step = next((t for t in _TICKS if self.length / t <= _MOST_TICKS), _TICKS[-1])
        return [step * i for i in range(int(self.length / step) + 1)]


def box(begin: float, end: float) -> tuple[float, float]:
    """Place and width of a bar in percent; it is never too thin to be seen."""
    width = max(100 * (end - begin), _THINNEST)
    return min(100 * begin, 100 - width), width
