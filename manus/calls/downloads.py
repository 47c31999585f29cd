"""The record of files that runs have written to a workspace after they had read untrusted text.

They are untrusted in later runs too, even in a trusted folder. The record is stored with the
workspace's other records, which programs cannot access.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from manus.calls.changed_files import changed_since
from manus.prompts.approval import DOWNLOADS
from manus.prompts.sources import COMMAND, WORKSPACE
from manus.workspace.safe_open import open_at, write_private

if TYPE_CHECKING:
    from manus.calls.session import Session
    from manus.workspace.workspace import Workspace

log = logging.getLogger("manus")

_RECORD = "downloads.json"
_MAX_PATHS = 500
"""Maximum number of paths; beyond it, top-level folders are recorded instead."""


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
