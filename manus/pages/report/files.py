"""The files that a run left in its workspace."""

from __future__ import annotations

import base64
import contextlib
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

from manus.execution.changed_files import changed_since
from manus.execution.result import Image
from manus.execution.safe_open import look_at, open_file
from manus.execution.text_files import image_type
from manus.execution.workspace import Workspace
from manus.pages.report.edits import Edit, find_edit, relative
from manus.pages.trace.model import Run
from manus.state.errors import ToolError

_MOST_FILES = 200
_MOST_IMAGES = 12
_LARGEST_IMAGE = 2_000_000
"""Bytes of an image that is put into the page."""


@dataclass(slots=True)
class ChangedFile:
    """A file that a run made or changed."""

    path: str
    size: int | None = None
    """Bytes as it is now; None if it is not there, lies outside, or cannot be read by us."""
    edits: list[Edit] = field(default_factory=list)
    image: Image | None = None


def find_changed_files(run: Run) -> tuple[list[ChangedFile], str]:
    """The files that a run made or changed, and what is to be said of the list. Blocking.

    The editor's come from its calls, the others from the workspace as it is now: those that were
    changed since the run began, until the next one.
    """
    edits: dict[str, list[Edit]] = {}
    for edit in (find_edit(call) for step in run.agent_steps for call in step.calls):
        if edit is not None:
            edits.setdefault(relative(edit.path, run.workspace), []).append(edit)
    root = Path(run.workspace)
    if not run.workspace or not root.is_dir():
        note = f"The workspace {root} is not there any more." if run.workspace else ""
        return [ChangedFile(path, edits=own) for path, own in edits.items()], note
    named = (path for stage in run.stages for path in stage.files)
    paths = list(dict.fromkeys([*edits, *changed_during(run), *named]))
    files = [ChangedFile(path, edits=edits.get(path, [])) for path in paths[:_MOST_FILES]]
    room = _MOST_IMAGES
    for file in files:
        with contextlib.suppress(OSError, ToolError):
            _look(file, root, has_room=room > 0)
        room -= file.image is not None
    left = len(paths) - len(files)
    note = f"{left} more files are not listed." if left else ""
    return [file for file in files if file.size is not None or file.edits], note


def changed_during(run: Run) -> list[str]:
    """Return the files of the workspace that were changed since the run began, until the next one.

    They are there now: what was deleted is not known. Blocking.
    """
    root = Path(run.workspace)
    if run.began is None or run.ended is None or not (run.workspace and root.is_dir()):
        return []
    end = math.inf if run.is_newest else run.ended.timestamp()
    changed = changed_since(root, int(run.began.timestamp() * 1e9))
    there = (path for path in changed if os.path.lexists(root / path))
    return [path for path in there if os.lstat(root / path).st_ctime <= end]


def _look(file: ChangedFile, root: Path, *, has_room: bool) -> None:
    place = Workspace(root).readable(file.path)
    if (about := look_at(place)) is None:
        return
    file.size = about.st_size
    if has_room and about.st_size <= _LARGEST_IMAGE:
        with open_file(place) as held:
            head = held.read(16)
            if (mime := image_type(head)) is not None:
                data = base64.b64encode(head + held.read(_LARGEST_IMAGE)).decode("ascii")
                file.image = Image(data, mime)
