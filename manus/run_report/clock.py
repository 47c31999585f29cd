"""The time of a run without its idle intervals, and what is drawn along it."""

from __future__ import annotations

from datetime import UTC, datetime

from manus.trace.model import Run

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
        idle = ((min(when, end) - begin).total_seconds() for begin, end in self._idle)
        return max((when - self._began).total_seconds() - sum(max(one, 0) for one in idle), 0.0)

    def between(self, begin: datetime | None, end: datetime | None) -> float:
        """Seconds of work between two moments."""
        return max(self.seconds(end) - self.seconds(begin), 0.0)

    def place(self, when: datetime | None) -> float:
        """A moment's place between the beginning, 0, and the end, 1."""
        return min(self.seconds(when) / self.length, 1.0)

    def box(self, begin: datetime | None, end: datetime | None) -> tuple[float, float]:
        """Place and width of a bar in percent; it is never too thin to be seen."""
        left = 100 * self.place(begin)
        width = max(100 * self.place(end) - left, _THINNEST)
        return min(left, 100 - width), width

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Where the clock stood still, and for how many seconds."""
        return [(self.place(b), (e - b).total_seconds()) for b, e in self._idle]
