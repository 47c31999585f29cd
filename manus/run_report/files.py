"""The files that a run left in its workspace."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from pathlib import Path

from manus.nodes.planning.changed_files import changed_since
from manus.run_report.edits import Edits
from manus.run_report.facts import FileFacts, Picture, RunFacts
from manus.run_report.words import size

MOST_FILES = 200
LARGEST_PICTURE = 2_000_000
"""Bytes of an image that is put into the page."""
ALL_PICTURES = 12_000_000
"""Bytes of all images of files together."""
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Budget:
    """The bytes of images that the page still has room for."""

    def __init__(self, left: int = ALL_PICTURES) -> None:
        self.left = left


def files_of(run: RunFacts, budget: Budget) -> tuple[list[FileFacts], str]:
    """The files that a run made or changed, with what is to be said of the list. Blocking.

    The editor's come from its calls, the others from the workspace as it is now: those that were
    changed since the run began, until the next one.
    """
    edits = edits_of(run)
    root = Path(run.talk.workspace) if run.talk.workspace else None
    if root is None or not root.is_dir():
        note = f"The workspace {root} is not there any more." if root and run.talk.workspace else ""
        return [_edited(path, edits, None) for path in edits.made], note
    found = dict.fromkeys([*edits.made, *_changed(root, run), *_named(run)])
    files = [_file(path, edits, root, budget) for path in list(found)[:MOST_FILES]]
    kept = [file for file in files if file is not None]
    left = len(found) - MOST_FILES
    return kept, f"{left} more files are not listed." if left > 0 else ""


def edits_of(run: RunFacts) -> Edits:
    """The edits of all its agents, in the order in which they were made."""
    edits = Edits(run.talk.workspace)
    steps = [step for talk in run.conversations for step in talk.steps]
    for step in sorted(steps, key=lambda s: s.thought_at):
        for call in step.calls:
            edits.take(call)
    return edits


def _changed(root: Path, run: RunFacts) -> list[str]:
    began = int(run.talk.began.timestamp() * 1e9)
    changed = changed_since(root, began)
    if run.is_newest or run.talk.ended is None:
        return changed
    end = run.talk.ended.timestamp()
    return [path for path in changed if _changed_at(root / path) <= end]


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_ctime
    except OSError:
        return float("inf")


def _named(run: RunFacts) -> Iterable[str]:
    return (path for row in run.rows for path in row.files)


def _edited(path: str, edits: Edits, length: int | None) -> FileFacts:
    return FileFacts(path, length, edits.made.get(path, []), edits.whole(path))


def _file(path: str, edits: Edits, root: Path, budget: Budget) -> FileFacts | None:
    whole = root / path
    if not os.path.realpath(whole).startswith(f"{os.path.realpath(root)}{os.sep}"):
        return _edited(path, edits, None) if path in edits.made else None
    try:
        length = whole.stat().st_size if whole.is_file() else None
    except OSError:
        length = None
    if length is None and path not in edits.made:
        return None
    file = _edited(path, edits, length)
    if length:
        _add_picture(file, whole, length, budget)
    return file


def _add_picture(file: FileFacts, whole: Path, length: int, budget: Budget) -> None:
    mime = _image_kind(whole)
    if mime is None:
        return
    if length > LARGEST_PICTURE:
        file.note = f"an image of {size(length)}, too large to be shown here"
    elif length > budget.left:
        file.note = "an image; the page has no room for more of them"
    else:
        budget.left -= length
        data = base64.b64encode(whole.read_bytes()).decode("ascii")
        file.picture = Picture(mime, data, file.path)


def _image_kind(path: Path) -> str | None:
    """The media type of an image that browsers draw, told by how the file begins."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        return None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for begin, mime in _BEGINNINGS.items() if head.startswith(begin)), None)
