"""Helpers for processes that a tool has started."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, and fail if it does not become true."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def lives(pid: int | str) -> bool:
    """Return whether a process exists and is no zombie, on the host or in the test's sandbox."""
    below = psutil.Process().children(recursive=True)
    if any(_numbers(process.pid)[1:] == [int(pid)] for process in below):
        return True
    try:  # kernel threads, whose ids are as low as those in a sandbox, have no command line
        return _numbers(int(pid)) == [int(pid)] and bool(psutil.Process(int(pid)).cmdline())
    except psutil.NoSuchProcess:
        return False


def pid_outside(inside: int | str, folder: Path) -> int:
    """Return the id, on the host, of a process in a folder that wrote its own id in a sandbox."""
    return next(pid for pid in processes_in(folder) if _numbers(pid)[-1:] == [int(inside)])


def processes_in(folder: Path) -> list[int]:
    """Return the ids of the processes whose working directory is a folder, or inside it."""
    return [
        process.pid
        for process in psutil.process_iter(["cwd"])
        if Path(process.info["cwd"] or "/").is_relative_to(folder)
    ]


def _numbers(pid: int) -> list[int]:
    """Return the ids of a process: on the host, and in its own namespace."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next([int(n) for n in line.split()[1:]] for line in lines if line.startswith("NSpid"))
