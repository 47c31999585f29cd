"""Measure the cost of recording the files of a workspace: `python -m benchmarks.snapshots`.

Each figure of the table is the median of several snapshots in one process, in milliseconds. The
last line is the time in which a program creates and deletes files, without and with the log of what
programs write.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from manus.sandbox.child import Child
from manus.sandbox.supervisor import WriteSupervisor
from manus.threads.snapshots.objects import make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.write_log import WriteLog

_SIZES = (200, 2_000, 20_000)
_FILES_PER_FOLDER = 50
_REPEATS = 9
_PROGRAM_FILES = 10_000
_PROGRAM = (
    "import os, sys; names = [f'f{i}' for i in range(int(sys.argv[1]))];"
    "[open(name, 'w').close() for name in names]; [os.unlink(name) for name in names]"
)
_SETTLING_SECONDS = 0.1
"""Files that were just changed are read again; those of a real project are older."""


def main() -> None:
    """Print one line per size of a workspace."""
    print("| files | first | unchanged | one change | one change, path known |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for size in _SIZES:
        with TemporaryDirectory() as folder:
            cells = [f"{milliseconds:,.0f}" for milliseconds in _measure(Path(folder), size)]
        print(f"| {size:,} | {' | '.join(cells)} |")
    with TemporaryDirectory() as folder:
        asyncio.run(_measure_programs(Path(os.path.realpath(folder))))


async def _measure_programs(folder: Path) -> None:
    supervisor = WriteSupervisor(folder, WriteLog(folder.with_suffix(".writes")))
    words = [sys.executable, "-c", _PROGRAM, str(_PROGRAM_FILES)]
    plain = []
    logged = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*words, cwd=folder)
        await process.wait()
        plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        program = await supervisor.start(
            partial(
                Child.launch,
                words,
                directory=folder,
                environment=os.environ,
                stdin=subprocess.DEVNULL,
                output=subprocess.DEVNULL,
                descriptors=(),
            )
        )
        await program.wait()
        logged.append(time.perf_counter() - start)
    supervisor.close()
    seconds = f"{statistics.median(plain):.2f} → {statistics.median(logged):.2f} s"
    print(f"creating and deleting {_PROGRAM_FILES:,} files: {seconds}")


def _measure(folder: Path, size: int) -> list[float]:
    root = folder / "workspace"
    for number in range(size):
        path = root / f"folder{number // _FILES_PER_FOLDER}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"print({number})\n" * 40)
    time.sleep(_SETTLING_SECONDS)
    recorder = SnapshotRecorder(root, folder / "snapshots")
    recorder.notify = print
    ref = make_ref("benchmark")
    newest = ""
    writes = WriteLog(folder / "writes")

    def take(paths: list[str] | None = None) -> None:
        nonlocal newest
        newest = recorder.take(ref, newest, writes, "benchmark", paths) or ""

    changed = root / "folder0" / "file0.py"
    counter = iter(range(1_000_000))

    def change(paths: list[str] | None = None) -> float:
        changed.write_text(f"{next(counter)}\n")
        return _time(lambda: take(paths))

    first = _time(take)
    unchanged = [_time(take) for _ in range(_REPEATS)]
    one_change = [change() for _ in range(_REPEATS)]
    known_path = [change(["folder0/file0.py"]) for _ in range(_REPEATS)]
    medians = map(statistics.median, (unchanged, one_change, known_path))
    return [first, *medians]


def _time(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
