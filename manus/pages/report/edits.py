"""Diffs of editor calls, computed from their arguments alone."""

from __future__ import annotations

import difflib
import posixpath
from dataclasses import dataclass
from typing import Any

from manus.pages.trace.model import TraceCall

EDITOR = "str_replace_editor"
_EDIT_COMMANDS = ("create", "str_replace", "insert")
_MAX_DIFF_LINES = 2_000
"""Lines. Longer texts are not compared line by line, which takes quadratic time."""


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
