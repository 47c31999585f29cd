"""What the editor's calls changed, as unified diffs: from their arguments alone.

A file is known from the call that made it. Of one that was there before, the changed lines are
known, and not where they stand.
"""

from __future__ import annotations

import difflib
import posixpath
from dataclasses import dataclass, field
from typing import Any

from manus.trace.model import Call, Edit

EDITOR = "str_replace_editor"
_LONGEST = 4_000
"""Lines of a diff that are kept."""
_MOST_LINES = 20_000
"""Lines of a file above which it is not compared: that takes the square of them."""
_CHANGES = ("create", "str_replace", "insert", "undo_edit")


@dataclass(slots=True)
class _File:
    """A file as the calls so far leave it; None where that is not known."""

    first: str | None
    """Before the first edit; empty for a file that was made."""
    text: str | None
    earlier: list[str | None] = field(default_factory=list)


class Edits:
    """The files of a run, edited by one call after the other."""

    def __init__(self, workspace: str = "") -> None:
        self._workspace = workspace.rstrip("/")
        self._files: dict[str, _File] = {}
        self.made: dict[str, list[Edit]] = {}

    def take(self, call: Call) -> None:
        """Note what a call changed, if it is one of the editor and was carried out."""
        args = call.args
        if call.name != EDITOR or call.is_error or call.observation is None:
            return
        if not isinstance(args, dict) or args.get("command") not in _CHANGES:
            return
        path = self.relative(str(args.get("path", "")))
        is_made = args["command"] == "create" and not call.observation.startswith("Overwrote")
        first = "" if is_made else None
        file = self._files.setdefault(path, _File(first, first))
        before, file.text = file.text, _after(file, args)
        if args["command"] != "undo_edit":
            file.earlier.append(before)
        call.edit = Edit(path, str(args["command"]), _lines(path, args, before, file.text))
        self.made.setdefault(path, []).append(call.edit)

    def relative(self, path: str) -> str:
        """The path as seen from the workspace."""
        path = posixpath.normpath(path)
        return path.removeprefix(f"{self._workspace}/").removeprefix("/workspace/")

    def whole(self, path: str) -> list[str]:
        """The diff from the first to the last known text of a file; none where one is unknown."""
        file = self._files.get(path)
        if file is None or file.first is None or file.text is None:
            return []
        return _diff(path, file.first, file.text)


def _after(file: _File, args: dict[str, Any]) -> str | None:
    command, text = args["command"], file.text
    if command == "create":
        return str(args.get("file_text") or "")
    if command == "undo_edit":
        return file.earlier.pop() if file.earlier else None
    if text is None:
        return None
    new = str(args.get("new_str") or "")
    if command == "str_replace":
        old = str(args.get("old_str") or "")
        return text.replace(old, new, 1) if text.count(old) == 1 else None
    lines = text.splitlines(keepends=True)
    place = args.get("insert_line")
    if not isinstance(place, int) or not 0 <= place <= len(lines):
        return None
    if place and not lines[place - 1].endswith("\n"):
        lines[place - 1] += "\n"
    return "".join([*lines[:place], new if new.endswith("\n") else new + "\n", *lines[place:]])


def _lines(path: str, args: dict[str, Any], before: str | None, after: str | None) -> list[str]:
    if before is not None and after is not None:
        return _diff(path, before, after)
    old = str(args.get("old_str") or "").splitlines()
    new = str(args.get("file_text") or args.get("new_str") or "").splitlines()
    lines = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return ["@@ @@", *lines[:_LONGEST]] if lines else []


def _diff(path: str, before: str, after: str) -> list[str]:
    old, new = before.splitlines(), after.splitlines()
    name = f"a/{path}" if before else "/dev/null"
    if max(len(old), len(new)) > _MOST_LINES:
        head = f"@@ -1,{len(old)} +1,{len(new)} @@ too long to be compared line by line"
        return [f"--- {name}", f"+++ b/{path}", head]
    lines = list(difflib.unified_diff(old, new, name, f"b/{path}", lineterm=""))
    left = len(lines) - _LONGEST
    note = [f"@@ {left:,} more lines are left out here @@"] if left > 0 else []
    return [*lines[:_LONGEST], *note]
