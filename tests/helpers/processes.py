"""What tests ask of processes that a tool has started."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, and fail if it does not come."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def lives(pid: int | str) -> bool:
    """Whether a process is there and no zombie: of this machine, or of a sandbox of this test's."""
    below = psutil.Process().children(recursive=True)
    if any(_numbers(process.pid)[1:] == [int(pid)] for process in below):
        return True
    try:  # those of the kernel, whose numbers are as low as those in a sandbox, have no command
        return _numbers(int(pid)) == [int(pid)] and bool(psutil.Process(int(pid)).cmdline())
    except psutil.NoSuchProcess:
        return False


def pid_outside(inside: int | str, folder: Path) -> int:
    """The number, here, of a process in a folder that has told its own: a sandbox has others."""
    return next(pid for pid in working_in(folder) if _numbers(pid)[-1:] == [int(inside)])


def working_in(folder: Path) -> list[int]:
    """The numbers of the processes whose directory is a folder, or lies in it."""
    return [
        process.pid
        for process in psutil.process_iter(["cwd"])
        if Path(process.info["cwd"] or "/").is_relative_to(folder)
    ]


def _numbers(pid: int) -> list[int]:
    """The numbers of a process: here, and in the namespace that it is in."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next([int(n) for n in line.split()[1:]] for line in lines if line.startswith("NSpid"))
