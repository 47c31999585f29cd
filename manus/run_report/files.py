"""The files that a run left in its workspace."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

from manus.formatting import size
from manus.nodes.planning.changed_files import changed_since
from manus.run_report.edits import Edit, edit_of, relative
from manus.state.errors import ToolError
from manus.tools.beneath import look_at, open_file
from manus.tools.editor.files import image_type
from manus.tools.workspace import Workspace
from manus.trace.model import Image, Run

_MOST_FILES = 200
_MOST_IMAGES = 12
_LARGEST_IMAGE = 2_000_000
"""Bytes of an image that is put into the page."""


@dataclass(slots=True)
class ChangedFile:
    """A file that a run made or changed."""

    path: str
    size: int | None
    """Bytes as it is now; None if it is not there."""
    edits: list[Edit] = field(default_factory=list)
    image: Image | None = None
    note: str = ""


def files_of(run: Run) -> tuple[list[ChangedFile], str]:
    """The files that a run made or changed, and what is to be said of the list. Blocking.

    The editor's come from its calls, the others from the workspace as it is now: those that were
    changed since the run began, until the next one.
    """
    edits: dict[str, list[Edit]] = {}
    for call in (call for step in run.agent_steps for call in step.calls):
        if (edit := edit_of(call)) is not None:
            edits.setdefault(relative(edit.path, run.workspace), []).append(edit)
    root = Path(run.workspace)
    if not run.workspace or not root.is_dir():
        note = f"The workspace {root} is not there any more." if run.workspace else ""
        return [ChangedFile(path, None, own) for path, own in edits.items()], note
    named = (path for stage in run.stages for path in stage.files)
    paths = list(dict.fromkeys([*edits, *_changed(root, run), *named]))
    files = [
        ChangedFile(path, _size(root, path), edits.get(path, [])) for path in paths[:_MOST_FILES]
    ]
    images = 0
    for file in files:
        _add_image(file, root, has_room=images < _MOST_IMAGES)
        images += file.image is not None
    left = len(paths) - _MOST_FILES
    note = f"{left} more files are not listed." if left > 0 else ""
    return [file for file in files if file.size is not None or file.edits], note


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


def _size(root: Path, path: str) -> int | None:
    try:
        about = look_at(Workspace(root).readable(path))
        return about.st_size if about is not None else None
    except (OSError, ToolError):
        return None  # it lies outside, or cannot be read by us


def _add_image(file: ChangedFile, root: Path, *, has_room: bool) -> None:
    try:
        with open_file(Workspace(root).readable(file.path)) as held:
            head = held.read(16)
            mime = image_type(head)
            if mime is None:
                return
            if not has_room:
                file.note = "an image; the page has no room for more of them"
            elif (file.size or 0) > _LARGEST_IMAGE:
                file.note = f"an image of {size(file.size or 0)}, too large to be shown here"
            else:
                data = base64.b64encode(head + held.read(_LARGEST_IMAGE)).decode("ascii")
                file.image = Image(mime, data, file.path)
    except (OSError, ToolError):
        return  # it was deleted, lies outside, or cannot be read by us
