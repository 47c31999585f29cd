"""The record of files that runs have downloaded into a workspace, or unpacked.

They are untrusted text for later runs, too, also in a folder that a person trusts. The record lies
with the workspace's other records, out of reach of its programs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from manus.execution.changed_files import changed_since
from manus.execution.safe_open import open_at, write_private
from manus.prompts.approval import DOWNLOADS
from manus.prompts.sources import COMMAND, WORKSPACE

if TYPE_CHECKING:
    from manus.execution.session import Session
    from manus.execution.workspace import Workspace

log = logging.getLogger("manus")

_RECORD = "downloads.json"
_MOST = 500
"""Paths; of more files than that, the folders at the top of the workspace are kept instead."""
_UNPACKS = re.compile(
    r"\b(?:unzip|tar|untar|7z\w?|g?unzip|bunzip2|unxz|xz|zstd|unrar|bsdtar|cpio|ar|zipfile|tarfile"
    r"|unpack_archive|extractall|gzip|bz2|lzma)\b"
)


async def note_downloads(
    session: Session, args: Mapping[str, Any], source: str, began: int, *, has_fetched: bool
) -> None:
    """Record the files that a call has downloaded or unpacked; taint the run if it read such files.

    Nobody can tell which files a program has read: in a workspace with downloads of earlier runs,
    all that programs print is untrusted. `source` is that of the call's text, `began` the time in
    nanoseconds when it began.
    """
    is_program, workspace = source == COMMAND, session.workspace
    if has_fetched or (is_program and _UNPACKS.search(str(args))):
        await asyncio.to_thread(_record, workspace, began, has_fetched=has_fetched)
    if session.downloads and (is_program or (source == WORKSPACE and _views(session, args))):
        session.egress_guard.taint(DOWNLOADS)


def _record(workspace: Workspace, began: int, *, has_fetched: bool) -> None:
    if has_fetched or read_downloads(workspace):
        add_downloads(workspace, changed_since(workspace.root, began))


def _views(session: Session, args: Mapping[str, Any]) -> bool:
    """Return whether a call of the editor is about a file that was downloaded."""
    path = session.workspace.resource(str(args.get("path", ""))).partition("/")[2]
    return is_download(path, session.downloads)


def read_downloads(workspace: Workspace) -> frozenset[str]:
    """Return the paths, relative to the workspace, that are recorded and still there. Blocking."""
    return frozenset(p for p in _recorded(workspace) if os.path.lexists(workspace.root / p))


def add_downloads(workspace: Workspace, paths: Iterable[str]) -> None:
    """Record paths relative to the workspace. Blocking."""
    known = read_downloads(workspace)
    merged = known | {path for path in paths if not is_download(path, known)}
    if len(merged) > _MOST:
        merged = frozenset(PurePosixPath(path).parts[0] for path in merged)
    if merged != known:
        _write(workspace, merged)


def forget_downloads(workspace: Workspace) -> None:
    """Empty the record: a person trusts what is there now. Blocking.

    Raises:
        OSError: the record cannot be written.
    """
    if _recorded(workspace):
        write_private(workspace.records / _RECORD, b"[]")


def is_download(path: str, downloads: Iterable[str]) -> bool:
    """Return whether a path is a download, lies in one, or is a folder that holds one."""
    prefix = "" if path in ("", ".") else f"{path}/"
    return any(
        path == one or path.startswith(f"{one}/") or one.startswith(prefix) for one in downloads
    )


def _recorded(workspace: Workspace) -> list[str]:
    try:
        with os.fdopen(open_at(workspace.records / _RECORD), "rb") as file:
            paths = json.load(file)
    except (OSError, ValueError):  # there is none
        return []
    return [str(path) for path in paths] if isinstance(paths, list) else []


def _write(workspace: Workspace, paths: Iterable[str]) -> None:
    try:
        write_private(workspace.records / _RECORD, json.dumps(sorted(paths)).encode())
    except OSError as error:  # the run itself is tainted all the same
        log.warning("What was downloaded cannot be recorded: %s.", error)
