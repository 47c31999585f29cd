"""When a run did nothing: it was stopped, or waited for a person, and then went on.

A run counts the seconds in which it works. Where more time passed between two counts than it
counted, nothing was at work; and each checkpoint knows when the process that wrote it began.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from manus.trace.checkpoint_history import RESUME, Superstep
from manus.trace.model import Interval

_IDLE = 5.0
"""Seconds not counted by the run from which on it must have been stopped."""


def idle_intervals(supersteps: Sequence[Superstep], *, adds: bool = False) -> list[Interval]:
    """The idle intervals of one run, in order.

    `adds`: each count of seconds is of its own time (a flow), not a running total (an agent).
    """
    found = list(_restarts(supersteps))
    first, counted = 0, 0.0
    for last, superstep in enumerate(supersteps):
        seconds = (superstep.last("usage") or {}).get("seconds")
        if not seconds:
            continue
        own = seconds if adds or seconds < counted else seconds - counted
        part = supersteps[first : last + 1]
        if not any(part[0].began <= begin < part[-1].ended for begin, _ in found):
            found += _uncounted(part, own)
        first, counted = last + 1, seconds
    return sorted(found)


def _restarts(supersteps: Sequence[Superstep]) -> Iterator[Interval]:
    """From a superstep that another process has ended to the start of that process."""
    for before, after in itertools.pairwise(supersteps):
        then, now = before.metadata.get("started"), after.metadata.get("started")
        if now and now != then and not after.is_input:
            started = datetime.fromisoformat(now)
            yield before.began, max(before.began, min(started, after.began))


def _uncounted(part: Sequence[Superstep], counted: float) -> list[Interval]:
    """The time between two counts that was not counted, if the run was resumed in it."""
    idle = (part[-1].ended - part[0].began).total_seconds() - counted
    if idle < _IDLE and not any(s.written(RESUME) for s in part):
        return []
    longest = max(part, key=lambda s: s.ended - s.began)
    return [(longest.began, longest.began + timedelta(seconds=max(idle, 0.0)))]


def without_work(idle: Iterable[Interval], work: Iterable[datetime]) -> list[Interval]:
    """The intervals in which nothing else happened, those that overlap made one.

    A step of a plan may wait while another beside it works.
    """
    moments = sorted(work)
    quiet: list[Interval] = []
    for begin, end in sorted(idle):
        if any(begin < moment < end for moment in moments):
            continue
        if quiet and begin <= quiet[-1][1]:
            quiet[-1] = (quiet[-1][0], max(end, quiet[-1][1]))
        else:
            quiet.append((begin, end))
    return quiet
