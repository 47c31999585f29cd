"""When a run did nothing: it was stopped, or waited for a person, and then went on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from manus.trace.checkpoint_history import RESUME, Superstep
from manus.trace.model import Interval


def idle_intervals(
    supersteps: Sequence[Superstep],
    inner: Iterable[Interval] = (),
    work: Iterable[datetime] = (),
) -> list[Interval]:
    """The idle intervals of one run, in order; those that overlap are made one.

    `inner` are those of the agents of a flow, and `work` the moments at which their steps ended: a
    step of a plan may wait while another beside it works.
    """
    moments = sorted(work)
    quiet: list[Interval] = []
    for begin, end in sorted([*_waits(supersteps), *_restarts(supersteps), *inner]):
        if any(begin < moment < end for moment in moments):
            continue
        if quiet and begin <= quiet[-1][1]:
            quiet[-1] = (quiet[-1][0], max(end, quiet[-1][1]))
        else:
            quiet.append((begin, end))
    return quiet


def _waits(supersteps: Sequence[Superstep]) -> Iterator[Interval]:
    """The supersteps in which a person was asked, and answered, but for what was worked there.

    An agent counts the seconds in which it works as a running total.
    """
    counted, waited = 0.0, None
    for superstep in supersteps:
        if superstep.written(RESUME):
            if waited is not None:
                yield waited.began, waited.ended
            waited = superstep
        seconds = (superstep.last("usage") or {}).get("seconds")
        if seconds and waited is not None:
            worked = timedelta(seconds=max(seconds - counted, 0.0))
            yield waited.began, max(waited.began, waited.ended - worked)
            waited = None
        counted = seconds or counted
    if waited is not None:
        yield waited.began, waited.ended


def _restarts(supersteps: Sequence[Superstep]) -> Iterator[Interval]:
    """From a superstep that another process has ended to the start of that process."""
    for before, after in itertools.pairwise(supersteps):
        then, now = before.metadata.get("started"), after.metadata.get("started")
        if now and now != then and not after.is_input:
            started = datetime.fromisoformat(now)
            yield before.began, max(before.began, min(started, after.began))
