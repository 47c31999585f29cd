"""Cache the entries of a workspace's files, so that an unchanged file is not read again."""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path

from manus.workspace.listing import Listing, Status
from manus.workspace.safe_open import open_file, write_private
from manus.workspace.tree import Entry


class FileCache:
    """The entries of files by status, so that an unchanged file is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[Status, Entry]] = {}

    def load(self) -> None:
        """Read the cache of an earlier run; start with an empty one if there is none."""
        with contextlib.suppress(OSError, ValueError, TypeError), open_file(self._path) as file:
            content = json.load(file)
            for path, (values, identifier) in content.items():
                status = Status(*values)
                self._known[path] = (status, make_entry(status, identifier))

    def save(self) -> None:
        """Write the cache. A failure only costs time."""
        content = {path: (status, entry.object) for path, (status, entry) in self._known.items()}
        with contextlib.suppress(OSError):
            write_private(self._path, json.dumps(content).encode())

    def find_all(self, files: Mapping[str, Status]) -> dict[str, Entry]:
        """Return the entries of the files with these statuses that need not be read."""
        known = self._known
        nothing = (None, None)
        entries = {}
        for path, status in files.items():
            known_status, entry = known.get(path, nothing)
            if entry is not None and known_status == status:
                entries[path] = entry
        return entries

    def update(self, listing: Listing, entries: dict[str, Entry]) -> None:
        """Cache the files that can no longer change without a different status."""
        for path, status in listing.files.items():
            if path in entries and status.changed_at < listing.settled_before:
                self._known[path] = (status, entries[path])


def make_entry(status: Status, identifier: str) -> Entry:
    """Return the entry of a file or a link with this status and object."""
    if stat.S_ISLNK(status.mode):
        return Entry("link", 0, identifier)
    return Entry("file", stat.S_IMODE(status.mode), identifier)
