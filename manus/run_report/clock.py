"""The time of a run without its idle intervals, as places between 0 and 1."""

from __future__ import annotations

from datetime import UTC, datetime

from manus.formatting import offset
from manus.trace.model import Run

_TICKS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800),
)
_MOST_TICKS = 6


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

    def label(self, when: datetime | float | None) -> str:
        """A moment, or seconds, as a time since the beginning; of a short run with fractions."""
        seconds = when if isinstance(when, int | float) else self.seconds(when)
        if self.length >= 10:
            return offset(seconds)
        if self.length < 0.5:
            return f"{1000 * seconds:.0f} ms"
        return f"{seconds:.1f}".removesuffix(".0") + " s"

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Where the clock stood still, and for how many seconds."""
        return [(self.place(b), (e - b).total_seconds()) for b, e in self._idle]

    @property
    def ticks(self) -> list[float]:
        """Round seconds, as many as can be read beside each other."""
        step = next((t for t in _TICKS if self.length / t <= _MOST_TICKS), _TICKS[-1])
        return [step * i for i in range(int(self.length / step) + 1)]
