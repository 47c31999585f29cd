"""All that comes from a process: found and ended, also what has left its parent and its session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterable

import psutil

GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
PATIENCE = 10.0
"""Seconds after which an end is given up; only a process stuck in the kernel lives that long."""

MARK = "MANUS_PROCESS_TREE"
"""The variable that tells whose a process is. It goes with a daemon that has left its parent and
its session, where nothing else leads back to us."""


def new_mark() -> str:
    """A mark for the processes of one owner, unlike any other's."""
    return secrets.token_hex(8)


async def end_tree(mark: str, root: int | None = None, *, reaped: bool = False) -> None:
    """End all that `tree` finds. A cancellation that comes meanwhile waits for it."""
    work = asyncio.ensure_future(asyncio.to_thread(_end, mark, root, reaped))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise


def _end(mark: str, root: int | None, reaped: bool) -> None:
    """First SIGTERM, so that they can clean up, then SIGKILL to what is left. Blocking."""
    left = tree(mark, root, reaped=reaped)
    if not left:
        return
    _signal(left, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while (left := tree(mark, root, reaped=reaped, known=left)) and time.monotonic() < until:
        time.sleep(0.01)
    until = time.monotonic() + PATIENCE
    while left and time.monotonic() < until:
        # Stopped before they are killed: one that forks faster than we look would slip away.
        _signal(left, signal.SIGSTOP)
        left = tree(mark, root, reaped=reaped, known=left)
        _signal(left, signal.SIGKILL)
        time.sleep(0.01)
        left = tree(mark, root, reaped=reaped, known=left)


def tree(
    mark: str,
    root: int | None = None,
    *,
    reaped: bool = False,
    known: Iterable[psutil.Process] = (),
) -> list[psutil.Process]:
    """The living processes that bear the mark, are of `root`'s session, or come from such a one.

    `reaped` says that `root` has ended, so that its number may be another's by now. `known` were
    found before, and count while they live. Blocking.
    """
    # A number is not given away while a session bears it: whoever has it now, has the session too.
    session = None if root is not None and reaped and psutil.pid_exists(root) else root
    found = {process.pid: process for process in known if _lives(process)}
    children: dict[int, list[psutil.Process]] = {}
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):  # it has just ended
            process = psutil.Process(pid)
            children.setdefault(process.ppid(), []).append(process)
            if _belongs(process, session, mark):
                found.setdefault(pid, process)
    # Those that wiped their environment and left the session are still someone's children.
    queue = list(found)
    while queue:
        for child in children.get(queue.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                queue.append(child.pid)
    return [process for process in found.values() if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _belongs(process: psutil.Process, session: int | None, mark: str) -> bool:
    try:
        if os.getsid(process.pid) == session:
            return True
        return mark in process.environ().get(MARK, "").split(":")
    except (psutil.Error, OSError):
        return False  # it has ended, or is another user's


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):  # it has just ended
            process.send_signal(number)
