"""Find the files that a step changed, and record those written after untrusted text was read.

Such files are untrusted in later runs too, even in a trusted folder. The record is stored with the
workspace's other records, which programs cannot access.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage

from manus.prompts.approval import DOWNLOADS
from manus.prompts.sources import COMMAND, WORKSPACE
from manus.state.messages import get_text
from manus.workspace.safe_open import open_at, write_private

if TYPE_CHECKING:
    from manus.calls.session import Session
    from manus.workspace.workspace import Workspace


MAX_FILES = 20
"""Maximum number of files listed for a step."""
_MAX_ENTRIES = 20_000
"""Maximum number of files that are checked."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_NOT_TEXTS = frozenset({".git", ".venv", ".tox", ".cache", ".mypy_cache", ".pytest_cache"})
"""Hidden folders that contain packages and records, not what a model would read."""
FILE_CLOCK = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)
"""The clock of file timestamps, which advances only every few milliseconds."""

log = logging.getLogger("manus")

_RECORD = "downloads.json"
_MAX_PATHS = 500
"""Maximum number of paths; beyond it, top-level folders are recorded instead."""


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


async def note_writes(
    session: Session, args: Mapping[str, Any], source: str, since: int, *, has_fetched: bool
) -> None:
    """Record the files that a call has written after untrusted text; taint the run if it read some.

    It is unknown which files a program has read, so in a workspace with such files of earlier runs
    all output of programs is untrusted. `source` is the source of the call's text, `since` its
    start in nanoseconds.
    """
    guard = session.egress_guard
    if session.downloads and (
        source == COMMAND or (source == WORKSPACE and _views_download(session, args))
    ):
        guard.taint(DOWNLOADS)
    if has_fetched or guard.why_tainted:
        workspace = session.workspace
        changed = await asyncio.to_thread(changed_since, workspace.root, since, with_hidden=True)
        await asyncio.to_thread(add_downloads, workspace, changed)


def _views_download(session: Session, args: Mapping[str, Any]) -> bool:
    """Return whether an editor call uses a downloaded file."""
    path = session.workspace.resource(str(args.get("path", ""))).partition("/")[2]
    return is_download(path, session.downloads)


def read_downloads(workspace: Workspace) -> frozenset[str]:
    """Return the recorded paths that still exist, relative to the workspace. Blocking."""
    return frozenset(p for p in _read_record(workspace) if os.path.lexists(workspace.root / p))


def add_downloads(workspace: Workspace, paths: Iterable[str]) -> None:
    """Record paths relative to the workspace. Blocking."""
    existing = read_downloads(workspace)
    merged = existing | {path for path in paths if not is_download(path, existing)}
    if len(merged) > _MAX_PATHS:
        merged = frozenset(PurePosixPath(path).parts[0] for path in merged)
    if merged != existing:
        _write_record(workspace, merged)


def forget_downloads(workspace: Workspace) -> None:
    """Clear the record, since the user trusts the current files. Blocking.

    Raises:
        OSError: the record cannot be written.
    """
    if _read_record(workspace):
        write_private(workspace.records / _RECORD, b"[]")


def is_download(path: str, downloads: Iterable[str]) -> bool:
    """Return whether a path is a download, is inside one, or is a folder that contains one."""
    prefix = "" if path in ("", ".") else f"{path}/"
    for download in downloads:
        if path == download or path.startswith(f"{download}/") or download.startswith(prefix):
            return True
    return False


def _read_record(workspace: Workspace) -> list[str]:
    try:
        with os.fdopen(open_at(workspace.records / _RECORD), "rb") as file:
            paths = json.load(file)
    except (OSError, ValueError):  # there is none
        return []
    return [str(path) for path in paths] if isinstance(paths, list) else []


def _write_record(workspace: Workspace, paths: Iterable[str]) -> None:
    try:
        write_private(workspace.records / _RECORD, json.dumps(sorted(paths)).encode())
    except OSError as error:  # the run itself is tainted anyway
        log.warning("Cannot record downloads: %s.", error)
