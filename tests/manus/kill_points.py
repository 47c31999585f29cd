"""Kills the program at the n-th call of the system that matters: a monitor (strace) does it."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HAS_STRACE = shutil.which("strace") is not None


@contextmanager
def monitored(pid: int, out: Path, *options: str) -> Iterator[None]:
    """What a process forks in the block is watched by strace."""
    command = ["strace", "-f", "-p", str(pid), "-o", str(out), *options]
    monitor = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert monitor.stderr is not None
    try:
        said = monitor.stderr.readline()
        assert "attached" in said, said
        yield
    finally:
        monitor.send_signal(signal.SIGTERM)
        try:
            monitor.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            # it waits for the first process of a namespace to stop, and that one for the others
            # to be reaped, which strace has to do
            monitor.kill()
            monitor.communicate()


def commits(trace: Path) -> list[int]:
    """Which of the traced writes to a write-ahead log are the first of a transaction, from one.

    To be killed at any other write of a transaction leaves the same behind. A frame is a header of
    24 bytes and a page; the last header of a transaction holds the size of the database.
    """
    found = [1]
    for number, line in enumerate(_calls(trace), 1):
        header = re.search(r'"((?:\\x..){24})", 24,', line)
        if header is not None and header[1][16:32] != r"\x00\x00\x00\x00":
            found.append(number + 2)
    return found


def count(trace: Path) -> int:
    """How many traced calls there were."""
    return len(_calls(trace))


def _calls(trace: Path) -> list[str]:
    return [line for line in trace.read_text().splitlines() if ") = " in line or "<unf" in line]
