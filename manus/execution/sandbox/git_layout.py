"""Files for git in a sandbox: the wrapper, the settings, and the read-only paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from manus.execution.sandbox.git_service import QUEUE, SPOOL, build_wrapper
from manus.execution.sandbox.git_settings import copy_git_settings
from manus.execution.sandbox.host_programs import find_host_program
from manus.execution.sandbox.repositories import GuardedRepository

_OWN_ETC = "/etc/manus"
GIT_BIN = f"{_OWN_ETC}/bin"
"""The folder of the wrapper, in the sandbox."""
_SETTINGS = "gitconfig"
_VARIABLES = {
    "GIT_CONFIG_GLOBAL": f"{_OWN_ETC}/{_SETTINGS}",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}


class ClosedPaths(NamedTuple):
    """Paths of repositories that are read-only for programs."""

    inside: list[Path]
    """Paths in the workspace."""
    outside: list[Path]
    """Git directories elsewhere, if the workspace is one of their worktrees."""
    programs: list[Path]
    """Hooks, and files that the configurations name; they are read-only for git too."""


def find_closed_paths(repositories: Iterable[GuardedRepository], workspace: Path) -> ClosedPaths:
    """Return the read-only paths of the repositories in a workspace."""
    read_only = ClosedPaths([], [], [])
    for repository in repositories:
        for path in (repository.git, *repository.directories, *repository.named_files):
            if path.is_relative_to(workspace):
                read_only.inside.append(path)
            else:
                read_only.outside.append(path)
        read_only.programs.extend(folder / "hooks" for folder in repository.directories)
        read_only.programs.extend(repository.named_files)
    return read_only


def prepare_git(folder: Path, workspace: Path) -> str | None:
    """Write the wrapper and the user's harmless settings to a run's own folder. Blocking.

    Returns:
        The path of the machine's git; None if it has none.
    """
    git = find_host_program("git")
    own = folder / _OWN_ETC.lstrip("/")
    (own / "bin").mkdir(parents=True)
    if git is None:
        return None
    (own / _SETTINGS).touch()
    copy_git_settings(workspace, own / _SETTINGS, os.environ)
    program = own / "bin" / "git"
    program.write_text(build_wrapper(git, f"{_OWN_ETC}/{QUEUE}", f"/tmp/{SPOOL}"))
    program.chmod(0o755)
    (folder / "git" / "home").mkdir(parents=True)
    for name in ("etc", "tmp", "empty"):
        (folder / "git" / name).symlink_to(folder / name)
    return git


def build_git_environment(git: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a git that the service starts. Programs cannot influence it."""
    inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    path = f"{Path(git).parent}{os.pathsep}{os.defpath}"
    return {**inherited, **variables, **_VARIABLES, "PATH": path}
