"""What files were before they were edited: on disk, so that an edit can be undone after a resume.

One file a record: a line of JSON about the edit, then the bytes that were there before. Records
of one path share a folder and are numbered. All of it is blocking.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from manus.tools.beneath import open_file, remove, write_private

KEEP = 20
"""Edits of one file that can be undone."""


def digest(data: bytes | None) -> str | None:
    """What tells two contents apart; None for a file that is not there."""
    return None if data is None else hashlib.sha256(data).hexdigest()


class Record(NamedTuple):
    """One edit: what the file was before, and what tells whether it still is what it became."""

    command: str
    before: bytes | None
    """None where there was no file."""
    after: str | None
    """The `digest` of what was written."""
    mode: int | None = None


class UndoStore:
    """The records of a workspace, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def push(self, path: str, record: Record) -> Path:
        """Keep what a file is before it is edited.

        Returns the file of the record, for an edit that then fails.

        Raises:
            OSError: it cannot be written.
        """
        known = self._newest_first(path)
        for file in known[KEEP - 1 :]:
            remove(file)
        number = int(known[0].stem) + 1 if known else 1
        kept = self._of(path) / f"{number:06}.undo"
        head = [record.command, record.before is not None, record.after, record.mode]
        write_private(kept, json.dumps(head).encode() + b"\n" + (record.before or b""))
        return kept

    def last(self, path: str) -> Record | None:
        """The newest record of a file."""
        for file in self._newest_first(path):
            with open_file(file) as kept:
                head, _, before = kept.read().partition(b"\n")
            command, existed, after, mode = json.loads(head)
            return Record(command, before if existed else None, after, mode)
        return None

    def time_of_last(self, path: str) -> float:
        """When the newest record of a file was made; 0 if there is none."""
        return max((file.stat().st_mtime for file in self._newest_first(path)[:1]), default=0.0)

    def drop(self, path: str) -> None:
        """Forget the newest record of a file."""
        for file in self._newest_first(path)[:1]:
            remove(file)

    def _of(self, path: str) -> Path:
        return self._folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]

    def _newest_first(self, path: str) -> list[Path]:
        return sorted(self._of(path).glob("[0-9]*.undo"), reverse=True)
