"""What the editor's calls changed, as unified diffs: from their arguments alone.

A file is known from the call that made it. One that was there before is not: of its changes the
lines are told, and not where they stand.
"""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from manus.run_report.facts import Call, Edit

EDITOR = "str_replace_editor"
_LONGEST = 4_000
"""Lines of a diff that are kept."""
_MOST_LINES = 20_000
"""Lines of a file above which it is not compared: that takes the square of them."""
_CHANGES = frozenset({"create", "str_replace", "insert", "undo_edit"})


@dataclass(slots=True)
class _File:
    """A file as the calls so far leave it; None where that is not known."""

    first: str | None = None
    """Before the first edit; empty for a file that was made."""
    text: str | None = None
    is_touched: bool = False
    history: list[str | None] = field(default_factory=list)


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
        file = self._files.setdefault(path, _File())
        before = file.text
        after = _after(file, args)
        if not file.is_touched:
            file.first, file.is_touched = "" if _is_made(args, call) else before, True
        if args["command"] != "undo_edit":
            file.history.append(before if before is not None else file.first)
        file.text = after
        call.edit = _edit(path, args, before if before is not None else file.first, after)
        self.made.setdefault(path, []).append(call.edit)

    def relative(self, path: str) -> str:
        """The path as seen from the workspace."""
        path = posixpath.normpath(path)
        inside = f"{self._workspace}/"
        for prefix in (inside, "/workspace/"):
            if len(prefix) > 1 and path.startswith(prefix):
                return path[len(prefix) :]
        return path

    def whole(self, path: str) -> list[str]:
        """The diff from the first to the last known text of a file; none where one is unknown."""
        file = self._files.get(path)
        if file is None or file.first is None or file.text is None:
            return []
        return _diff(path, file.first, file.text, is_new=file.first == "")


def _after(file: _File, args: dict[str, Any]) -> str | None:
    command, text = args["command"], file.text
    if command == "create":
        return str(args.get("file_text") or "")
    if command == "undo_edit":
        return file.history.pop() if file.history else None
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


def _is_made(args: dict[str, Any], call: Call) -> bool:
    return args["command"] == "create" and not str(call.observation).startswith("Overwrote")


def _edit(path: str, args: dict[str, Any], before: str | None, after: str | None) -> Edit:
    command = str(args["command"])
    if before is not None and after is not None:
        lines = _diff(path, before, after, is_new=before == "" and command == "create")
    else:
        old = str(args.get("old_str") or "") if command == "str_replace" else ""
        new = str(args.get("file_text" if command == "create" else "new_str") or "")
        lines = ["@@ @@", *_marked("-", old), *_marked("+", new)] if old or new else []
    body = [line for line in lines if not line.startswith(("---", "+++"))]
    return Edit(
        path,
        command,
        lines,
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
    )


def _marked(mark: str, text: str) -> list[str]:
    return [f"{mark}{line}" for line in text.splitlines()][:_LONGEST]


def _diff(path: str, before: str, after: str, *, is_new: bool) -> list[str]:
    old, new = before.splitlines(), after.splitlines()
    name = "/dev/null" if is_new else f"a/{path}"
    if max(len(old), len(new)) > _MOST_LINES:
        head = f"@@ -1,{len(old)} +1,{len(new)} @@ too long to be compared line by line"
        return [f"--- {name}", f"+++ b/{path}", head]
    lines = list(difflib.unified_diff(old, new, name, f"b/{path}", lineterm=""))
    if len(lines) > _LONGEST:
        left = len(lines) - _LONGEST
        return [*lines[:_LONGEST], f"@@ {left:,} more lines are left out here @@"]
    return lines


def sum_of(edits: Sequence[Edit]) -> tuple[int, int]:
    """Lines added and removed by all edits."""
    return sum(e.added for e in edits), sum(e.removed for e in edits)
