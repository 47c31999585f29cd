"""Which files of the workspace a step made or changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage

from manus.state.messages import text_of

MOST_FILES = 20
"""Named with a step at most."""
_LOOKED_AT = 20_000
"""Entries of the workspace; what lies behind them is not looked at."""
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
# What a file's record has: it moves on every few milliseconds only.
_CLOCK = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)


def now() -> int:
    """Return this moment in nanoseconds, as a file that is written now has it."""
    return time.clock_gettime_ns(_CLOCK)


async def next_tick() -> int:
    """A moment in nanoseconds that no file has which was written before; it is a tick away."""
    await asyncio.sleep(time.clock_getres(_CLOCK))
    return now()


def changed_since(root: Path, began: int) -> list[str]:
    """Files made or changed since a moment in nanoseconds, the newest first. Blocking.

    Told by the time of the last change of the file's record, which programs cannot set, so that it
    holds for unpacked and copied files, and after a crash. Hidden files and folders, and those
    that package managers fill, are left out. Paths are relative to the root.
    """
    changed = []
    for path in islice(_files(root), _LOOKED_AT):
        with contextlib.suppress(FileNotFoundError):  # gone in the meantime
            when = os.lstat(path).st_ctime_ns
            if when >= began:
                changed.append((-when, os.path.relpath(path, root)))
    return [path for _, path in sorted(changed)]


def _files(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "." and name not in _LEFT_OUT]
        yield from (f"{folder}/{name}" for name in files if name[0] != ".")


def mentioned(files: Sequence[str], history: Sequence[AnyMessage]) -> list[str]:
    """Of the files, those whose name occurs in a conversation after its request.

    Where steps work side by side, this tells whose files they are. `test_a.py` does not name
    `a.py`.
    """
    said = "\n".join(map(_said, history[1:]))
    names = {file: re.escape(Path(file).name) for file in files}
    return [f for f, name in names.items() if re.search(rf"(?<![\w.-]){name}(?![\w-])", said)]


def _said(message: AnyMessage) -> str:
    calls = str([c["args"] for c in message.tool_calls]) if isinstance(message, AIMessage) else ""
    return f"{text_of(message)}\n{calls}"
