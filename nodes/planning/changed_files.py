"""Which files of the workspace a step made or changed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage

from manus.state.messages import text_of

MOST_FILES = 20
"""Named with a step at most."""
_LOOKED_AT = 20_000
"""Entries of the workspace; what lies behind them is not looked at."""
_LONGEST_TICK = 2.5
"""Seconds that the clock of a file system may stand still; FAT's does for two."""
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})


def mark_now(private: Path) -> int:
    """A moment on the clock of the file system, in nanoseconds. Blocking for a tick of that clock.

    What was changed before has an earlier time and what will be changed has this one or a later:
    another clock, or the same within one tick, could not tell the two apart.
    """
    try:
        marker = private / "clock"
        marker.touch()
        first = now = marker.stat().st_ctime_ns
        limit = time.monotonic() + _LONGEST_TICK
        while now == first and time.monotonic() < limit:
            time.sleep(0.0005)
            marker.touch()
            now = marker.stat().st_ctime_ns
        return now
    except OSError:
        return time.time_ns()  # then the full disk is what the run has to tell of


def changed_since(root: Path, began: int) -> list[str]:
    """Files made or changed since a moment of `mark_now`, the newest first. Blocking.

    Told by the time of the last change of the file's record, which programs cannot set, so that it
    holds for unpacked and copied files, and after a crash. Hidden files and folders, and those
    that package managers fill, are left out. Paths are relative to the root.
    """
    changed = []
    for count, entry in enumerate(_walk(root)):
        if count >= _LOOKED_AT:
            break
        when = entry.stat(follow_symlinks=False).st_ctime_ns
        if when >= began:
            changed.append((-when, os.path.relpath(entry.path, root)))
    return [path for _, path in sorted(changed)]


def _walk(root: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(root)]
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue  # gone in the meantime, or not ours to read
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _LEFT_OUT:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry


def mentioned(files: Sequence[str], history: Sequence[AnyMessage]) -> list[str]:
    """Of the files, those whose name occurs in a conversation after its request.

    Where steps work side by side, this tells whose files they are.
    """
    said = "\n".join(_said(message) for message in history[1:])
    return [file for file in files if _names(said, os.path.basename(file))]  # noqa: PTH119


def _names(text: str, name: str) -> bool:
    """Whether a text names a file; `test_a.py` does not name `a.py`."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _said(message: AnyMessage) -> str:
    calls = str([c["args"] for c in message.tool_calls]) if isinstance(message, AIMessage) else ""
    return f"{text_of(message)}\n{calls}"
