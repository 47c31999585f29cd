"""Log the paths that a thread's calls change, so that each change has an author.

The log is also a file, so that it is complete after the process was killed. Programs in a sandbox
are logged by their supervisor, our own tools log what they write.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from manus.threads.snapshots.objects import Author
from manus.workspace.safe_open import open_file, open_record, remove, write_private
from manus.workspace.tree import path_and_parents

WRITES = "writes"
"""The folder with the log of each thread, in that of the snapshots."""
_UNKNOWN = "/"
"""The entry of a change whose path is not known."""
_OF_KILLED = 0.0
"""The time of changes by a process that was killed."""


class Writers(Protocol):
    """Programs that may keep files open for writing."""

    def find_unsettled(self) -> Collection[str]:
        """Return the paths that the programs can still change without a note. Blocking."""
        ...


class WriteLog:
    """The paths that the calls of a thread may have changed since its newest snapshot.

    Paths are relative to the workspace; a path that ends with a slash includes all paths below.
    Methods are called by any thread, and return within microseconds unless documented otherwise.
    """

    def __init__(self, path: Path) -> None:
        """Open the log; it contains the changes of a process that was killed. Blocking."""
        self._path = path
        self._lock = threading.Lock()
        self._times: dict[str, float] = {}
        """The time of the last change by path."""
        self._in_file: set[str] = set()
        self._unknown_writers = 0
        self._writers: list[Writers] = []
        with contextlib.suppress(OSError), open_file(path) as file:
            self._in_file = set(os.fsdecode(file.read()).split("\0")[:-1])
            self._times = dict.fromkeys(self._in_file, _OF_KILLED)
        self._file: int | None = None

    def __bool__(self) -> bool:
        """Return whether anything may have changed since the newest snapshot."""
        return bool(self._times)

    @property
    def paths(self) -> list[str] | None:
        """Return the paths that may have changed; None if it may be any path."""
        with self._lock:
            return None if _UNKNOWN in self._times else list(self._times)

    def note(self, path: str) -> None:
        """Log a path that is about to change. Blocking."""
        with self._lock:
            if path not in self._in_file:
                self._append(path)
            self._times[path] = time.monotonic()

    def note_all(self, paths: Iterable[str]) -> None:
        """Log paths that are about to change. Blocking."""
        for path in paths:
            self.note(path)

    def note_unknown(self, *, for_good: bool = False) -> None:
        """Log that any path may have changed, also from now on if it is `for_good`."""
        self._unknown_writers += for_good
        self.note(_UNKNOWN)

    @property
    def expects_unknown(self) -> bool:
        """Return whether `unknown_writer` does not block, because the file already says so."""
        return _UNKNOWN in self._in_file

    @contextmanager
    def unknown_writer(self) -> Iterator[None]:
        """Log that any path may change for the length of the block. Blocking at its start.

        The file says so until the end of the run; a kill between two calls makes no difference.
        """
        self._unknown_writers += 1
        self.note_unknown()
        try:
            yield
        finally:
            self._unknown_writers -= 1

    def withdraw_unknown(self) -> bool:
        """Withdraw that any path may have changed; return whether nothing else is logged."""
        with self._lock:
            if not self._unknown_writers:
                self._times.pop(_UNKNOWN, None)
            return not self._times

    def add_writers(self, writers: Writers) -> None:
        """Keep the files that these programs have open in the log until they are closed."""
        self._writers.append(writers)

    def find_author(self, path: str) -> Author:
        """Return the author of a change: a call of the thread if it is logged."""
        times = self._times
        for name in (path, *(f"{parent}/" for parent in path_and_parents(path))):
            if name in times:
                # after a kill, somebody may have changed it once more
                return "unknown" if times[name] == _OF_KILLED else "agent"
        return "unknown" if _UNKNOWN in times else "outside"

    def settle(self) -> dict[str, float]:
        """Return what a listing from now on will contain, for `forget`. Blocking."""
        with self._lock:
            times = dict(self._times)
        for writers in self._writers if times else ():
            for path in writers.find_unsettled():
                times.pop(path, None)
        if self._unknown_writers:
            times.pop(_UNKNOWN, None)
        return times

    def forget(self, settled: Mapping[str, float]) -> None:
        """Remove what a stored listing contains, unless it has changed since. Blocking."""
        with self._lock:
            for path, noted_at in settled.items():
                if self._times.get(path) == noted_at:
                    del self._times[path]
            if self._in_file - self._times.keys() - {_UNKNOWN}:
                self._rewrite()

    def close(self) -> None:
        """Close the file, and remove from it what is in a snapshot. Blocking."""
        with self._lock:
            if self._in_file - self._times.keys():
                self._rewrite()
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _append(self, path: str) -> None:
        self._in_file.add(path)
        with contextlib.suppress(OSError):  # a failure only matters if the process is killed
            if self._file is None:
                with open_record(self._path) as file:
                    self._file = os.dup(file.fileno())
            os.write(self._file, os.fsencode(path) + b"\0")

    def _rewrite(self) -> None:
        self._in_file.clear()
        with contextlib.suppress(OSError):
            if self._file is not None:
                os.ftruncate(self._file, 0)
            elif not self._times:
                remove(self._path)
            else:
                write_private(self._path, b"")
        for path in self._times:
            self._append(path)


def open_write_log(folder: Path, ref: str) -> WriteLog:
    """Open the log of a thread in the folder of the snapshots. Blocking."""
    return WriteLog(folder / WRITES / ref)
