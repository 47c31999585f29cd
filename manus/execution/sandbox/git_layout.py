"""How git is laid out for a sandbox: the wrapper around it, settings, and what is closed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from manus.execution.sandbox.git_service import QUEUE, SPOOL, wrapper
from manus.execution.sandbox.git_settings import copy_git_settings
from manus.execution.sandbox.host_programs import find_host_program
from manus.execution.sandbox.repositories import Repository

_OWN_ETC = "/etc/manus"
GIT_BIN = f"{_OWN_ETC}/bin"
"""Where programs find the wrapper."""
_SETTINGS = "gitconfig"
_VARIABLES = {
    "GIT_CONFIG_GLOBAL": f"{_OWN_ETC}/{_SETTINGS}",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}


class ClosedPaths(NamedTuple):
    """What is read-only of the repositories."""

    inside: list[Path]
    """In the workspace."""
    outside: list[Path]
    """Git directories elsewhere, of which the workspace is a worktree."""
    programs: list[Path]
    """Hooks, and what the configurations name: closed to git, too."""


def closed_paths(repositories: Iterable[Repository], workspace: Path) -> ClosedPaths:
    """Return what is read-only of the repositories in a workspace."""
    paths_inside = ClosedPaths([], [], [])
    for repository in repositories:
        for path in (repository.git, *repository.directories, *repository.named_files):
            is_inside = path.is_relative_to(workspace)
            (paths_inside.inside if is_inside else paths_inside.outside).append(path)
        paths_inside.programs.extend(folder / "hooks" for folder in repository.directories)
        paths_inside.programs.extend(repository.named_files)
    return paths_inside


def lay_out_git(folder: Path, workspace: Path) -> str | None:
    """Put the wrapper and the user's harmless settings into a run's own folder. Blocking.

    Returns:
        The machine's git; None if it has none.
    """
    git = find_host_program("git")
    own = folder / _OWN_ETC.lstrip("/")
    (own / "bin").mkdir(parents=True)
    if git is None:
        return None
    (own / _SETTINGS).touch()
    copy_git_settings(workspace, own / _SETTINGS, os.environ)
    program = own / "bin" / "git"
    program.write_text(wrapper(git, f"{_OWN_ETC}/{QUEUE}", f"/tmp/{SPOOL}"))
    program.chmod(0o755)
    (folder / "git" / "home").mkdir(parents=True)
    for name in ("etc", "tmp", "empty"):
        (folder / "git" / name).symlink_to(folder / name)
    return git


def git_environment(git: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a git that the service starts; no program has a say in it."""
    inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    path = f"{Path(git).parent}{os.pathsep}{os.defpath}"
    return {**inherited, **variables, **_VARIABLES, "PATH": path}
