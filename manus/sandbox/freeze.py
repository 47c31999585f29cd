"""Stop the programs of a sandbox while their files are looked at.

A program that forks while others are stopped is found in the next round, so rounds are repeated
until one finds nothing new. The programs cannot leave the tree: bubblewrap's process namespace and
the fallback's supervisor adopt orphans.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

_MAX_ROUNDS = 1_000
_MAX_WAITS = 10_000


def stop(roots: Iterable[int]) -> frozenset[int]:
    """Stop processes and their descendants; return them. Blocking."""
    roots = list(roots)
    processes: set[int] = set()
    for _ in range(_MAX_ROUNDS):
        tree = find_tree(roots)
        # again if a debugger that was not stopped yet has resumed one
        running = {pid for pid in tree if pid not in processes or _runs(pid)}
        if not running:
            break
        processes |= running
        send(running, signal.SIGSTOP)
        _wait_until_stopped(running)
    return frozenset(processes)


def send(processes: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to processes; those that have ended are skipped."""
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def find_tree(roots: Iterable[int]) -> set[int]:
    """Return processes and all their descendants. Blocking."""
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid in found:
            continue
        found.add(pid)
        for task in _list_tasks(pid):
            with contextlib.suppress(OSError):
                pending += map(int, (task / "children").read_text().split())
    return found


def _wait_until_stopped(pids: Iterable[int]) -> None:
    """Wait until the kernel has stopped all threads of processes; SIGSTOP is not immediate."""
    for pid in pids:
        for _ in range(_MAX_WAITS):
            if not _runs(pid):
                break
            os.sched_yield()


def _runs(pid: int) -> bool:
    return any(map(_is_running, _list_tasks(pid)))


def _list_tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # it has just ended
        return []


def _is_running(task: Path) -> bool:
    """Return whether a thread runs or sleeps in a way that a signal ends (`man 5 proc`)."""
    try:
        state = (task / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state in ("R", "S", "I")
