"""Measure the memory of a group of processes, including shared memory, from `/proc`.

The resident size of a process (`man 5 proc`) includes neither files in a tmpfs nor a memfd that is
written without being mapped, and includes a mapping once for each process that shares it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

_SHARED_MEMORY = "dev/shm"
_HEAVY = 64 * 2**20
"""Bytes of shared mappings above which a process's proportional share is read."""


def measure_memory(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes of memory that processes use in total. Blocking.

    Shared memory counts once: as the mapped pages, or as the files (memfd, `/dev/shm`) that contain
    it, whichever is more. Unreadable values, such as those of ended processes, count as 0.
    """
    private = shared = 0
    files: dict[tuple[int, int], int] = {}
    pids = [process.pid for process in processes]
    for pid in pids:
        status = _read_kilobytes(f"/proc/{pid}/status", "RssAnon", "RssShmem")
        private += status.get("RssAnon", 0)
        shared += _measure_mappings(pid, status.get("RssShmem", 0))
        files.update(_iterate_memory_files(pid))
    held_by_files = sum(files.values()) + _measure_tmpfs(pids)
    return private + max(shared, held_by_files)


def _measure_mappings(pid: int, resident: int) -> int:
    """Return a process's share of its mappings, or their whole size if they are small."""
    if resident < _HEAVY:
        return resident
    rollup = _read_kilobytes(f"/proc/{pid}/smaps_rollup", "Pss_Shmem")
    return rollup.get("Pss_Shmem", resident)


def _read_kilobytes(path: str, *names: str) -> dict[str, int]:
    """Return the named lines of a file in `/proc`, in bytes."""
    values: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            name, _, value = line.partition(":")
            if name in names:
                values[name] = int(value.split()[0]) * 1024
    return values


def _iterate_memory_files(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the open memfds of a process: device and inode, and size in bytes."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(entry.path).startswith("/memfd:"):  # noqa: PTH115 - no file's path
                    about = entry.stat()
                    yield (about.st_dev, about.st_ino), about.st_blocks * 512


def _measure_tmpfs(pids: list[int]) -> int:
    """Return the used bytes of the sandbox's own `/dev/shm`; 0 if it is the machine's."""
    for pid in reversed(pids):
        with contextlib.suppress(OSError):
            inside = f"/proc/{pid}/root/{_SHARED_MEMORY}"
            if Path(inside).stat().st_dev == Path(f"/{_SHARED_MEMORY}").stat().st_dev:
                continue
            space = os.statvfs(inside)
            return (space.f_blocks - space.f_bfree) * space.f_frsize
    return 0
