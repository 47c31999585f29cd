"""Find the programs that manus itself starts outside a sandbox: git, bubblewrap, browsers.

A program of an earlier run may have written a file with such a name to a folder on the user's
`PATH`, as `.venv/bin/git`. So no program is accepted from a workspace of any run.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from manus.workspace.workspace import iterate_workspaces

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/nix/store/")
"""Folders that no sandbox makes writable."""


def find_host_program(name: str) -> str | None:
    """Return the absolute path of a program on the `PATH`, or None. Blocking; cached.

    Relative folders, the current directory and workspaces are skipped, and links into them. A
    path, which only the user's settings contain, is returned if it leads to a program.
    """
    if "/" in name:
        return shutil.which(name)
    return _find(name, os.environ.get("PATH", os.defpath))


@functools.cache
def _find(name: str, search_path: str) -> str | None:
    writable: list[Path] | None = None
    for folder in search_path.split(os.pathsep):
        program = shutil.which(name, path=folder) if folder.startswith("/") else None
        if program is None:
            continue
        places = (os.path.realpath(folder), os.path.realpath(program))
        if all(place.startswith(_SYSTEM) for place in places):
            return program
        writable = _find_writable_folders() if writable is None else writable
        if not any(_is_inside(place, writable) for place in places):
            return program
    return None


def _find_writable_folders() -> list[Path]:
    """Return the folders in which programs of a run may have written."""
    folders = [*iterate_workspaces()]
    here = Path(os.path.realpath(Path.cwd()))
    if not Path.home().is_relative_to(here):
        folders.append(here)
    return folders


def _is_inside(place: str, folders: Iterable[Path]) -> bool:
    return any(map(Path(place).is_relative_to, folders))
