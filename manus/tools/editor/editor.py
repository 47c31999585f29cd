"""The commands of `str_replace_editor` on one file of a workspace. All of them are blocking."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from functools import partial
from pathlib import Path

from manus.calls.result import Observation
from manus.config.files import is_stream
from manus.state.errors import ToolError
from manus.tools.editor import view
from manus.tools.editor.editing import (
    clean_copy,
    find_nearest,
    insert_lines,
    is_misaligned,
    reindent,
    split_lines,
)
from manus.tools.editor.notebook import check_notebook, render_cells, replace_source
from manus.workspace.safe_open import is_folder, look_at, open_file, remove, write_private
from manus.workspace.text_encoding import TextFile, find_line_end
from manus.workspace.text_files import as_text, image_type, read_file, replace_file
from manus.workspace.workspace import Workspace

_MAX_LISTED = 20
"""Maximum number of line numbers listed."""
_REINDENTED = (
    "`old_str` differed from the file in its indentation; the file's indentation was kept, "
    "also for `new_str`:"
)
_MISALIGNED = "Check whether the indentation is right:"
_MAX_UNDO = 20
"""Maximum number of edits of one file that can be undone."""


class Editor:
    """The commands of the editor on one path; `room` is the maximum size of a view in characters.

    Only a command that `creates` the file takes the path literally, and not as the name of an
    existing file that looks the same.

    Raises:
        ToolError: the path is invalid, outside the workspace, or protected.
    """

    def __init__(
        self, workspace: Workspace, path: str, room: int, *, writes: bool, creates: bool = False
    ) -> None:
        self._workspace = workspace
        self._path = path
        self._room = room
        resolve = partial(workspace.writable, existing=not creates)
        self.real = resolve(path) if writes else workspace.readable(path)
        """The path with links resolved, which is read, locked and written."""
        if writes and self.real == workspace.root:
            raise ToolError(f"{path} is the workspace itself; give the path of a file in it.")
        self._label = workspace.show(self.real)
        self._is_notebook = self.real.suffix == ".ipynb"
        self._undo = _UndoStore(workspace.records / "undo", self._label)

    def view(self, lines: list[int] | None) -> Observation:
        """Show a file with line numbers, a range of its lines, an image, or a folder."""
        if is_folder(self.real):
            if lines is not None:
                raise ToolError(
                    f"{self._label} is a folder; omit `view_range`, which is only for files."
                )
            return Observation(view.render_folder(self.real, self._label, self._room))
        data = self._read()
        if mime := image_type(data):
            return view.render_picture(self._label, data, mime)
        file = as_text(self._label, data, self.real)
        label = self._label
        if self._is_notebook:
            with contextlib.suppress(ValueError):  # broken: show it as it is
                file = file._replace(text=render_cells(file.text))
                label += ", as the cells of a notebook"
        return Observation(view.render_text(label, file, lines, self._room))

    def create(self, text: str) -> Observation:
        """Create or overwrite a file, and create its parent folders."""
        if self._path.endswith("/") or is_folder(self.real):
            raise ToolError(f"{self._path} names a folder; give the path of a file.")
        status = look_at(self.real)
        if status is not None and is_stream(status):
            return self._write_to_stream(self._encode(TextFile(""), text))
        before = self._read_if_exists()
        old, file = self._find_form(before, text)
        text = file.typed(text)
        self._write("create", before, self._encode(file, text))
        if file.line_end == "\n":
            file = file._replace(line_end=find_line_end(text))
        lines = len(split_lines(text))
        facts = ", ".join([f"{lines:,} line{'s' * (lines != 1)}", *file.facts()])
        if before is None:
            return Observation(f"Created {self._label} ({facts}).")
        was = ", ".join(old.facts()) or "UTF-8 with line feeds"
        change = f" The old content was {was}." if old.facts() != file.facts() else ""
        return Observation(
            f"Overwrote {self._label}, which had {len(before):,} bytes ({facts} now); `undo_edit` "
            f"brings the old content back.{change}"
        )

    def _find_form(self, before: bytes | None, text: str) -> tuple[TextFile, TextFile]:
        """Return the form of the previous content, and that of the new one: the same if it can be.

        A text that the old encoding cannot write for certain is written as UTF-8.
        """
        try:
            old = as_text(self._label, before or b"", self.real)
        except ToolError:  # binary
            old = TextFile("")
        try:
            old.encoded(text)
        except UnicodeEncodeError:
            return old, TextFile("", line_end=old.line_end)
        return old, TextFile("", line_end=old.line_end) if old.is_ambiguous(text) else old

    def replace(self, old: str, new: str) -> Observation:
        """Replace the only occurrence of `old`."""
        data = self._read()
        file = as_text(self._label, data, self.real)
        old = file.typed(old)
        new = file.typed(new)
        if self._is_notebook and old and old not in file.text:
            with contextlib.suppress(ValueError):
                if text := replace_source(file.text, old, new):
                    return self._write_edit("str_replace", file, data, text)
        if old not in file.text:
            old, new = clean_copy(file.text, old, new)
        reindented = reindent(file.text, old, new) if old not in file.text else None
        if reindented is None:
            start = self._find_unique(file.text, old)
            end = start + len(old)
            remark = _MISALIGNED if is_misaligned(file.text, start, new) else ""
        else:
            start, end, new = reindented
            remark = _REINDENTED
        text = file.text[:start] + new + file.text[end:]
        if text == file.text:
            raise ToolError("`old_str` and `new_str` are the same, so nothing would change.")
        return self._write_edit("str_replace", file, data, text, remark)

    def insert(self, after: int, new: str) -> Observation:
        """Insert whole lines after a line."""
        data = self._read()
        file = as_text(self._label, data, self.real)
        lines = len(split_lines(file.text))
        if not 0 <= after <= lines:
            raise ToolError(
                f"{self._label} has {lines} lines; `insert_line` must be from 0 (before the first) "
                f"to {lines} (after the last), not {after}."
            )
        return self._write_edit(
            "insert", file, data, insert_lines(file.text, after, file.typed(new))
        )

    def undo(self) -> Observation:
        """Undo the last edit of the file."""
        record = self._undo.last()
        if record is None:
            raise ToolError(f"There is no edit of {self._label} to undo.")
        command, before, after = record
        now = self._read_if_exists()
        if now is not None and _hash(now) != after:
            raise ToolError(
                f"{self._label} has been changed by something else since its last "
                f"{command}; an undo would lose that change. View the file and edit it instead."
            )
        if before is None:
            remove(self.real)
            outcome = "the file was deleted"
        else:
            replace_file(self.real, before)
            outcome = f"restored {len(before):,} bytes"
        self._undo.drop()
        return Observation(f"Undid the last {command} of {self._label}: {outcome}.")

    def _write_to_stream(self, data: bytes) -> Observation:
        replace_file(self.real, data)
        return Observation(
            f"Wrote {len(data):,} bytes to {self._label}, which is a pipe or a device: `undo_edit` "
            "cannot undo this."
        )

    def _find_unique(self, text: str, old: str) -> int:
        if not old:
            raise ToolError("`old_str` is empty; give the text to replace, or use `insert`.")
        # overlapping occurrences too
        starts = [match.start() for match in re.finditer(f"(?={re.escape(old)})", text)]
        if not starts:
            raise ToolError(self._explain_missing(text, old))
        if len(starts) > 1:
            lines = dict.fromkeys(text.count("\n", 0, start) + 1 for start in starts[:_MAX_LISTED])
            listed = ", ".join(map(str, lines))
            if len(starts) > _MAX_LISTED:
                listed += ", …"
            raise ToolError(
                f"`old_str` is not unique: it occurs {len(starts):,} times in {self._label}, on "
                f"lines {listed}. Include more surrounding lines so that it matches only one place."
            )
        return starts[0]

    def _explain_missing(self, text: str, old: str) -> str:
        nearest_lines = find_nearest(text, old)
        if nearest_lines is None:
            return (
                f"`old_str` is not in {self._label}, nor is anything similar. View the file and "
                "copy the text exactly."
            )
        first, last, difference = nearest_lines
        numbered, _ = view.number_lines(split_lines(text), first, last, self._room // 2)
        return (
            f"`old_str` is not in {self._label}. Nearest to it:\n{numbered}\n"
            f"The difference: {difference}. Nothing was changed."
        )

    def _read_if_exists(self) -> bytes | None:
        return self._read() if look_at(self.real) else None

    def _read(self) -> bytes:
        if look_at(self.real) is None:
            names = view.find_similar_names(self._workspace.root, self.real)
            *others, last = names or [""]
            alternatives = f"{', '.join(others)} or {last}" if others else last
            hint = f" Did you mean {alternatives}?" if names else ""
            raise ToolError(f"There is no {self._label} in the workspace.{hint}")
        return read_file(self.real, self._label)

    def _write_edit(
        self, command: str, file: TextFile, data: bytes, text: str, remark: str = ""
    ) -> Observation:
        """Write an edit and name its lines; show them only below a note about them.

        The model knows the text of an exact edit. Loop detection compares the diff as if it were
        shown, since two edits with the same line numbers may differ.
        """
        self._write(command, data, self._encode(file, text))
        if not text:
            return Observation(f"Edited {self._label}. It is empty now.")
        diff = view.render_diff(file.text, text, self._room)
        summary = f"Edited {self._label}, {view.describe_changed_lines(file.text, text)}"
        if remark:
            return Observation(f"{summary}. {remark}\n{diff}")
        return Observation(summary, fingerprint=diff)

    def _write(self, command: str, before: bytes | None, data: bytes) -> None:
        """Write the file, then record the previous content: a failed edit must not be undone."""
        self._workspace.approved_writes[self.real] = _hash(data)
        replace_file(self.real, data)
        try:
            self._undo.push(command, before, _hash(data))
        except OSError as error:
            raise ToolError(
                f"{self._label} has been written, but `undo_edit` cannot undo it: the previous "
                f"content could not be saved ({error})."
            ) from None

    def _encode(self, file: TextFile, text: str) -> bytes:
        if "\0" in text:
            raise ToolError("The text contains a NUL character; write binary files with a program.")
        if self._is_notebook:
            check_notebook(text)
        if file.is_ambiguous(text):
            raise ToolError(
                f"The encoding of {self._label} is uncertain: its bytes fit "
                f"{', '.join(file.fitting)}, which would write the new text differently. Nothing "
                "was changed. If you know the encoding, convert the file to UTF-8 first "
                "(`iconv -f ENCODING -t UTF-8`), or edit it with a program."
            )
        try:
            return file.encoded(text)
        except UnicodeEncodeError as error:
            character = text[error.start]
            encoding = file.form() or "UTF-8"
            raise ToolError(
                f"{self._label} is in {encoding}, which cannot encode {character!r} "
                f"(U+{ord(character):04X}); leave the character out, or convert the file to UTF-8 "
                "first."
            ) from None


def _hash(data: bytes) -> str:
    """Return the SHA-256 of the content."""
    return hashlib.sha256(data).hexdigest()


class _UndoStore:
    """The previous contents of an edited file: one numbered file per edit, in one folder per path.

    A record is a line of JSON about the edit, then the previous bytes.
    """

    def __init__(self, folder: Path, path: str) -> None:
        self._folder = folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]

    def push(self, command: str, before: bytes | None, after: str) -> None:
        """Record the previous content (None: there was no file) and the hash of the new one.

        Raises:
            OSError: it cannot be written.
        """
        records = self._newest_first()
        for file in records[_MAX_UNDO - 1 :]:
            remove(file)
        number = int(records[0].stem) + 1 if records else 1
        head = json.dumps([command, before is not None, after])
        record = head.encode() + b"\n" + (before or b"")
        write_private(self._folder / f"{number:06}.undo", record)

    def last(self) -> tuple[str, bytes | None, str] | None:
        """Return the newest record, in the form in which it was pushed."""
        for file in self._newest_first():
            with open_file(file) as opened_file:
                head, _, before = opened_file.read().partition(b"\n")
            command, existed, after, *_ = json.loads(head)
            return command, (before if existed else None), after
        return None

    def drop(self) -> None:
        """Remove the newest record."""
        for file in self._newest_first()[:1]:
            remove(file)

    def _newest_first(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*.undo"), reverse=True)
