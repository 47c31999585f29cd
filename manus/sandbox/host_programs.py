"""Find the programs that manus itself starts outside a sandbox: git, bubblewrap, browsers.

A program of an earlier run may have written a file with such a name to a folder on the user's
`PATH`, as `.venv/bin/git`. So no program is accepted from a workspace of any run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from manus.workspace.workspace import iterate_workspaces

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/nix/store/")
"""Folders that no sandbox makes writable."""


def find_host_program(name: str) -> str | None:
    """Return the absolute path of a program on the `PATH`, or None. Blocking.

    Relative folders, the current directory and workspaces are skipped, and links into them. A
    path, which only the user's settings contain, is returned if it leads to a program.
    """
    if "/" in name:
        return shutil.which(name)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        program = shutil.which(name, path=folder) if folder.startswith("/") else None
        if program is not None and _is_safe(folder) and _is_safe(program):
            return program
    return None


def find_host_path() -> str:
    """Return the folders of the `PATH` in which no sandbox can write. Blocking.

    Programs of the host that start others by name get it: a browser, an MCP server.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(path for path in folders if path.startswith("/") and _is_safe(path))


def _is_safe(path: str) -> bool:
    """Return whether a path leads out of all folders in which programs of a run may write."""
    real = os.path.realpath(path)
    return real.startswith(_SYSTEM) or not any(
        map(Path(real).is_relative_to, _find_writable_folders())
    )


def _find_writable_folders() -> list[Path]:
    """Return the folders in which programs of a run may have written."""
    folders = [*iterate_workspaces()]
    here = Path(os.path.realpath(Path.cwd()))
    if not Path.home().is_relative_to(here):
        folders.append(here)
    return folders
