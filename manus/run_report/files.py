"""The files that a run left in its workspace."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

from manus.formatting import size
from manus.nodes.planning.changed_files import changed_since
from manus.run_report.edits import Edits
from manus.trace.model import Edit, Image, Run

_MOST_FILES = 200
_LARGEST_IMAGE = 2_000_000
"""Bytes of an image that is put into the page."""
ALL_IMAGES = 12_000_000
"""Bytes of all images of files together."""
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(slots=True)
class ChangedFile:
    """A file that a run made or changed."""

    path: str
    size: int | None
    """Bytes as it is now; None if it is not there."""
    edits: list[Edit] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    """What all edits together changed, where the whole file is known."""
    image: Image | None = None
    note: str = ""


def files_of(run: Run, room: int) -> tuple[list[ChangedFile], str]:
    """The files that a run made or changed, and what is to be said of the list. Blocking.

    The editor's come from its calls, the others from the workspace as it is now: those that were
    changed since the run began, until the next one. `room`: bytes of images that may be shown.
    """
    edits = Edits(run.workspace)
    for step in sorted(
        run.agent_steps, key=lambda s: s.thought_at.timestamp() if s.thought_at else 0
    ):
        for call in step.calls:
            edits.take(call)
    root = Path(run.workspace)
    if not run.workspace or not root.is_dir():
        note = f"The workspace {root} is not there any more." if run.workspace else ""
        return [_edited(path, edits) for path in edits.made], note
    named = (path for stage in run.stages for path in stage.files)
    paths = list(dict.fromkeys([*edits.made, *_changed(root, run), *named]))
    files = []
    for path in paths[:_MOST_FILES]:
        file = _edited(path, edits, root)
        if file.size is None and not file.edits:
            continue
        _add_image(file, root / path, room)
        room -= file.size or 0 if file.image else 0
        files.append(file)
    left = len(paths) - _MOST_FILES
    return files, f"{left} more files are not listed." if left > 0 else ""


def _changed(root: Path, run: Run) -> list[str]:
    if run.began is None:
        return []
    changed = changed_since(root, int(run.began.timestamp() * 1e9))
    if run.is_newest or run.ended is None:
        return changed
    end = run.ended.timestamp()
    return [
        path
        for path in changed
        if os.path.lexists(root / path) and os.lstat(root / path).st_ctime <= end
    ]


def _edited(path: str, edits: Edits, root: Path | None = None) -> ChangedFile:
    length = None
    if root is not None and (root / path).resolve().is_relative_to(root.resolve()):
        try:
            length = (root / path).stat().st_size
        except OSError:
            length = None  # it was deleted, or cannot be read by us
    return ChangedFile(path, length, edits.made.get(path, []), edits.whole(path))


def _add_image(file: ChangedFile, whole: Path, room: int) -> None:
    mime = _image_kind(whole) if file.size else None
    if mime is None or file.size is None:
        return
    if file.size > _LARGEST_IMAGE:
        file.note = f"an image of {size(file.size)}, too large to be shown here"
    elif file.size > room:
        file.note = "an image; the page has no room for more of them"
    else:
        data = base64.b64encode(whole.read_bytes()).decode("ascii")
        file.image = Image(mime, data, file.path)


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
