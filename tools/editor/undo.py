"""What files were before they were edited: on disk, so that an edit can be undone after a resume.

One file a record: a line of JSON about the edit, then the bytes that were there before. Records
of one path share a folder and are numbered. All of it is blocking.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import NamedTuple

KEEP_EACH = 50
"""Edits of one file that can be undone."""
KEEP_ALL = 1_000
KEEP_BYTES = 64 * 2**20
"""Number and size of all records together."""


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
        """Keep what a file is before it is edited; the oldest records make room.

        Returns the file of the record, for an edit that then fails.

        Raises:
            OSError: it cannot be written.
        """
        folder = self._of(path)
        folder.mkdir(parents=True, exist_ok=True)
        last = max((int(file.stem) for file in self._newest(path)), default=0)
        head = record._replace(before=None)._asdict() | {
            "path": path,
            "existed": record.before is not None,
        }
        fresh = folder / f"{last + 1:06}.tmp"
        fresh.write_bytes(json.dumps(head).encode() + b"\n" + (record.before or b""))
        kept = fresh.replace(fresh.with_suffix(".undo"))
        self._make_room(path)
        return kept

    def last(self, path: str) -> Record | None:
        """The newest record of a file that is there and whole."""
        for file in self._newest(path):
            try:
                head, _, before = file.read_bytes().partition(b"\n")
                about = json.loads(head)
                return Record(
                    about["command"],
                    before if about["existed"] else None,
                    about["after"],
                    about["mode"],
                    tuple(about["folders"]),
                )
            except (ValueError, KeyError, TypeError):
                file.unlink(missing_ok=True)  # damaged from outside: of no use to anybody
        return None

    def drop(self, path: str) -> None:
        """Forget the newest record of a file."""
        for file in itertools.islice(self._newest(path), 1):
            file.unlink(missing_ok=True)

    def _of(self, path: str) -> Path:
        return self._folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]

    def _newest(self, path: str) -> list[Path]:
        files = (file for file in self._of(path).glob("*.undo") if file.stem.isdecimal())
        return sorted(files, reverse=True)

    def _make_room(self, path: str) -> None:
        for file in self._newest(path)[KEEP_EACH:]:
            file.unlink(missing_ok=True)
        every = [(file.stat(), file) for file in self._folder.glob("*/*.undo")]
        every.sort(key=lambda pair: pair[0].st_mtime_ns, reverse=True)
        room = KEEP_BYTES
        for place, (about, file) in enumerate(every):
            room -= about.st_size
            if room < 0 or place >= KEEP_ALL:
                file.unlink(missing_ok=True)
