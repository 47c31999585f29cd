"""The recorded state of a workspace's files: a tree of entries, and differences between trees."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["file", "link", "folder"]

FILE_MODE = 0o644
PROGRAM_MODE = 0o755
FOLDER_MODE = 0o755


class Entry(NamedTuple):
    """A file, a link, or a folder that is empty or has unusual permissions."""

    kind: Kind
    mode: int
    """Permissions; 0 for a link, which has none."""
    object: str = ""
    """Git object id of the content or of the link's target; empty for a folder."""


USUAL_FOLDER = Entry("folder", FOLDER_MODE)
"""An empty folder with the usual permissions."""


@dataclass(slots=True)
class Tree:
    """The entries of a workspace by relative path."""

    entries: dict[str, Entry] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """What is not recorded, with the reason."""
    unrecorded: dict[str, str] = field(default_factory=dict, compare=False)
    """What calls changed although it was not recorded before, with the reason."""

    def is_skipped(self, path: str) -> bool:
        """Return whether a path, or a folder above it, was not recorded."""
        return any(parent in self.skipped for parent in path_and_parents(path))

    def manifest(self) -> bytes:
        """Return what a git tree cannot represent, as JSON."""
        modes = {}
        folders = {}
        for path, entry in self.entries.items():
            if entry.kind == "folder":
                folders[path] = entry.mode
            elif entry.kind == "file" and entry.mode not in (FILE_MODE, PROGRAM_MODE):
                modes[path] = entry.mode
        content = {"modes": modes, "folders": folders, "skipped": self.skipped}
        content["unrecorded"] = self.unrecorded
        return json.dumps(content, sort_keys=True).encode()


def apply_manifest(entries: dict[str, Entry], content: bytes) -> Tree:
    """Return the tree of a git tree's entries and a manifest."""
    manifest = json.loads(content)
    for path, mode in manifest["modes"].items():
        if path in entries:
            entries[path] = entries[path]._replace(mode=mode)
    for path, mode in manifest["folders"].items():
        entries[path] = Entry("folder", mode)
    # 0.3.0 did not record the last part
    return Tree(entries, manifest["skipped"], manifest.get("unrecorded", {}))


class PathChange(NamedTuple):
    """The difference in one path between two trees; None where the path does not exist."""

    path: str
    before: Entry | None
    after: Entry | None


def compare(before: Tree, after: Tree) -> Iterator[PathChange]:
    """Yield the differences between two trees by path; skipped paths count as unchanged."""
    old = before.entries
    new = after.entries
    for path in sorted({*_differing(old, new), *_differing(new, old)}):
        if not (before.is_skipped(path) or after.is_skipped(path)):
            yield PathChange(path, old.get(path), new.get(path))


def _differing(entries: Mapping[str, Entry], others: Mapping[str, Entry]) -> Iterator[str]:
    for path, entry in entries.items():
        if others.get(path) != entry:
            yield path


def path_and_parents(path: str) -> Iterator[str]:
    """Yield a path and each folder above it, the innermost first."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def blob_id(content: bytes) -> str:
    """Return git's object id for the content."""
    digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def list_changed_files(changes: Iterable[PathChange]) -> list[str]:
    """Return the paths of files and links in changes, without folders."""
    paths = []
    for change in changes:
        entry = change.after or change.before
        if entry is not None and entry.kind != "folder":
            paths.append(change.path)
    return paths
