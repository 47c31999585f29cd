"""Find the files of the workspace that a step created or changed."""

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

from manus.state.messages import get_text

MAX_FILES = 20
"""Maximum number of files listed for a step."""
_MAX_ENTRIES = 20_000
"""Maximum number of files that are checked."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_NOT_TEXTS = frozenset({".git", ".venv", ".tox", ".cache", ".mypy_cache", ".pytest_cache"})
"""Hidden folders that contain packages and records, not what a model would read."""
FILE_CLOCK = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)
"""The clock of file timestamps, which advances only every few milliseconds."""


def now() -> int:
    """Return the current time of the clock of file timestamps, in nanoseconds."""
    return time.clock_gettime_ns(FILE_CLOCK)


async def next_tick() -> int:
    """Wait for the next tick of the clock of file timestamps; return it in nanoseconds."""
    await asyncio.sleep(time.clock_getres(FILE_CLOCK))
    return now()


def changed_since(root: Path, since: int, *, with_hidden: bool = False) -> list[str]:
    """Return the files created or changed since a time in nanoseconds, newest first. Blocking.

    This uses `ctime`, which programs cannot set, so it works for unpacked and copied files, and
    after a crash. The folders of package managers are skipped, and hidden files and folders unless
    `with_hidden`. Paths are relative to the root.
    """
    changed = []
    for path in islice(_files(root, with_hidden=with_hidden), _MAX_ENTRIES):
        with contextlib.suppress(FileNotFoundError):  # it has just been deleted
            changed_at = os.lstat(path).st_ctime_ns
            if changed_at >= since:
                changed.append((-changed_at, os.path.relpath(path, root)))
    return [path for _, path in sorted(changed)]


def _files(root: Path, *, with_hidden: bool) -> Iterator[str]:
    skipped = _SKIPPED | _NOT_TEXTS
    for folder, folders, files in os.walk(root):
        visible = [name for name in folders if with_hidden or name[0] != "."]
        folders[:] = [name for name in visible if name not in skipped]
        yield from (f"{folder}/{name}" for name in files if with_hidden or name[0] != ".")


def find_mentioned(files: Sequence[str], history: Sequence[AnyMessage]) -> list[str]:
    """Return the files whose names occur in a conversation after its request.

    This attributes files to steps that run concurrently. `test_a.py` does not mention `a.py`.
    """
    text = "\n".join(map(_text_with_calls, history[1:]))
    names = {file: re.escape(Path(file).name) for file in files}
    return [f for f, name in names.items() if re.search(rf"(?<![\w.-]){name}(?![\w-])", text)]


def _text_with_calls(message: AnyMessage) -> str:
    text = get_text(message)
    if isinstance(message, AIMessage):
        text += "\n" + str([call["args"] for call in message.tool_calls])
    return text
