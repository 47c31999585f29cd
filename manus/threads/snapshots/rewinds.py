"""The rewinds of a thread that can be undone, the newest last, and the one that is in progress."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from manus.config.files import state_folder
from manus.state.errors import StorageError
from manus.threads.snapshots.objects import make_ref
from manus.workspace.safe_open import look_at, open_file, remove, write_private


@dataclass(frozen=True, slots=True)
class Intent:
    """A rewind, written before the first file changes."""

    checkpoint: str
    """The checkpoint to rewind to; empty if only files are restored."""
    start: str
    """The snapshot to restore; empty if files are not changed."""
    before: str
    """The snapshot of the files before the rewind; empty if there is none."""
    previous: str
    """The newest checkpoint before the rewind."""
    origin: str = ""
    """The snapshot that undoing the rewind restores."""
    theirs: bool = False
    step: int = 0
    """Number of the step that the files are restored to."""
    undoes: int = 0
    """Number of the thread's newest rewinds that it undoes."""
    result: str = ""
    """The newest checkpoint after the rewind."""
    is_complete: bool = False


class RewindLog:
    """The rewinds of one thread in a file, which the thread's lock protects. Blocking."""

    def __init__(self, folder: Path, thread_id: str) -> None:
        """Create the log of a thread in the records of its workspace."""
        self._path = folder / f"{make_ref(thread_id)}.json"
        self._hint = _hint_path(thread_id)
        self.progress = self._path.with_suffix(".log")
        """The file that logs what the rewind in progress has changed."""

    def read(self) -> list[Intent]:
        """Return the rewinds; empty if the file is missing, damaged, or of another release."""
        try:
            with open_file(self._path) as file:
                return [Intent(**item) for item in json.load(file)]
        except (OSError, ValueError, TypeError):
            return []

    def find_last(self) -> Intent | None:
        """Return the newest rewind if it is complete."""
        rewinds = self.read()
        return rewinds[-1] if rewinds and rewinds[-1].is_complete else None

    def write(self, rewinds: Sequence[Intent]) -> None:
        """Replace the rewinds.

        Raises:
            StorageError: they cannot be written.
        """
        try:
            if rewinds and not rewinds[-1].is_complete:
                write_private(self._hint, b"")
            write_private(self._path, json.dumps([*map(asdict, rewinds)]).encode())
            if not rewinds or rewinds[-1].is_complete:
                remove(self.progress)
                remove(self._hint)
        except OSError as error:
            raise StorageError(
                f"Cannot write the record of a rewind to {self._path} "
                f"({error.strerror}); free space or fix the permissions, then repeat the command."
            ) from None


def is_rewinding(thread_id: str) -> bool:
    """Return whether a rewind of a thread with this id may be in progress. Blocking."""
    return look_at(_hint_path(thread_id)) is not None


def _hint_path(thread_id: str) -> Path:
    return state_folder() / "rewinding" / make_ref(thread_id)
