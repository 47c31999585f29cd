"""What a call of the editor changed: a diff made of its arguments alone."""

from __future__ import annotations

import difflib
import posixpath
from dataclasses import dataclass
from typing import Any

from manus.pages.trace.model import Call

EDITOR = "str_replace_editor"
_CHANGES = ("create", "str_replace", "insert")
_LONGEST = 2_000
"""Lines above which old and new text are not compared line by line: that takes their square."""


@dataclass(slots=True)
class Edit:
    """A change of a file by the editor."""

    path: str
    command: str
    diff: list[str]
    """Lines that begin with `+`, `-` or a space; where in the file they stand is not known."""
    added: int
    removed: int
    """Lines."""


def find_edit(call: Call) -> Edit | None:
    """What a call changed; None if it is none of the editor's, or was not carried out."""
    was_done = call.observation is not None and not call.is_error
    return parse_edit(call.name, call.args) if was_done else None


def parse_edit(name: str, args: Any) -> Edit | None:
    """What a call changes if it is carried out; None if it is none of the editor's."""
    if name != EDITOR or not isinstance(args, dict) or args.get("command") not in _CHANGES:
        return None
    old = str(args.get("old_str") or "").splitlines()
    new = str(args.get("file_text") or args.get("new_str") or "").splitlines()
    diff = _diff(old, new)
    added, removed = (sum(line.startswith(sign) for line in diff) for sign in "+-")
    return Edit(str(args.get("path", "")), args["command"], diff, added, removed)


def relative(path: str, workspace: str) -> str:
    """The path as seen from the workspace."""
    path = posixpath.normpath(path)
    return path.removeprefix(f"{workspace.rstrip('/')}/").removeprefix("/workspace/")


def _diff(old: list[str], new: list[str]) -> list[str]:
    if min(len(old), len(new)) > _LONGEST:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    return [*difflib.unified_diff(old, new, lineterm="", n=len(old))][3:]
