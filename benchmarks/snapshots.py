"""Measure the cost of recording the files of a workspace: `python -m benchmarks.snapshots`.

Each figure is the median of several snapshots in one process, in milliseconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from manus.execution.snapshots.objects import make_ref
from manus.execution.snapshots.recorder import SnapshotRecorder

_SIZES = (200, 2_000, 20_000)
_FILES_PER_FOLDER = 50
_REPEATS = 9
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


def _measure(folder: Path, size: int) -> list[float]:
    root = folder / "workspace"
    for number in range(size):
        path = root / f"folder{number // _FILES_PER_FOLDER}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"print({number})\n" * 40)
    time.sleep(_SETTLING_SECONDS)
    recorder = SnapshotRecorder(root, folder / "snapshots", largest_share=1.0)
    recorder.notify = print
    ref = make_ref("benchmark")
    newest = ""

    def take(paths: list[str] | None = None) -> None:
        nonlocal newest
        newest = recorder.take(ref, newest, "agent", "benchmark", paths)

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
