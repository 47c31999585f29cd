"""What `str_replace_editor` does with one file of a workspace. All of it is blocking."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from manus.config.files import is_stream
from manus.execution.result import Observation
from manus.execution.safe_open import is_folder, look_at, open_file, remove, write_private
from manus.execution.text_files import TextFile, as_text, image_type, read_file, replace_file
from manus.execution.workspace import Workspace
from manus.state.errors import ToolError
from manus.tools.editor import view
from manus.tools.editor.editing import inserted, nearest, split_lines

_LISTED = 20
"""Line numbers listed at most."""
_KEEP = 20
"""Edits of one file that can be undone."""


class Editor:
    """The commands of the editor on one path; `room`: characters that an answer should have.

    Raises:
        ToolError: the path cannot be one, leads out of the workspace, or may not be changed.
    """

    def __init__(self, workspace: Workspace, path: str, room: int, *, writes: bool) -> None:
        self._workspace = workspace
        self._path = path
        self._room = room
        self.real = workspace.writable(path) if writes else workspace.readable(path)
        """The path behind links: what is read, locked and written."""
        if writes and self.real == workspace.root:
            raise ToolError(f"{path} is the workspace itself; give the path of a file in it.")
        self._shown = workspace.show(self.real)
        self._undo = _UndoStore(workspace.records / "undo", self._shown)

    def view(self, lines: list[int] | None) -> Observation:
        """A file with line numbers, a part of it, a picture, or a folder."""
        if is_folder(self.real):
            if lines is not None:
                raise ToolError(
                    f"{self._shown} is a folder; `view_range` is for files, leave it out."
                )
            return Observation(view.folder_view(self.real, self._shown, self._room))
        data = self._read()
        if mime := image_type(data):
            return view.picture(self._shown, data, mime)
        file = as_text(self._shown, data)
        return Observation(view.text_view(self._shown, file, lines, self._room))

    def create(self, text: str) -> Observation:
        """Write a file anew, with the folders it needs."""
        if self._path.endswith("/") or is_folder(self.real):
            raise ToolError(f"{self._path} names a folder; give the path of a file.")
        about = look_at(self.real)
        if about is not None and is_stream(about):
            return self._written_to_stream(self._encoded(TextFile(""), text))
        before = self._present()
        self._write("create", before, self._encoded(TextFile(""), text))
        lines = len(split_lines(text))
        size = f"{lines:,} line{'s' * (lines != 1)}"
        if before is None:
            return Observation(f"Created {self._shown} ({size}).")
        return Observation(
            f"Overwrote {self._shown}, which had {len(before):,} bytes ({size} now); `undo_edit` "
            "brings the old content back."
        )

    def replace(self, old: str, new: str) -> Observation:
        """Replace the one place where `old` stands."""
        data = self._read()
        file = as_text(self._shown, data)
        old = file.typed(old)
        new = file.typed(new)
        start = self._only_place(file.text, old)
        text = file.text[:start] + new + file.text[start + len(old) :]
        if text == file.text:
            raise ToolError("`old_str` and `new_str` are the same, so nothing would change.")
        return self._changed("str_replace", file, data, text)

    def insert(self, after: int, new: str) -> Observation:
        """Put whole lines in after a line."""
        data = self._read()
        file = as_text(self._shown, data)
        lines = len(split_lines(file.text))
        if not 0 <= after <= lines:
            raise ToolError(
                f"{self._shown} has {lines} lines; `insert_line` must be from 0 (before the first) "
                f"to {lines} (after the last), not {after}."
            )
        return self._changed("insert", file, data, inserted(file.text, after, file.typed(new)))

    def undo(self) -> Observation:
        """Undo the last edit of the file."""
        record = self._undo.last()
        if record is None:
            raise ToolError(f"There is no edit of {self._shown} that could be undone.")
        command, before, after = record
        now = self._present()
        if now is not None and _digest(now) != after:
            raise ToolError(
                f"{self._shown} has been changed by something else since its last "
                f"{command}; undoing that would lose the change. View the file and "
                "edit it by hand."
            )
        if before is None:
            remove(self.real)
            what = "the file is gone again"
        else:
            replace_file(self.real, before)
            what = f"it has {len(before):,} bytes again"
        self._undo.drop()
        return Observation(f"Undid the last {command} of {self._shown}: {what}.")

    def has_edited(self, *, since: float) -> bool:
        """Whether there is an edit to be undone that was made at a time or later."""
        return self._undo.time_of_last() >= since

    def _written_to_stream(self, data: bytes) -> Observation:
        replace_file(self.real, data)
        return Observation(
            f"Wrote {len(data):,} bytes to {self._shown}, which is a pipe or a device: it stays "
            "what it is, and `undo_edit` cannot take them back."
        )

    def _only_place(self, text: str, old: str) -> int:
        if not old:
            raise ToolError("`old_str` is empty; give the text to replace, or use `insert`.")
        # overlapping places too
        places = [match.start() for match in re.finditer(f"(?={re.escape(old)})", text)]
        if not places:
            raise ToolError(self._not_found(text, old))
        if len(places) > 1:
            lines = dict.fromkeys(text.count("\n", 0, at) + 1 for at in places[:_LISTED])
            more = ", …" if len(places) > _LISTED else ""
            raise ToolError(
                f"`old_str` is not unique: it stands {len(places):,} times in {self._shown}, on "
                f"lines {', '.join(map(str, lines))}{more}. Add lines before or after it until "
                "only one place is meant."
            )
        return places[0]

    def _not_found(self, text: str, old: str) -> str:
        if (near := nearest(text, old)) is None:
            return (
                f"`old_str` is not in {self._shown}, nor anything like it. View the file and copy "
                "the text exactly."
            )
        first, last, difference = near
        part, _ = view.numbered(split_lines(text), first, last, self._room // 2)
        return (
            f"`old_str` is not in {self._shown}. Nearest to it:\n{part}\n"
            f"The difference: {difference}. Nothing was changed."
        )

    def _present(self) -> bytes | None:
        return self._read() if look_at(self.real) else None

    def _read(self) -> bytes:
        if look_at(self.real) is None:
            near = view.near_names(self._workspace.root, self.real)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise ToolError(f"There is no {self._shown} in the workspace.{meant}")
        return read_file(self.real, self._shown)

    def _changed(self, command: str, file: TextFile, data: bytes, text: str) -> Observation:
        self._write(command, data, self._encoded(file, text))
        if not text:
            return Observation(f"Edited {self._shown}. It is empty now.")
        said = view.difference(file.text, text, self._room)
        return Observation(f"Edited {self._shown}:\n{said}")

    def _write(self, command: str, before: bytes | None, data: bytes) -> None:
        """Write, then keep what was there: an edit that fails cannot be undone."""
        replace_file(self.real, data)
        try:
            self._undo.push(command, before, _digest(data))
        except OSError as error:
            raise ToolError(
                f"{self._shown} has been written, but `undo_edit` cannot undo it: what was there "
                f"could not be kept ({error})."
            ) from None

    def _encoded(self, file: TextFile, text: str) -> bytes:
        if "\0" in text:
            raise ToolError("The text holds a NUL character; write binary files with a program.")
        try:
            return file.encoded(text)
        except UnicodeEncodeError as error:
            sign = text[error.start]
            raise ToolError(
                f"{self._shown} is in {file.form() or 'UTF-8'}, which has no place for {sign!r} "
                f"(U+{ord(sign):04X}); leave the character out, or convert the file to UTF-8 first."
            ) from None


def _digest(data: bytes) -> str:
    """What tells two contents apart."""
    return hashlib.sha256(data).hexdigest()


class _UndoStore:
    """What a file was before it was edited: one file a record, numbered, in a folder of its own.

    A line of JSON about the edit, then the bytes that were there before.
    """

    def __init__(self, folder: Path, path: str) -> None:
        self._folder = folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]

    def push(self, command: str, before: bytes | None, after: str) -> None:
        """Keep what the file was (None: there was none), and the `_digest` of what it became.

        Raises:
            OSError: it cannot be written.
        """
        known = self._newest_first()
        for file in known[_KEEP - 1 :]:
            remove(file)
        number = int(known[0].stem) + 1 if known else 1
        head = json.dumps([command, before is not None, after])
        kept = head.encode() + b"\n" + (before or b"")
        write_private(self._folder / f"{number:06}.undo", kept)

    def last(self) -> tuple[str, bytes | None, str] | None:
        """The newest record, as it was pushed."""
        for file in self._newest_first():
            with open_file(file) as kept:
                head, _, before = kept.read().partition(b"\n")
            command, existed, after, *_ = json.loads(head)
            return command, before if existed else None, after
        return None

    def time_of_last(self) -> float:
        """When the newest record was made; 0 if there is none."""
        return max((file.stat().st_mtime for file in self._newest_first()[:1]), default=0.0)

    def drop(self) -> None:
        """Forget the newest record."""
        for file in self._newest_first()[:1]:
            remove(file)

    def _newest_first(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*.undo"), reverse=True)
