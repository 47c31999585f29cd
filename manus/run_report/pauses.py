"""When a run did nothing: it was stopped, or it waited for a person, and then went on.

A run counts the seconds in which it works. Where more time passed between two counts than it
counted, nothing was at work; and each checkpoint knows when the process that wrote it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from manus.run_report.trail import RESUME, Superstep

STARTED = "started"
"""In a checkpoint's metadata: when the program that worked on the thread was started."""
_IDLE = 5.0
"""Seconds not counted by the run from which on it must have been stopped."""

Pause = tuple[datetime, datetime]


def find_pauses(supersteps: Sequence[Superstep], *, adds: bool = False) -> list[Pause]:
    """The pauses of one run, in order. `adds`: each count is of its own time, not a running total.

    The process that went on is known by its start; where it is not, time not counted tells.
    """
    found = []
    first, counted = 0, 0.0
    for last, superstep in enumerate(supersteps):
        if restarted := _restart(supersteps[last : last + 2]):
            found.append(restarted)
        seconds = _seconds(superstep)
        if seconds is None:
            continue
        own = seconds if adds or seconds < counted else seconds - counted
        part = supersteps[first : last + 1]
        if not any(begin >= part[0].at for begin, _ in found):
            found += _idle(part, own)
        first, counted = last + 1, seconds
    return found


def _idle(part: Sequence[Superstep], counted: float) -> list[Pause]:
    """The time between two counts that was not counted, if the run was resumed in it."""
    passed = (part[-1].end - part[0].at).total_seconds()
    idle = max(passed - counted, 0.0)
    if idle < _IDLE and not any(s.written(RESUME) for s in part):
        return []
    longest = max(part, key=lambda s: s.end - s.at)
    return [(longest.at, longest.at + timedelta(seconds=idle))]


def _restart(pair: Sequence[Superstep]) -> Pause | None:
    """The pause after a superstep which another process than the one before has ended."""
    if len(pair) < 2:
        return None
    before, after = pair
    then, now = before.metadata.get(STARTED), after.metadata.get(STARTED)
    if not now or now == then or after.is_input:
        return None
    return before.at, max(before.at, min(datetime.fromisoformat(now), after.at))


def _seconds(superstep: Superstep) -> float | None:
    usage = superstep.last("usage")
    usage = getattr(usage, "value", usage)
    seconds = usage.get("seconds") if isinstance(usage, dict) else None
    return float(seconds) if seconds else None


def without_work(pauses: Iterable[Pause], work: Iterable[datetime]) -> list[Pause]:
    """The pauses in which nothing else happened, those that overlap made one.

    A step of a plan may wait while another one beside it works.
    """
    moments = sorted(work)
    quiet: list[Pause] = []
    for begin, end in sorted(pauses):
        if any(begin < moment < end for moment in moments):
            continue
        if quiet and begin <= quiet[-1][1]:
            quiet[-1] = (quiet[-1][0], max(end, quiet[-1][1]))
        else:
            quiet.append((begin, end))
    return quiet
