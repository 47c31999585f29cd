"""What `str_replace_editor` does, on the files of a workspace. All of it is blocking."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from manus.state.errors import ToolError
from manus.tools.beneath import is_folder, look_at, open_file, remove, write_private
from manus.tools.editor import view
from manus.tools.editor.editing import (
    Edit,
    inserted,
    line_at,
    nearest,
    places_of,
    replaced,
    split_lines,
)
from manus.tools.editor.files import (
    TextFile,
    as_text,
    image_type,
    read_file,
    replace_file,
)
from manus.tools.result import Observation
from manus.tools.workspace import Workspace

_LISTED = 20
"""Line numbers listed at most."""
_KEEP = 20
"""Edits of one file that can be undone."""


class Editor:
    """The commands of the editor; `room` is the number of characters an answer should have."""

    def __init__(self, workspace: Workspace, room: int) -> None:
        self._workspace = workspace
        self._undo = _UndoStore(workspace.records / "undo")
        self._room = room

    def view(self, path: str, lines: list[int] | None) -> Observation:
        """A file with line numbers, a part of it, a picture, or a folder."""
        real = self._workspace.readable(path)
        shown = self._workspace.show(real)
        if is_folder(real):
            if lines is not None:
                raise ToolError(f"{shown} is a folder; `view_range` is for files, leave it out.")
            return Observation(view.folder_view(real, shown, self._room))
        data = self._read(real)
        if mime := image_type(data):
            return view.picture(shown, data, mime)
        return Observation(view.text_view(shown, as_text(shown, data), lines, self._room))

    def create(self, path: str, text: str) -> Observation:
        """Write a file anew, with the folders it needs."""
        real = self._writable(path)
        if path.endswith("/") or is_folder(real):
            raise ToolError(f"{path} names a folder; give the path of a file.")
        before = self._read(real) if look_at(real) else None
        shown = self._workspace.show(real)
        self._write("create", real, before, _encoded(TextFile(""), text, shown))
        lines = len(split_lines(text))
        size = f"{lines:,} line{'s' * (lines != 1)}"
        if before is None:
            return Observation(f"Created {shown} ({size}).")
        return Observation(
            f"Overwrote {shown}, which had {len(before):,} bytes ({size} now); `undo_edit` brings "
            "the old content back."
        )

    def replace(self, path: str, old: str, new: str) -> Observation:
        """Replace the one place where `old` stands."""
        real, file, data = self._open(path)
        edit = replaced(file.text, self._only_place(real, file.text, old), new)
        if edit.text == file.text:
            raise ToolError("`old_str` and `new_str` are the same, so nothing would change.")
        return self._changed("str_replace", real, file, data, edit)

    def insert(self, path: str, after: int, new: str) -> Observation:
        """Put whole lines in after a line."""
        real, file, data = self._open(path)
        lines = len(split_lines(file.text))
        if not 0 <= after <= lines:
            raise ToolError(
                f"{self._workspace.show(real)} has {lines} lines; `insert_line` must be from 0 "
                f"(before the first) to {lines} (after the last), not {after}."
            )
        return self._changed("insert", real, file, data, inserted(file.text, after, new))

    def undo(self, path: str) -> Observation:
        """Undo the last edit of a file that took effect."""
        real = self._writable(path)
        shown = self._workspace.show(real)
        now = _digest(self._read(real) if look_at(real) else None)
        while (record := self._undo.last(shown)) is not None:
            if now in (record.after, None):
                return self._restore(real, shown, record)
            if now != _digest(record.before):
                raise ToolError(
                    f"{shown} has been changed by something else since its last {record.command}; "
                    "undoing that would lose the change. View the file and edit it by hand."
                )
            self._undo.drop(shown)  # kept for an edit that then did not come about
        raise ToolError(f"There is no edit of {shown} that could be undone.")

    def has_edited(self, path: str, *, since: float) -> bool:
        """Whether there is an edit of a file to be undone that was made at a time or later."""
        shown = self._workspace.show(self._writable(path))
        return self._undo.time_of_last(shown) >= since

    def _restore(self, real: Path, shown: str, record: _Record) -> Observation:
        if record.before is None:
            remove(real)
            what = "the file is gone again"
        else:
            replace_file(real, record.before, record.mode)
            what = f"it has {len(record.before):,} bytes again"
        self._undo.drop(shown)
        return Observation(f"Undid the last {record.command} of {shown}: {what}.")

    def _only_place(self, real: Path, text: str, old: str) -> tuple[int, int]:
        shown = self._workspace.show(real)
        if not old:
            raise ToolError("`old_str` is empty; give the text to replace, or use `insert`.")
        places = places_of(text, old)
        if not places:
            raise ToolError(self._not_found(shown, text, old))
        if len(places) > 1:
            lines = dict.fromkeys(line_at(text, start) for start, _ in places[:_LISTED])
            more = ", …" if len(places) > _LISTED else ""
            raise ToolError(
                f"`old_str` is not unique: it stands {len(places):,} times in {shown}, on lines "
                f"{', '.join(map(str, lines))}{more}. Add lines before or after it until only one "
                "place is meant."
            )
        return places[0]

    def _not_found(self, shown: str, text: str, old: str) -> str:
        near = nearest(text, old)
        if near is None:
            return (
                f"`old_str` is not in {shown}, nor anything like it. View the file and copy the "
                "text exactly."
            )
        part, _ = view.numbered(split_lines(text), near.first, near.last, self._room // 2)
        return (
            f"`old_str` is not in {shown}. Nearest to it:\n{part}\n"
            f"The difference: {near.difference}. Nothing was changed."
        )

    def _open(self, path: str) -> tuple[Path, TextFile, bytes]:
        real = self._writable(path)
        data = self._read(real)
        return real, as_text(self._workspace.show(real), data), data

    def _writable(self, path: str) -> Path:
        real = self._workspace.writable(path)
        if real == self._workspace.root:
            raise ToolError(f"{path} is the workspace itself; give the path of a file in it.")
        return real

    def _read(self, real: Path) -> bytes:
        shown = self._workspace.show(real)
        if look_at(real) is None:
            near = view.near_names(self._workspace.root, real)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise ToolError(f"There is no {shown} in the workspace.{meant}")
        return read_file(real, shown)

    def _changed(
        self, command: str, real: Path, file: TextFile, data: bytes, edit: Edit
    ) -> Observation:
        shown = self._workspace.show(real)
        self._write(command, real, data, _encoded(file, edit.text, shown))
        if not edit.text:
            return Observation(f"Edited {shown}. It is empty now.")
        return Observation(f"Edited {shown}:\n{view.change_view(file.text, edit, self._room)}")

    def _write(self, command: str, real: Path, before: bytes | None, data: bytes) -> None:
        """Record what was there, then write; a write that fails leaves no record."""
        about = look_at(real)
        mode = stat.S_IMODE(about.st_mode) if about and before is not None else None
        record = _Record(command, before, _digest(data), mode)
        kept = self._undo.push(self._workspace.show(real), record)
        try:
            replace_file(real, data)
        except BaseException:
            remove(kept)
            raise


def _encoded(file: TextFile, text: str, shown: str) -> bytes:
    if "\0" in text:
        raise ToolError("The text holds a NUL character; write binary files with a program.")
    try:
        return file.encoded(text)
    except UnicodeEncodeError as error:
        sign = text[error.start]
        raise ToolError(
            f"{shown} is in {file.form() or 'UTF-8'}, which has no place for {sign!r} "
            f"(U+{ord(sign):04X}); leave the character out, or convert the file to UTF-8 first."
        ) from None


def _digest(data: bytes | None) -> str | None:
    """What tells two contents apart; None for a file that is not there."""
    return None if data is None else hashlib.sha256(data).hexdigest()


class _Record(NamedTuple):
    """One edit: what the file was before, and what tells whether it still is what it became."""

    command: str
    before: bytes | None
    """None where there was no file."""
    after: str | None
    """The `_digest` of what was written."""
    mode: int | None = None


class _UndoStore:
    """What files of a workspace were before they were edited, below one folder.

    One file a record: a line of JSON about the edit, then the bytes that were there before.
    Records of one path share a folder and are numbered.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def push(self, path: str, record: _Record) -> Path:
        """Keep what a file is before it is edited.

        Returns the file of the record, for an edit that then fails.

        Raises:
            OSError: it cannot be written.
        """
        known = self._newest_first(path)
        for file in known[_KEEP - 1 :]:
            remove(file)
        number = int(known[0].stem) + 1 if known else 1
        kept = self._of(path) / f"{number:06}.undo"
        head = [record.command, record.before is not None, record.after, record.mode]
        write_private(kept, json.dumps(head).encode() + b"\n" + (record.before or b""))
        return kept

    def last(self, path: str) -> _Record | None:
        """The newest record of a file."""
        for file in self._newest_first(path):
            with open_file(file) as kept:
                head, _, before = kept.read().partition(b"\n")
            command, existed, after, mode = json.loads(head)
            return _Record(command, before if existed else None, after, mode)
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
