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

from manus.state.files import make_private_folder, write_atomically

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
    folders: tuple[str, ...] = ()
    """Folders that were made for it, relative to the workspace, the outermost first."""


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
        known = self._newest(path)
        for file in known[KEEP - 1 :]:
            file.unlink(missing_ok=True)
        number = int(known[0].stem) + 1 if known else 1
        kept = self._of(path) / f"{number:06}.undo"
        make_private_folder(kept.parent)
        head = record._replace(before=None)._asdict() | {"existed": record.before is not None}
        write_atomically(kept, json.dumps(head).encode() + b"\n" + (record.before or b""), 0o600)
        return kept

    def last(self, path: str) -> Record | None:
        """The newest record of a file that is there and whole."""
        for file in self._newest(path):
            try:
                head, _, before = file.read_bytes().partition(b"\n")
                about = json.loads(head)
                held = before if about.pop("existed") else None
                return Record(**{**about, "before": held, "folders": tuple(about["folders"])})
            except (ValueError, LookupError, TypeError, AttributeError):
                file.unlink(missing_ok=True)  # damaged from outside: of no use to anybody
        return None

    def drop(self, path: str) -> None:
        """Forget the newest record of a file."""
        for file in self._newest(path)[:1]:
            file.unlink(missing_ok=True)

    def _of(self, path: str) -> Path:
        return self._folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]

    def _newest(self, path: str) -> list[Path]:
        files = (file for file in self._of(path).glob("*.undo") if file.stem.isdecimal())
        return sorted(files, reverse=True)
