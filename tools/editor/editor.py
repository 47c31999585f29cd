"""What `str_replace_editor` does, on the files of a workspace. All of it is blocking."""

from __future__ import annotations

from pathlib import Path

from manus.state.errors import ToolError
from manus.tools.editor.closest_match import nearest
from manus.tools.editor.editing import (
    MOST_PLACES,
    Edit,
    Place,
    changed,
    inserted,
    line_at,
    places_of,
    replaced,
    split_lines,
)
from manus.tools.editor.file_view import image_type, picture, text_of, text_view
from manus.tools.editor.files import make_folders, read_file, remove_folders, replace_file
from manus.tools.editor.folder_view import folder_view, near_names
from manus.tools.editor.numbered import around, numbered
from manus.tools.editor.text_file import TextFile, decode
from manus.tools.editor.undo import Record, UndoStore, digest
from manus.tools.result import Observation
from manus.tools.workspace import Workspace

_LISTED = 20
"""Line numbers listed at most."""


class Editor:
    """The commands of the editor; `room` is the number of characters an answer should have."""

    def __init__(self, workspace: Workspace, room: int) -> None:
        self._workspace = workspace
        self._undo = UndoStore(workspace.private / "undo")
        self._room = room

    def view(self, path: str, lines: list[int] | None) -> Observation:
        """A file with line numbers, a part of it, a picture, or a folder."""
        real = self._workspace.readable(path)
        shown = self._workspace.show(real)
        if real.is_dir():
            if lines is not None:
                raise ToolError(f"{shown} is a folder; `view_range` is for files, leave it out.")
            return Observation(folder_view(real, shown, self._room))
        data = self._read(real)
        if mime := image_type(data):
            return picture(shown, data, mime)
        return Observation(text_view(shown, text_of(shown, data), lines, self._room))

    def create(self, path: str, text: str) -> Observation:
        """Write a file anew, with the folders it needs."""
        real = self._writable(path)
        if path.endswith("/") or real.is_dir():
            raise ToolError(f"{path} names a folder; give the path of a file.")
        before = self._read(real) if real.exists() else None
        shown = self._workspace.show(real)
        data = _encoded(TextFile(""), text, shown)
        self._write("create", real, before, data)
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
        shown = self._workspace.show(real)
        place = self._only_place(shown, file.text, old)
        edit = replaced(file.text, place, new)
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
        now = self._read(real) if real.exists() else None
        while (record := self._undo.last(shown)) is not None:
            if digest(now) == record.after or now is None:
                return self._restore(real, shown, now, record)
            if digest(now) != digest(record.before):
                raise ToolError(
                    f"{shown} has been changed by something else since its last {record.command}; "
                    "undoing that would lose the change. View the file and edit it by hand."
                )
            self._undo.drop(shown)  # kept for an edit that then did not come about
        raise ToolError(f"There is no edit of {shown} that could be undone.")

    def _restore(self, real: Path, shown: str, now: bytes | None, record: Record) -> Observation:
        done = f"Undid the last {record.command} of {shown}"
        if record.before is None:
            real.unlink(missing_ok=True)
            remove_folders([self._workspace.root / folder for folder in record.folders])
            self._undo.drop(shown)
            return Observation(f"{done}: the file is gone again.")
        make_folders(real.parent)
        replace_file(real, record.before, record.mode)
        self._undo.drop(shown)
        text, old = decode(record.before), decode(now or b"")
        if text is None or old is None:
            return Observation(f"{done}: it has {len(record.before):,} bytes again.")
        return Observation(f"{done}. {self._snippet(changed(old.text, text.text))}")

    def _only_place(self, shown: str, text: str, old: str) -> Place:
        places = places_of(text, old) if old else []
        if not old:
            raise ToolError("`old_str` is empty; give the text to replace, or use `insert`.")
        if not places:
            raise ToolError(self._not_found(shown, text, old))
        if len(places) > 1:
            count = f"{len(places)}" if len(places) < MOST_PLACES else f"at least {MOST_PLACES}"
            listed = _listed([line_at(text, place.start) for place in places[: _LISTED + 1]])
            raise ToolError(
                f"`old_str` is not unique: it stands {count} times in {shown}, on {listed}. Add "
                "lines before or after it until only one place is meant."
            )
        return places[0]

    def _not_found(self, shown: str, text: str, old: str) -> str:
        near = nearest(text, old)
        if near is None:
            return (
                f"`old_str` is not in {shown}, nor anything like it. View the file and copy the "
                "text exactly."
            )
        part = numbered(split_lines(text), near.first, near.last, self._room // 2)
        return (
            f"`old_str` is not in {shown}. Nearest to it:\n{part.text}\n"
            f"The difference: {near.difference}. Nothing was changed."
        )

    def _open(self, path: str) -> tuple[Path, TextFile, bytes]:
        real = self._writable(path)
        data = self._read(real)
        return real, text_of(self._workspace.show(real), data), data

    def _writable(self, path: str) -> Path:
        real = self._workspace.writable(path)
        if real == self._workspace.root:
            raise ToolError(f"{path} is the workspace itself; give the path of a file in it.")
        return real

    def _read(self, real: Path) -> bytes:
        shown = self._workspace.show(real)
        if not real.exists():
            near = near_names(self._workspace.root, real)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise ToolError(f"There is no {shown} in the workspace.{meant}")
        return read_file(real, shown)

    def _changed(
        self, command: str, real: Path, file: TextFile, data: bytes, edit: Edit
    ) -> Observation:
        shown = self._workspace.show(real)
        self._write(command, real, data, _encoded(file, edit.text, shown))
        return Observation(f"Edited {shown}. {self._snippet(edit)}")

    def _write(self, command: str, real: Path, before: bytes | None, data: bytes) -> None:
        shown = self._workspace.show(real)
        made = make_folders(real.parent)
        mode = real.stat().st_mode & 0o7777 if before is not None else None
        folders = tuple(self._workspace.show(folder) for folder in made)
        try:
            kept = self._undo.push(shown, Record(command, before, digest(data), mode, folders))
            try:
                replace_file(real, data)
            except BaseException:
                kept.unlink(missing_ok=True)
                raise
        except BaseException:
            remove_folders(made)
            raise

    def _snippet(self, edit: Edit) -> str:
        lines = split_lines(edit.text)
        if not lines:
            return "It is empty now."
        return f"There it is now:\n{around(lines, edit.first, edit.last, self._room)}"


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


def _listed(numbers: list[int]) -> str:
    shown = list(dict.fromkeys(numbers))[:_LISTED]
    words = ", ".join(map(str, shown))
    more = ", …" if len(numbers) > _LISTED else ""
    return f"line{'s' * (len(shown) != 1)} {words}{more}"
