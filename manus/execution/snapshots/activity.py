"""Mark a thread while its calls may change files, so that interruptions are detected."""

from __future__ import annotations

import contextlib
from pathlib import Path

from manus.execution.safe_open import look_at, open_record, remove

_FOLDER = "active"


class ActivityMarker:
    """A file that exists while a call of a thread may change files, or after a process died."""

    def __init__(self, folder: Path, ref: str) -> None:
        """Create the marker of a thread, which is not set.

        Args:
            folder: the folder of the snapshots.
            ref: the ref of the thread.
        """
        self._path = folder / _FOLDER / ref

    def is_set(self) -> bool:
        """Return whether a process died during a call. Blocking."""
        return look_at(self._path) is not None

    def set(self) -> None:
        """Set it before a call, in a few microseconds; a failure only loses the distinction."""
        with contextlib.suppress(OSError):
            open_record(self._path).close()

    def clear(self) -> None:
        """Remove it after a call, in a few microseconds."""
        with contextlib.suppress(OSError):
            remove(self._path)
