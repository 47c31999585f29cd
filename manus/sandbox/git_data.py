"""The git directories of a workspace, and the files in them that can start a program.

git's own data is read-only for programs of the sandbox. In a shell that may change it, the files
that can start a program stay read-only. Both are mounts, which the kernel enforces. A read-only
file in a writable folder could be replaced by moving the folder, so each folder above such a file
is a mount point of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from manus.sandbox.host_git import read_settings
from manus.sandbox.mounts import Mount
from manus.workspace.safe_open import open_file

GIT = ".git"
SETTINGS = ("config", "config.worktree")
HOOKS = "hooks"
_PROGRAM_FILES = (*SETTINGS, HOOKS, "info/attributes", "commondir", "gitdir")
"""Entries of a git directory that lead git to programs, or to another configuration."""
_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{40,64})")
"""Matches what git writes to HEAD, so that no other file is disclosed through a link."""
_MAX_BYTES = 1_000_000
_MAX_INCLUDES = 20


class GitData(NamedTuple):
    """The git data behind one `.git`, or one bare repository."""

    entry: Path
    """A folder, or a file or link that leads to one."""
    directories: tuple[Path, ...]
    """The git directory, and that of the main worktree if it is another one."""
    parts: tuple[Path, ...]
    """These directories, and those of their submodules and worktrees."""
    named: tuple[Path, ...]
    """Paths that the configurations name, which may not exist: hooks, included files."""


def find_repository(entry: Path, root: Path) -> GitData:
    """Read the layout of the repository behind a `.git`, or of a bare one. Blocking."""
    directories = _find_directories(entry, root)
    parts = [part for directory in directories for part in _iterate_parts(directory)]
    named: dict[Path, None] = {}
    for part in parts:
        for name in SETTINGS:
            named.update(dict.fromkeys(_iterate_named(part / name, entry.parent)))
    return GitData(entry, tuple(directories), tuple(dict.fromkeys(parts)), tuple(named))


def _find_directories(entry: Path, root: Path) -> list[Path]:
    """Return the git directories behind a `.git`.

    One outside the workspace counts only if it names this worktree, so that a planted `.git` file
    cannot expose another repository of the user.
    """
    if entry.is_dir() and not entry.is_symlink():
        return [entry]
    target = Path(os.path.realpath(entry)) if entry.is_symlink() else read_path(entry, "gitdir: ")
    if target is None or not target.is_dir():
        return []
    common = read_path(target / "commondir") or target
    is_inside = target.is_relative_to(root) and common.is_relative_to(root)
    if is_inside or read_path(target / "gitdir") == entry:
        return list(dict.fromkeys([target, common]))
    return []


def _iterate_parts(directory: Path) -> Iterator[Path]:
    """Yield a git directory, and those of its submodules and worktrees."""
    yield directory
    yield from filter(Path.is_dir, list_folder(directory / "worktrees"))
    pending = list_folder(directory / "modules")
    while pending:  # a submodule's name may contain slashes
        folder = pending.pop()
        if (folder / "HEAD").exists():
            yield from _iterate_parts(folder)
        elif folder.is_dir():
            pending += list_folder(folder)


def list_folder(folder: Path) -> list[Path]:
    """Return the entries of a folder that are not links; empty if it is a link itself."""
    try:
        if folder.is_symlink():
            return []
        return sorted(path for path in folder.iterdir() if not path.is_symlink())
    except OSError:
        return []


def read_bytes(path: Path) -> bytes:
    """Return the content of a small regular file; empty if there is none."""
    try:
        with open_file(path) as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError:
        return b""
    return content if len(content) <= _MAX_BYTES else b""


def read_path(file: Path, prefix: str = "") -> Path | None:
    """Return the path in a small file of git; None if it leads nowhere."""
    text = os.fsdecode(read_bytes(file)).rstrip("\n")
    if not text or not text.startswith(prefix):
        return None
    path = Path(os.path.realpath(file.parent / text.removeprefix(prefix)))
    return path if path.exists() else None


def _iterate_named(config: Path, worktree: Path) -> Iterator[Path]:
    """Yield the hooks folder and the included files that a configuration names."""
    pending = [config]
    for _ in range(_MAX_INCLUDES):
        if not pending:
            return
        file = pending.pop()
        for key, value in read_settings(read_bytes(file)) or ():
            if key == "core.hookspath":
                yield Path(os.path.normpath(worktree / value))
            elif key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                path = Path(os.path.normpath(file.parent / value))
                pending.append(path)
                yield path


def read_branch(folder: Path) -> str:
    """Return the branch, or the commit, of the repository that a folder is in. Blocking.

    Empty if there is none. The repository may be untrusted, so only HEAD is read.
    """
    for top in (folder, *folder.parents):
        if (top / GIT).exists():
            directories = _find_directories(top / GIT, top)
            head = read_bytes(directories[0] / "HEAD") if directories else b""
            match = _HEAD.fullmatch(head.decode("utf-8", "replace").strip())
            return (match[1] or match[2]) if match else ""
    return ""


def mount_read_only(repositories: Iterable[GitData], root: Path) -> Iterator[Mount]:
    """Yield the mounts that make git's data read-only. Blocking."""
    for repository in repositories:
        for path in (repository.entry, *repository.directories):
            yield Mount(path, is_writable=False)
        yield from _mount_named(repository, root)


def mount_writable(repositories: Iterable[GitData], root: Path) -> Iterator[Mount]:
    """Yield the mounts that make git's data writable except what can start a program. Blocking."""
    for repository in repositories:
        if not repository.entry.is_dir():
            yield Mount(repository.entry, is_writable=False)
        for part in repository.parts:
            tops = [path for path in repository.directories if part.is_relative_to(path)]
            top = min(tops, key=lambda path: len(path.parts))
            yield from _mount_protected(part, _PROGRAM_FILES, top)
        yield from _mount_named(repository, root)


def _mount_protected(part: Path, names: Iterable[str], top: Path) -> Iterator[Mount]:
    yield from _mount_folders(part / "x", top)
    for path in map(part.joinpath, names):
        if path.exists():
            yield from _mount_folders(path, part)
            yield Mount(path, is_writable=False)


def _mount_folders(path: Path, top: Path) -> Iterator[Mount]:
    """Yield a mount of each folder above a path, up to `top`, onto itself."""
    for folder in reversed(path.parents):
        if folder.is_relative_to(top):
            yield Mount(folder, is_writable=True)


def _mount_named(repository: GitData, root: Path) -> Iterator[Mount]:
    for path in repository.named:
        if path.exists() and path != root and path.is_relative_to(root):
            worktree = repository.entry.parent
            yield from (each for each in _mount_folders(path, worktree) if each.path != worktree)
            yield Mount(path, is_writable=False)
