"""Find the files that a run created or changed in its workspace, and the edits of its calls."""

from __future__ import annotations

import base64
import contextlib
import difflib
import math
import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from manus.calls.changed_files import changed_since
from manus.calls.result import Image
from manus.pages.trace.model import TraceCall, TraceRun
from manus.state.errors import ToolError
from manus.threads.pictures import read_picture
from manus.workspace.safe_open import look_at, open_file
from manus.workspace.text_files import image_type
from manus.workspace.workspace import Workspace

_MAX_FILES = 200
_MAX_PICTURES = 200
"""Pictures of steps that a report embeds."""
_MAX_IMAGES = 12
_MAX_IMAGE_SIZE = 2_000_000
"""Bytes. Larger images are not embedded in the page."""

EDITOR = "str_replace_editor"
_EDIT_COMMANDS = ("create", "str_replace", "insert")
_MAX_DIFF_LINES = 2_000
"""Lines. Longer texts are not compared line by line, which takes quadratic time."""


@dataclass(slots=True)
class ChangedFile:
    """A file that a run created or changed."""

    path: str
    size: int | None = None
    """Current size in bytes; None if missing, outside the workspace, or unreadable."""
    edits: list[Edit] = field(default_factory=list)
    image: Image | None = None


def find_changed_files(run: TraceRun) -> tuple[list[ChangedFile], str]:
    """Return the files that a run created or changed, and a note about the list. Blocking.

    Edits come from the calls of the editor. Other files come from the workspace as it is now: those
    changed between the start of the run and the start of the next one.
    """
    edits = _edits_by_path(run)
    root = Path(run.workspace)
    if not run.workspace:
        return _without_details(edits), ""
    if not root.is_dir():
        return _without_details(edits), f"The workspace {root} no longer exists."
    paths = dict.fromkeys([*edits, *changed_during(run)])
    for stage in run.stages:
        paths.update(dict.fromkeys(stage.files))
    files = []
    images_left = _MAX_IMAGES
    for path in list(paths)[:_MAX_FILES]:
        file = ChangedFile(path, edits=edits.get(path, []))
        with contextlib.suppress(OSError, ToolError):
            _read_details(file, root, embeds_images=images_left > 0)
        images_left -= file.image is not None
        if file.size is not None or file.edits:
            files.append(file)
    hidden_count = max(0, len(paths) - _MAX_FILES)
    note = f"{hidden_count} more files are not listed." if hidden_count else ""
    return files, note


def _without_details(edits: dict[str, list[Edit]]) -> list[ChangedFile]:
    return [ChangedFile(path, edits=file_edits) for path, file_edits in edits.items()]


def _edits_by_path(run: TraceRun) -> dict[str, list[Edit]]:
    edits: dict[str, list[Edit]] = {}
    for step in run.agent_steps:
        for edit in filter(None, map(find_edit, step.calls)):
            edits.setdefault(relative(edit.path, run.workspace), []).append(edit)
    return edits


def changed_during(run: TraceRun) -> list[str]:
    """Return workspace files changed between the start of the run and the next one. Blocking.

    Deleted files are not included.
    """
    root = Path(run.workspace)
    if run.started_at is None or run.ended_at is None or not (run.workspace and root.is_dir()):
        return []
    end = math.inf if run.is_newest else run.ended_at.timestamp()
    paths = []
    for path in changed_since(root, int(run.started_at.timestamp() * 1e9)):
        with contextlib.suppress(FileNotFoundError):  # deleted in the meantime
            if os.lstat(root / path).st_ctime <= end:
                paths.append(path)
    return paths


def locate_file(run: TraceRun, address: str, *, is_live: bool) -> str | None:
    """Return the URL of a workspace file that a text of a run names by its path. Blocking.

    On a live page, the server sends the file. A report embeds an image and has no URL for others.
    """
    file = ChangedFile(unquote(address.partition("#")[0]))
    if not (file.path and run.workspace and Path(run.workspace).is_dir()):
        return None
    with contextlib.suppress(OSError, ToolError):
        _read_details(file, Path(run.workspace), embeds_images=not is_live)
    if is_live:
        return f"files/{quote(file.path)}" if file.size is not None else None
    return f"data:{file.image.mime};base64,{file.image.data}" if file.image is not None else None


class StepPictures:
    """The sources of the pictures of a thread's steps; each picture has one once."""

    def __init__(self, runs: Iterable[TraceRun], *, is_live: bool) -> None:
        folders = dict.fromkeys(run.workspace for run in runs if run.workspace)
        self._records = [Workspace(folder).records for folder in folders]
        self._is_live = is_live
        self._sources: dict[str, str] = {}

    def find(self, picture: Mapping[str, Any]) -> str:
        """Return the source of a picture; empty if it is shown already, or too many are.

        A picture with the mark of a click is shown in any case. A report embeds it.
        """
        name = str(picture.get("name", ""))
        if name in self._sources:
            return self._sources[name] if "x" in picture else ""
        if self._is_live:
            source = f"pictures/{quote(name)}"
        else:
            source = self._embed(name) if len(self._sources) < _MAX_PICTURES else ""
        self._sources[name] = source
        return source

    def _embed(self, name: str) -> str:
        for records in self._records:
            if data := read_picture(records, name):
                return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
        return ""


def _read_details(file: ChangedFile, root: Path, *, embeds_images: bool) -> None:
    path = Workspace(root).readable(file.path)
    info = look_at(path)
    if info is None:
        return
    file.size = info.st_size
    if embeds_images and info.st_size <= _MAX_IMAGE_SIZE:
        with open_file(path) as handle:
            head = handle.read(16)
            mime = image_type(head)
            if mime is not None:
                data = base64.b64encode(head + handle.read(_MAX_IMAGE_SIZE)).decode("ascii")
                file.image = Image(data, mime)


@dataclass(slots=True)
class Edit:
    """An edit of a file."""

    path: str
    command: str
    diff: list[str]
    """Lines that start with `+`, `-` or a space; line numbers are unknown."""
    added: int
    removed: int
    """Lines."""


def find_edit(call: TraceCall) -> Edit | None:
    """Return the edit that a call made; None for other tools and failed calls."""
    was_done = call.observation is not None and not call.is_error
    return parse_edit(call.name, call.args) if was_done else None


def parse_edit(name: str, args: Any) -> Edit | None:
    """Return the edit that a call would make; None if it is not an edit."""
    if name != EDITOR or not isinstance(args, dict) or args.get("command") not in _EDIT_COMMANDS:
        return None
    old = str(args.get("old_str") or "").splitlines()
    new = str(args.get("file_text") or args.get("new_str") or "").splitlines()
    diff = _diff(old, new)
    added = sum(line.startswith("+") for line in diff)
    removed = sum(line.startswith("-") for line in diff)
    return Edit(str(args.get("path", "")), args["command"], diff, added, removed)


def relative(path: str, workspace: str) -> str:
    """Return the path relative to the workspace."""
    path = posixpath.normpath(path)
    return path.removeprefix(f"{workspace.rstrip('/')}/").removeprefix("/workspace/")


def _diff(old: list[str], new: list[str]) -> list[str]:
    if min(len(old), len(new)) > _MAX_DIFF_LINES:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return [*difflib.unified_diff(old, new, lineterm="", n=len(old))][3:]
